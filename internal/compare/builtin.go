package compare

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

var _ definition = builtinDefinition{}

// builtinDefinition judges objects of a kind that Kubernetes itself has.
type builtinDefinition struct{ kind *builtin.Kind }

// covers reports true: a version that the chosen minor does not serve is judged as another one.
func (builtinDefinition) covers(string) bool { return true }

func (d builtinDefinition) judge(p pair) (verdict, error) {
	check := d.kind.Check
	if p.live != nil {
		check = d.kind.CheckLive
	}
	judged := check(p.new.Value(), p.old.Value())
	var v verdict
	for i := range judged.Violations {
		v.breaches = append(v.breaches, builtinBreach(&judged.Violations[i], p))
	}
	for _, r := range judged.Unknown {
		v.unknown = append(v.unknown, remark{r.Path, r.Message})
	}
	for _, r := range judged.Notes {
		v.notes = append(v.notes, remark{r.Path, r.Message})
	}
	if len(v.breaches) > 0 {
		v.replacement = d.replacement(p, judged)
	}
	return v, nil
}

// builtinBreach makes a breach of a violation; its message is the server's.
func builtinBreach(v *builtin.Violation, p pair) breach {
	b := newBreach(&v.Violation)
	b.path, b.rule, b.message = v.Path, v.Rule, v.Message
	if b.change = digest(b.old, b.new); !v.HasOld && !v.HasNew {
		b.change = digestObjects(p.new.Value(), p.old.Value())
	}
	return b
}

func (d builtinDefinition) replacement(p pair, judged builtin.Verdict) *replacement {
	r := d.kind.Replacement(p.new.Value(), p.old.Value(), judged)
	out := &replacement{cost: r.Cost, message: r.Message, requested: builtin.Requested(p.new.Document.Object)}
	for _, how := range r.How {
		out.how = append(out.how, strings.ReplaceAll(how, "FILE", manifest.Argument(p.new.Document.File)))
	}
	return out
}

// identify adds what the identity of an object of any kind makes refused. With a live cluster it is the manifest that names
// a uid, not what the cluster makes of it.
func (v *verdict) identify(p pair) {
	var oldObj map[string]any // of a create
	if p.old != nil {
		oldObj = p.old.Value()
	}
	judged := builtin.Identity(p.new.Document.Object, oldObj)
	var breaches []breach
	for i := range judged.Violations {
		breaches = append(breaches, builtinBreach(&judged.Violations[i], p))
		if v.replacement == nil {
			v.replacement = &replacement{cost: CostUnknown, message: "an edit is enough", how: []string{judged.Violations[i].Edit()}}
		}
	}
	v.merge(breaches)
	for _, r := range judged.Unknown {
		if found := (remark{r.Path, r.Message}); !slices.Contains(v.unknown, found) {
			v.unknown = append(v.unknown, found)
		}
	}
}
