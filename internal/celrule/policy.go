package celrule

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Policy is the locks of one schema as validations of a ValidatingAdmissionPolicy, over object and oldObject.
type Policy struct {
	Validations []PolicyValidation
	Needless    []LockAt // locks that no update can break
	Rest        []Unexported
}

// PolicyValidation is one validation of a policy.
type PolicyValidation struct {
	Locks      []LockAt
	Expression string
	Message    string
}

// ExportPolicy writes the locks of s as validations of a ValidatingAdmissionPolicy. A policy sees objects without their
// schema: it compares values deeply and in order, null and absent differ, and unknown fields count. So it can enforce other
// locks than rules in a CRD: unknown fields, but no sets inside a locked value. It does not follow $ref. It returns an *immutability.SchemaError if the locks of s are wrong.
func ExportPolicy(s *spec.Schema) (Policy, error) {
	if _, err := immutability.Compile(s); err != nil {
		return Policy{}, err
	}
	var out Policy
	frozen := map[*schema.Location]bool{}
	for _, l := range readTree(s).All {
		if l.In != nil && frozen[l.Parent()] {
			frozen[l] = true
			continue
		}
		for _, lock := range l.Marks.Locks {
			if correlates(l) {
				out.Needless = append(out.Needless, lockAt(l, lock))
				continue
			}
			text, reason := expression(l, lock)
			if reason != "" {
				out.Rest = append(out.Rest, Unexported{LockAt: lockAt(l, lock), Reason: reason})
				continue
			}
			frozen[l] = frozen[l] || lock == schema.Immutable
			message := fmt.Sprintf("%s: %s", l.Path, lock.Refusal())
			out.Validations = append(out.Validations, PolicyValidation{[]LockAt{lockAt(l, lock)}, text, message})
		}
	}
	return out, nil
}

// expression returns the CEL expression for a lock at l, or why it cannot be expressed.
func expression(l *schema.Location, lock schema.Lock) (text, reason string) {
	if l.Marks.Normalize != "" || normalizedAbove(l) != nil || normalized(l.Schema) {
		return "", "CEL does not count empty values as absent, as x-kubernetes-normalize does"
	}
	w := &speller{refused: changesOf(lock), exact: lock == schema.Immutable, ordered: l.Marks.MapListOrder != schema.OrderIgnored}
	text = w.below(way(l), "object", "oldObject", 0)
	return text, w.reason
}
