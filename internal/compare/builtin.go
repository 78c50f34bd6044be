package compare

import (
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
)

// ofBuiltin judges objects of a kind that Kubernetes itself has. A version that the chosen minor does not serve is judged as another
// one.
func ofBuiltin(kind *builtin.Kind) *definition {
	return &definition{
		isBuiltin: true,
		find: func(v *verdict, r request) error {
			v.addRows(checkBuiltin(kind, r), r, "", nil)
			return nil
		},
		replace: func(r request, rows builtin.Verdict) *result.Replacement {
			return rowsReplacement(kind.Replacement(placed(r.new, r.new.Place()), r.old.Value(), rows), rows, r)
		},
	}
}

// checkBuiltin returns the verdict on a request. A cluster has applied the manifest already.
func checkBuiltin(kind *builtin.Kind, r request) builtin.Verdict {
	switch {
	case r.live != nil:
		return kind.CheckLive(r.new.Value(), r.old.Value())
	case r.by == threeWay:
		return kind.CheckBy(builtin.ApplierClientSide, r.new.Value(), r.old.Value())
	}
	return kind.CheckBy(r.by, r.new.Value(), r.old.Value())
}

// identify adds the refusals that objects of all kinds share, such as another uid. It reads the uid of the manifest, also when
// the cluster has said what it would store.
func (v *verdict) identify(p request) {
	var oldObj map[string]any // of a create
	if p.old != nil {
		oldObj = p.old.Value()
	}
	judged := builtin.Identity(p.new.Document.Object, oldObj)
	var violations []violation
	for i := range judged.Violations {
		violations = append(violations, builtinViolation(&judged.Violations[i], p))
		if v.replacement == nil {
			v.replacement = &result.Replacement{Message: "an edit is enough", How: []string{judged.Violations[i].Row.Edit}}
		}
	}
	v.merge(violations)
	v.addRemarks(open(judged.Unknown, ""), nil)
}
