package crd

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/extension"
)

// transition matches the variable that makes a CEL rule one about updates.
var transition = regexp.MustCompile(`\boldSelf\b`)

// rulesOf returns the transition rules of a node, white space folded, so that wrapping does not tell rules apart.
func rulesOf(s *spec.Schema) []string {
	list, _ := s.Extensions[extension.Validations].([]any)
	var rules []string
	for _, item := range list {
		if rule, _ := child(item, "rule").(string); transition.MatchString(rule) {
			rules = append(rules, strings.Join(strings.Fields(rule), " "))
		}
	}
	return rules
}

// rules warns of each served version that lacks transition rules of another served version at fields that it has, and
// that it does not lock either. Rules are compared as text: one that says the same in other words counts as missing.
func (l *linter) rules() {
	for i, free := range l.versions {
		missing := make(map[string]bool) // schema paths
		having := make(map[string]bool)  // names of versions
		for j, ruled := range l.versions {
			if i == j || !free.Served || !ruled.Served {
				continue
			}
			for path, s := range ruled.nodes {
				node, ok := free.nodes[path]
				if !ok || free.covers(path, guardAll) {
					continue
				}
				own := rulesOf(node)
				for _, rule := range rulesOf(s) {
					if !slices.Contains(own, rule) {
						missing[path], having[ruled.Name] = true, true
					}
				}
			}
		}
		if len(missing) == 0 {
			continue
		}
		paths := slices.Sorted(maps.Keys(missing))
		l.report(free.Version, immutability.Warning, "version-without-rule", paths,
			"version %s lacks transition rules of %s, so an update through %s gets around them: %s; put the same rules in every served version",
			free.Name, strings.Join(slices.Sorted(maps.Keys(having)), " and "), free.Name, enumerate(fieldsOf(paths)))
	}
}
