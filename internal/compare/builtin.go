package compare

import "github.com/fieldlock/fieldlock/immutability/builtin"

// knownBuiltin judges objects of a kind that Kubernetes itself has. A version that the chosen minor does not serve is judged as
// another one.
func knownBuiltin(kind *builtin.Kind) *knownKind {
	return &knownKind{
		isBuiltin: true,
		check: func(r request) (builtin.Verdict, error) {
			if r.live != nil {
				return kind.CheckLive(r.new.Value(), r.old.Value()), nil
			}
			by := r.by
			if by == threeWay {
				by = builtin.ApplierClientSide
			}
			return kind.CheckBy(by, r.new.Value(), r.old.Value()), nil
		},
		replace: func(r request, judged builtin.Verdict) builtin.Replacement {
			return kind.Replacement(placed(r.new, r.new.Place()), r.old.Value(), judged)
		},
	}
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
