package compare

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// hiddenObjects adds what is to know about objects that NEW has only in directories whose name starts with a dot. They are
// not part of NEW, so they count as deleted; but kubectl apply -R reads such directories, and other tools may.
func (c *checker) hiddenObjects(hidden func(names []string) []manifest.File, pairs []pair) {
	var names []string
	for _, p := range pairs {
		if p.new == nil {
			names = append(names, p.old.Name)
		}
	}
	if hidden == nil || len(names) == 0 {
		return
	}
	found := map[manifest.ID]*manifest.Object{}
	for _, o := range manifest.Objects(hidden(names)).Objects {
		if kind := c.kinds.builtinOf(o); kind != nil {
			o.Group = kind.Group // as in covered
		}
		if o.Invalid == nil && found[o.ID] == nil {
			found[o.ID] = o
		}
	}
	for _, p := range pairs {
		if p.new != nil || found[p.old.ID] == nil || p.old.Generated() {
			continue
		}
		o := found[p.old.ID]
		const hint = "NEW has the object only in a directory whose name starts with a dot, which check does not read"
		v, err := c.judge(pair{new: o, old: p.old})
		switch {
		case err != nil:
			c.report.Unknown = append(c.report.Unknown, Remark{subject(o, ""), "", fmt.Sprintf("%s: %v", hint, err)})
		case len(v.breaches) > 0:
			c.report.Unknown = append(c.report.Unknown, Remark{subject(o, v.breaches[0].path), v.breaches[0].path, fmt.Sprintf(
				"%s; kubectl apply -R does, and the update is refused: %s", hint, v.breaches[0].summary())})
		default:
			c.report.Notes = append(c.report.Notes, Remark{subject(o, ""), "", hint + ", so it counts as deleted; kubectl apply -R does"})
		}
	}
}
