// Package celrule translates between locks and the CEL transition rules of custom resource definitions.
//
// Export writes locks as CEL rules, so that a stock API server enforces them, and ExportPolicy writes them as
// validations of a ValidatingAdmissionPolicy. Import reads transition rules as locks. Package crd/lint finds the ways
// around transition rules.
//
// Each function takes the schema of one version of a CRD and leaves it as it is. Schema paths in its results are JSON
// pointers from the root of that schema.
//
// Two things are equivalent here if they accept the same updates from one valid object to another. Valid objects are
// those that an API server stores for the schema: pruned, defaulted, without null where the schema is not nullable,
// without duplicates in sets and keyed lists, and accepted by the plain rules, those without oldSelf.
//
// The package is v0: names may still change.
package celrule

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrule"
)

// Exported is what Export made of the locks of a schema.
type Exported struct {
	// Schema is the schema with the rules, and without the keys that a stock API server does not know.
	Schema *spec.Schema
	// Rules are the rules that Schema has for the locks, also those that it had already.
	Rules []Rule
	// Rest are the locks that no rule of Schema enforces.
	Rest []Unexported
}

// Rule is a transition rule, and the locks that it is equivalent to.
type Rule struct {
	Path       string // of the field that has an imported rule, "" for the root; Export leaves it out
	SchemaPath string // of the node that has the rule
	Rule       string // the CEL expression
	// Locks are the locks that the rule is equivalent to. A recognized rule without locks refuses no update that the
	// schema, other locks and plain rules accept.
	Locks []immutability.LockedField
	// Reason is why Import leaves a rule, or why a recognized rule has no locks of its own.
	Reason string
}

// Unexported is a field with locks for which there is no equivalent rule, or whose rule costs more than the API server
// allows.
type Unexported struct {
	immutability.LockedField
	Reason string
	Remedy string // what would make it exportable, "" for nothing
}

// Export replaces the locks of s with equivalent CEL rules, for a stock API server. A rule is equivalent if it accepts
// the same updates from one valid object to another. Locks without such a rule are in Rest, with the reason; nothing
// enforces them in Schema. A lock that no update can break, such as one on a list-map key, is in neither. Export does
// not change s.
//
// It returns an *immutability.SchemaError if the locks of s are wrong, and an error if s is not a structural schema.
func Export(s *spec.Schema) (Exported, error) {
	made, err := celrule.Export(s)
	if err != nil {
		return Exported{}, err
	}
	out := Exported{Schema: celrule.Apply(s, made.Changes), Rest: restOf(made.Rest)}
	for _, r := range made.Rules {
		out.Rules = append(out.Rules, Rule{SchemaPath: r.SchemaPath, Rule: r.Rule, Locks: locksOf(r.Locks)})
	}
	return out, nil
}

// Policy is the locks of a schema as validations of a ValidatingAdmissionPolicy.
type Policy struct {
	Validations []PolicyValidation
	// Rest are the locks that no validation enforces.
	Rest []Unexported
}

// PolicyValidation is one validation of a policy.
type PolicyValidation struct {
	Expression string // over object and oldObject
	Message    string
	Locks      []immutability.LockedField
}

// ExportPolicy writes the locks of s as validations of a ValidatingAdmissionPolicy. A policy sees objects without their
// schema: it compares values deeply and in order, null and absent differ, and unknown fields count. So it can enforce
// other locks than rules in a CRD: unknown fields, but no sets inside a locked value. It does not follow $ref. A lock
// that no update can break is in neither list.
//
// It returns an *immutability.SchemaError if the locks of s are wrong.
func ExportPolicy(s *spec.Schema) (Policy, error) {
	made, err := celrule.ExportPolicy(s)
	if err != nil {
		return Policy{}, err
	}
	out := Policy{Rest: restOf(made.Rest)}
	for _, r := range made.Rules {
		out.Validations = append(out.Validations, PolicyValidation{r.Rule, r.Message, locksOf(r.Locks)})
	}
	return out, nil
}

// Imported is what Import made of the transition rules of a schema.
type Imported struct {
	// Schema is the schema with locks in place of the recognized rules.
	Schema *spec.Schema
	// Recognized are the rules that became locks, Left those that stay rules.
	Recognized, Left []Rule
}

// Import replaces the CEL transition rules of s with equivalent locks. It recognizes a rule if it has the forms in
// which people write locks, or in which Export does: then the locks accept the same updates from one valid object to
// another. All other rules stay, with the reason. Plain rules, those without oldSelf, stay as they are and are not
// listed. Import does not change s.
//
// Cost: O(size of s), and for each rule the number of forms times the fields that it names, which is small.
func Import(s *spec.Schema) Imported {
	made := celrule.Import(s)
	return Imported{Schema: celrule.Apply(s, made.Changes), Recognized: rulesOf(made.Recognized),
		Left: rulesOf(made.Left)}
}

func rulesOf(list []celrule.ImportedRule) []Rule {
	var rules []Rule
	for _, r := range list {
		rules = append(rules, Rule{r.Path, r.SchemaPath, r.Text, locksOf(r.Locks), r.Reason})
	}
	return rules
}

// locksOf returns the fields with their locks, each field once.
func locksOf(list []celrule.LockAt) []immutability.LockedField {
	var fields []immutability.LockedField
	for _, l := range list {
		if last := len(fields) - 1; last >= 0 && fields[last].SchemaPath == l.SchemaPath {
			fields[last].Locks = append(fields[last].Locks, immutability.Lock(l.Lock))
			continue
		}
		fields = append(fields, immutability.LockedField{Path: l.Path, SchemaPath: l.SchemaPath,
			Locks: []immutability.Lock{immutability.Lock(l.Lock)}})
	}
	return fields
}

func restOf(list []celrule.Unexported) []Unexported {
	var rest []Unexported
	for _, u := range list {
		rest = append(rest, Unexported{locksOf([]celrule.LockAt{u.LockAt})[0], u.Reason, u.Remedy})
	}
	return rest
}
