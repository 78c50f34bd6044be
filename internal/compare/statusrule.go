package compare

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// statusRules are transition rules that read the status, which an apply of a manifest does not bring along.
type statusRules struct {
	rules   []celrun.Rule
	certain *celrun.Validator // of what is true only where the rule is, whatever the status is; the same indices
}

// wholeStatus finds a reference to the status of the whole object in the text of a rule.
var wholeStatus = regexp.MustCompile(`\b(self|oldSelf)\s*\.\s*\??\s*status\b`)

// readsStatus reports whether a rule of the root reads the status.
func readsStatus(r celrun.Rule) bool { return r.SchemaPath == "" && wholeStatus.MatchString(r.Text) }

// field finds a reference to a field of the whole object, and wholeObject one to all of it.
var (
	field       = regexp.MustCompile(`\b(self|oldSelf)\s*\.\s*\??\s*\w`)
	wholeObject = regexp.MustCompile(`\b(self|oldSelf)\b`)
)

// mayReadStatus reports whether a condition of such a rule may read the status, perhaps as a part of the object.
func mayReadStatus(condition string) bool {
	return wholeStatus.MatchString(condition) || wholeObject.MatchString(field.ReplaceAllString(condition, ""))
}

// newStatusRules returns nil if there are no rules. They are rules of the root of s.
func newStatusRules(s *spec.Schema, rules []celrun.Rule) *statusRules {
	if len(rules) == 0 {
		return nil
	}
	entries := make([]any, len(rules))
	for i, r := range rules {
		entries[i] = map[string]any{"rule": celrun.Certain(r.Text, mayReadStatus), "optionalOldSelf": r.OptionalOldSelf}
	}
	root := *s
	root.Extensions = maps.Clone(s.Extensions)
	root.Extensions[schema.KeyValidations] = entries
	certain := celrun.New(&root, func(r celrun.Rule) bool { return r.SchemaPath == "" })
	return &statusRules{rules, certain.Strict()}
}

// remarks are about the rules that may refuse an update, with some status.
func (s *statusRules) remarks(newObj, oldObj map[string]any) []remark {
	if s == nil {
		return nil
	}
	violations, err := s.certain.ValidateUpdate(newObj, oldObj)
	mayRefuse := func(i int) bool {
		return err != nil || slices.ContainsFunc(violations, func(v celrun.Violation) bool { return v.Rule.Text == "" || v.Rule.Index == i })
	}
	var list []remark
	for i, r := range s.rules {
		m := remark{strings.TrimPrefix(r.FieldPath, "."), fmt.Sprintf("the rule %s depends on the status, which only the cluster knows", r.Text)}
		if mayRefuse(i) && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
