package cluster

// Live is what the cluster has of one object, and what an apply of the manifest would make of it.
type Live struct {
	// Old is the object as the cluster has it, nil where it has none; New is the object after the apply.
	Old, New map[string]any
	// Unserved is set where the cluster does not serve the kind in this version, so that an apply would fail.
	Unserved bool
	// Accepted is set where the server accepts the apply in a dry run, as the tool would send it.
	Accepted bool
	// Refusals are the server's answer to a dry run; NotAsked is why there was none, "" otherwise.
	Refusals []Refusal
	NotAsked string
}

// Refusal is a reason for which the API server refuses an apply.
type Refusal struct{ Path, Message string }
