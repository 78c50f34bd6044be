package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
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
	b := newBreach(&v.Broken)
	b.path, b.rule, b.message = v.Path, v.Rule, v.Message
	if b.change = digest(b.old, b.new); !v.Broken.HasOld && !v.Broken.HasNew {
		b.change = digestObjects(p.new.Value(), p.old.Value())
	}
	return b
}

func (d builtinDefinition) replacement(p pair, judged builtin.Verdict) *replacement {
	r := d.kind.Replacement(p.new.Value(), p.old.Value(), judged)
	out := &replacement{cost: r.Cost, message: r.Message, requested: tool.Requested(p.new.Document.Object)}
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
			v.replacement = &replacement{cost: CostUnknown, message: "an edit is enough", how: []string{judged.Violations[i].Edit}}
		}
	}
	v.merge(breaches)
	for _, r := range judged.Unknown {
		if found := (remark{r.Path, r.Message}); !slices.Contains(v.unknown, found) {
			v.unknown = append(v.unknown, found)
		}
	}
}

// Live is what a cluster has of one object, and what it would make of its manifest.
type Live struct {
	// Old is the object in the cluster, nil where it has none.
	Old *yamldoc.Document
	// New is the object after an apply of the manifest.
	New map[string]any
	// Accepted is set where the API server accepts the apply in a dry run; Refusals are its answer where it does not. Neither
	// is set where it was not asked.
	Accepted bool
	Refusals []ServerRefusal
	// Unguarded is set where no webhook or policy of the cluster looks at updates of the kind.
	Unguarded bool
	// Unread is set for an object that could not be read: whether the cluster has it is not known.
	Unread bool
}

// livePairs pairs the objects with those of a cluster, except those that could not be read.
func livePairs(news []*manifest.Object, live map[*yamldoc.Document]Live) []pair {
	pairs := make([]pair, 0, len(news))
	for _, o := range news {
		l := live[o.Document]
		if l.Unread {
			continue
		}
		p := pair{new: o}
		if l.Old != nil {
			o.Stored = l.New
			p.old = &manifest.Object{ID: o.ID, APIVersion: o.APIVersion, Document: l.Old}
			p.live = &l
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// lockServer is the lock of refusals that no lock or rule explains.
const lockServer = "server"

// settle completes what was found out about an object of a cluster by the answer of its API server.
func (v *verdict) settle(l *Live) {
	if l == nil {
		return
	}
	v.excuseUnenforced(l)
	v.addServer(l.Refusals)
	if l.Accepted {
		v.unknown = nil // the cluster has decided
	}
	v.unknown = slices.DeleteFunc(v.unknown, func(r remark) bool {
		return slices.ContainsFunc(v.breaches, func(b breach) bool {
			return related(b.path, r.path) || b.lock == lockServer && b.path == ""
		})
	})
}

// excuseUnenforced makes notes of the locks of a CRD that nothing in the cluster enforces: the API server does not know their
// keys, and drops them or keeps them in an annotation. CEL rules are its own.
func (v *verdict) excuseUnenforced(l *Live) {
	why := "no webhook or policy of the cluster looks at updates of the kind"
	if l.Accepted {
		why = "the API server accepts the change in a dry run"
	} else if !l.Unguarded {
		return
	}
	v.breaches = slices.DeleteFunc(v.breaches, func(b breach) bool {
		unenforced := b.isKey() && !slices.ContainsFunc(l.Refusals, b.explains)
		if unenforced {
			v.notes = append(v.notes, remark{b.path, fmt.Sprintf("not enforced there: %s (%s), but %s", b.message, b.lock, why)})
		}
		return unenforced
	})
	if len(v.breaches) == 0 {
		v.replacement = nil
	}
}

// isKey reports whether a key in the schema of a CRD locks the field, and not a CEL rule or the server's own code.
func (b *breach) isKey() bool { return b.file != "" && b.rule == "" }

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
