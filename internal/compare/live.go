package compare

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Live is what a cluster has of one object, and what it would make of its manifest.
type Live struct {
	// Old is the object in the cluster, nil where it has none.
	Old *yamldoc.Document
	// New is the object after an apply of the manifest.
	New map[string]any
	// Refusals are the answer of the API server to a dry run.
	Refusals []ServerRefusal
}

// livePairs pairs the objects with those of a cluster.
func livePairs(news []*manifest.Object, live map[*yamldoc.Document]Live) []pair {
	pairs := make([]pair, len(news))
	for i, o := range news {
		pairs[i].new = o
		if l := live[o.Document]; l.Old != nil {
			o.Stored = l.New
			pairs[i].old = &manifest.Object{ID: o.ID, APIVersion: o.APIVersion, Document: l.Old}
			pairs[i].server = l.Refusals
		}
	}
	return pairs
}

// lockServer is the lock of refusals that no lock or rule explains.
const lockServer = "server"

// addServer adds the refusals of a dry run that v does not explain: no breach is at, above or below their field.
func (v *verdict) addServer(refusals []ServerRefusal) {
	own := v.breaches
	for _, r := range refusals {
		if !slices.ContainsFunc(own, func(b breach) bool { return b.explains(r) }) {
			v.breaches = append(v.breaches, breach{path: r.Path, lock: lockServer, message: r.Message, change: digest(value{}, value{r.Message, true})})
		}
	}
	slices.SortStableFunc(v.breaches, func(a, b breach) int { return celrun.ComparePaths(a.path, b.path) })
	if len(own) == 0 && len(v.breaches) > 0 {
		v.replacement = &replacement{
			cost: CostUnknown, message: "the API server refuses the change for a reason that is in none of the schemas",
			how: []string{"change what the message of the server names; a new object may be refused for the same reason"},
		}
	}
}

// explains reports whether the server has refused the update for this breach.
func (b *breach) explains(r ServerRefusal) bool {
	if b.path == "" || r.Path == "" {
		return strings.Contains(r.Message, b.message)
	}
	// The server names the list that mirrors a field, such as clusterIPs for clusterIP.
	return related(b.path, r.Path) || related(b.path+"s", r.Path)
}

// related reports whether one path leads to the other, or they are equal.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return yamldoc.Within(b, a)
}
