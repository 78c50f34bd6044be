package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

var _ definition = builtinDefinition{}

// builtinDefinition judges objects of a kind that Kubernetes itself has.
type builtinDefinition struct{ kind *builtin.Kind }

// covers reports true: a version that the chosen minor does not serve is judged as another one.
func (builtinDefinition) covers(string) bool { return true }

func (d builtinDefinition) judge(p pair) (verdict, error) {
	judged := builtin.Verdict{}
	if p.live != nil {
		judged = d.kind.CheckLive(p.new.Value(), p.old.Value())
	} else {
		judged = d.kind.CheckBy(p.by, p.new.Value(), p.old.Value())
	}
	v := verdict{unknown: remarks(judged.Unknown, ""), notes: remarks(judged.Notes, "")}
	for i := range judged.Violations {
		v.violations = append(v.violations, builtinViolation(&judged.Violations[i], p))
	}
	if len(v.violations) > 0 {
		v.replacement = d.replacementFor(p, judged)
	}
	return v, nil
}

// remarks returns what the data of a kind remarks; who begins each sentence.
func remarks(list []builtin.Remark, who string) []Remark {
	var all []Remark
	for _, r := range list {
		all = append(all, Remark{Path: r.Path, Message: who + r.Message})
	}
	return all
}

// builtinViolation returns what a built-in kind or an operator refuses, with its message.
func builtinViolation(found *builtin.Violation, p pair) Violation {
	v := newViolation(&found.Broken, found.Path, fieldpath.Resolve(found.Path, p.new.Value(), p.old.Value()))
	v.Rule, v.Message = cmp.Or(found.Row.Rule, found.Row.Means), found.Message
	v.Change = v.change(p.new, p.old)
	return v
}

func (d builtinDefinition) replacement(p pair) *Replacement {
	return d.replacementFor(p, builtin.Verdict{})
}

func (d builtinDefinition) replacementFor(p pair, judged builtin.Verdict) *Replacement {
	return replacementOf(d.kind.Replacement(placed(p.new, p.new.Namespace), p.old.Value(), judged), p, judged)
}

// placed returns the manifest of an object with the namespace that it goes to.
func placed(o *manifest.Object, namespace string) map[string]any {
	metadata, ok := o.Document.Object["metadata"].(map[string]any)
	if !ok || namespace == "" || metadata["namespace"] == namespace {
		return o.Document.Object
	}
	object, metadata := maps.Clone(o.Document.Object), maps.Clone(metadata)
	metadata["namespace"], object["metadata"] = namespace, metadata
	return object
}

// replacementOf returns the replacement of an object as the report has it. An edit that one of the rows knows makes it unnecessary.
func replacementOf(r builtin.Replacement, p pair, judged builtin.Verdict) *Replacement {
	must := !slices.ContainsFunc(judged.Violations, func(v builtin.Violation) bool { return v.Row.Edit != "" })
	return &Replacement{Cost: string(r.Cost), Message: r.Message, How: r.How, Must: must, Requested: p.applier.Requested(p.new.Document.Object, p.old.Value())}
}

// identify adds the refusals that objects of all kinds share, such as another uid. It reads the uid of the manifest, also when
// the cluster has said what it would store.
func (v *verdict) identify(p pair) {
	var oldObj map[string]any // of a create
	if p.old != nil {
		oldObj = p.old.Value()
	}
	judged := builtin.Identity(p.new.Document.Object, oldObj)
	var violations []Violation
	for i := range judged.Violations {
		violations = append(violations, builtinViolation(&judged.Violations[i], p))
		if v.replacement == nil {
			v.replacement = &Replacement{Message: "an edit is enough", How: []string{judged.Violations[i].Row.Edit}}
		}
	}
	v.merge(violations)
	v.addRemarks(remarks(judged.Unknown, ""), nil)
}

// Live is one object as a cluster stores it, and as the cluster would store it after an apply of the manifest.
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
	v.excuseUnenforced(l)
	v.addServer(l)
	if l.Accepted {
		v.unknown = nil // the cluster has decided
	}
	v.unknown = slices.DeleteFunc(v.unknown, func(r Remark) bool {
		return slices.ContainsFunc(v.violations, func(b Violation) bool {
			return related(b.Path, r.Path) || b.Lock == lockServer && b.Path == ""
		})
	})
}

// excuseUnenforced makes notes of the locks that nothing in the cluster enforces: those of a CRD, whose keys the API server does
// not know and drops, or keeps in an annotation, and those of an operator's webhook that is not there. CEL rules are its own.
func (v *verdict) excuseUnenforced(l *Live) {
	why := "no webhook or policy of the cluster looks at updates of the kind"
	if l.Accepted {
		why = "the API server accepts the change in a dry run"
	} else if !l.Unguarded {
		return
	}
	v.violations = slices.DeleteFunc(v.violations, func(b Violation) bool {
		unenforced := (b.isKey() || b.EnforcedBy != "") && !slices.ContainsFunc(l.Refusals, b.explains)
		if unenforced {
			v.notes = append(v.notes, Remark{Path: b.Path, Message: fmt.Sprintf("not enforced there: %s (%s), but %s", b.Message, b.Lock, why)})
		}
		return unenforced
	})
	if len(v.violations) == 0 {
		v.replacement = nil
	}
}

// isKey reports whether a key in the schema of a CRD locks the field, and not a CEL rule, a policy or the server's own code.
func (v *Violation) isKey() bool { return v.LockFile != "" && v.Rule == "" && v.Policy == "" }

// addServer adds the refusals of a dry run that v does not explain: no violation is at, above or below their field.
func (v *verdict) addServer(l *Live) {
	own := v.violations
	for _, r := range l.Refusals {
		if !slices.ContainsFunc(own, func(b Violation) bool { return b.explains(r) }) {
			at := fieldpath.Resolve(r.Path, l.New, l.Old.Object)
			v.violations = append(v.violations, Violation{Path: r.Path, at: at, Lock: lockServer, Message: r.Message})
		}
	}
	slices.SortStableFunc(v.violations, func(a, b Violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	if len(own) == 0 && len(v.violations) > 0 {
		v.replacement = &Replacement{
			Message: "the API server refuses the change for a reason that is in none of the schemas",
			How:     []string{"change the field that the server's message names; a new object may be refused for the same reason"},
		}
	}
}

// explains reports whether the server has refused the update for this violation.
func (v *Violation) explains(r ServerRefusal) bool {
	if v.Path == "" || r.Path == "" {
		return strings.Contains(r.Message, v.Message)
	}
	// The server names the list that mirrors a field, such as clusterIPs for clusterIP.
	return related(v.Path, r.Path) || related(v.Path+"s", r.Path)
}

// related reports whether one path leads to the other, or they are equal.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return fieldpath.Within(b, a)
}
