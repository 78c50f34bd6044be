package jsonscan

// notes are the members of an object that are noted while it is read.
type notes struct {
	names []string
	at    []int // where the name ends; 0 for a member that was not met
	level int   // how many objects and lists are open where the members are; 0 for nothing to note
}

// met notes a member whose name, which ends at an offset, is written without escapes.
func (n *notes) met(name []byte, end int) {
	for k := range n.names {
		if string(name) == n.names[k] {
			n.at[k] = end
		}
	}
}
