package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

var _ definition = builtinDefinition{}

// builtinDefinition judges objects of a kind that Kubernetes itself has.
type builtinDefinition struct{ kind *builtin.Kind }

// covers reports true: a version that the chosen minor does not serve is judged as another one.
func (builtinDefinition) covers(string) bool { return true }

func (d builtinDefinition) judge(p request) (verdict, error) {
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
func builtinViolation(found *builtin.Violation, p request) Violation {
	v := newViolation(&found.Broken, found.Path, fieldpath.Resolve(found.Path, p.new.Value(), p.old.Value()))
	v.Rule, v.Message = cmp.Or(found.Row.Rule, found.Row.Means), found.Message
	v.Change = v.change(p.new, p.old)
	return v
}

func (d builtinDefinition) replacement(p request) *Replacement {
	return d.replacementFor(p, builtin.Verdict{})
}

func (d builtinDefinition) replacementFor(p request, judged builtin.Verdict) *Replacement {
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
func replacementOf(r builtin.Replacement, p request, judged builtin.Verdict) *Replacement {
	must := !slices.ContainsFunc(judged.Violations, func(v builtin.Violation) bool { return v.Row.Edit != "" })
	return &Replacement{Cost: string(r.Cost), Message: r.Message, How: r.How, Must: must, Requested: p.applier.Requested(p.new.Document.Object, p.old.Value())}
}

// identify adds the refusals that objects of all kinds share, such as another uid. It reads the uid of the manifest, also when
// the cluster has said what it would store.
func (v *verdict) identify(p request) {
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
