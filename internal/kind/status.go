package kind

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// statusRules are transition rules that read the status, which an apply of a manifest does not bring along. Where
// nothing but the status decides, the update may be refused:
//
//	!has(oldSelf.status) || oldSelf.status.on != true || self.spec.class == oldSelf.spec.class
//
// holds whatever the status is while the class stays, and is open when it changes.
type statusRules struct {
	rules   []celrun.Rule
	certain *celrun.Validator // of conditions that imply the rules whatever the status is; with the same indices
}

// ReadsStatus reports whether a rule of the root reads the status.
func ReadsStatus(r celrun.Rule) bool {
	if r.SchemaPath != "" || !strings.Contains(r.Text, "status") {
		return false
	}
	return slices.ContainsFunc(r.Reads(),
		func(read celexpr.Read) bool { return read.OfRule() && ownField(read) == "status" })
}

// mayReadStatus reports whether a condition of such a rule may read the status, perhaps as a part of the object.
func mayReadStatus(condition ast.Expr) bool {
	return slices.ContainsFunc(celexpr.Reads(condition), func(read celexpr.Read) bool {
		name := ownField(read)
		return read.OfRule() && (name == "" || name == "status")
	})
}

// ownField returns the name of the field of the whole object at or below which a place reads, "" for the whole object.
func ownField(read celexpr.Read) string {
	names := read.Properties()
	if len(names) == 0 || names[0] == celexpr.AnyStep {
		return ""
	}
	return names[0]
}

// newStatusRules returns nil if there are no rules. They are rules of the root of s.
func newStatusRules(s *spec.Schema, rules []celrun.Rule) *statusRules {
	if len(rules) == 0 {
		return nil
	}
	entries := make([]any, len(rules))
	for i, r := range rules {
		certain := "false"
		if x, err := celexpr.Parse(r.Text); err == nil {
			certain, _ = celrun.Certain(x, mayReadStatus)
		}
		entries[i] = map[string]any{"rule": certain, "optionalOldSelf": r.OptionalOldSelf}
	}
	root := *s
	root.Extensions = maps.Clone(s.Extensions)
	root.Extensions[schema.KeyValidations] = entries
	certain := celrun.New(&root, func(r celrun.Rule) bool { return r.SchemaPath == "" })
	return &statusRules{rules, certain.Strict(new(celrun.Shared))}
}

// findings are about the rules that may refuse an update, with some status.
func (s *statusRules) findings(u *update) []Objection {
	if s == nil {
		return nil
	}
	violations, err := s.certain.ValidateUpdate(u.New, u.Old)
	mayRefuse := func(i int) bool {
		isRefusal := func(v celrun.RuleError) bool { return v.Rule.Text == "" || v.Rule.Index == i }
		return err != nil || slices.ContainsFunc(violations, isRefusal)
	}
	var all []Objection
	for i, r := range s.rules {
		if !mayRefuse(i) {
			continue
		}
		found := Objection{Open: "refused unless the status in the cluster satisfies the rule " + r.Text}
		found.Path = strings.TrimPrefix(r.FieldPath, ".")
		known := func(f Objection) bool { return f.Path == found.Path && f.Open == found.Open }
		if !slices.ContainsFunc(all, known) {
			all = append(all, found)
		}
	}
	return all
}
