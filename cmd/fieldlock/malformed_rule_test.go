package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestMalformedRules: a rule that calls a function with too few or too many arguments does not compile on a server.
// lint, import and check of a CRD with such rules end with a report, not with a panic.
func TestMalformedRules(t *testing.T) {
	var rules []string
	for _, name := range []string{"has", "hasValue", "size", "matches", "startsWith", "contains", "orValue", "value", "all", "exists", "exists_one", "map", "filter", "split", "optional.of"} {
		for _, args := range []string{"", "self.class", "x, x == x", "x, y, x == y", "x, y, z, x"} {
			rules = append(rules, fmt.Sprintf("%s(%s) && self == oldSelf", name, args), fmt.Sprintf("self.class.%s(%s) || oldSelf.class == self.class", name, args))
		}
	}
	var list []string
	for _, rule := range rules {
		list = append(list, fmt.Sprintf("{rule: '%s'}", rule))
	}
	rulesOfSpec := "              x-kubernetes-validations: [" + strings.Join(list, ", ") + "]\n"
	crd := strings.Replace(widgets("None", "class: {type: string}", ""), "              properties:\n                free", rulesOfSpec+"              properties:\n                free", 1)
	dir := writeFiles(t, map[string]string{"crd.yaml": crd, "old/w.yaml": widget("v1", "", "x", "{class: a}"), "new/w.yaml": widget("v1", "", "x", "{class: b}")})
	t.Chdir(dir)
	for _, args := range [][]string{{"lint", "--explain", "crd.yaml"}, {"import", "cel", "crd.yaml"}, {"check", "--schema", "crd.yaml", "old", "new"}, {"export", "policy", "crd.yaml"}} {
		if c := runCommand("", args...); !strings.Contains(c.out+c.err, "has()") && args[0] != "export" {
			t.Errorf("%s does not name the first rule: %s%s", args, c.out, c.err)
		}
	}
}

// TestEnumsOfContainers: an enum may have lists and objects, and rules may compare the field.
func TestEnumsOfContainers(t *testing.T) {
	rules := []string{"!has(self.class) || !has(oldSelf.class) || self.class == oldSelf.class", "!has(oldSelf.class) || has(self.class)"}
	for class, rules := range map[string][]string{ // of lists, no example is made for an enum
		"{type: array, items: {type: string}, enum: [[x], [y]]}":                               append(rules, "!has(self.class) || !has(oldSelf.class) || self.class == oldSelf.class || self.class.size() == 0"),
		"{type: object, properties: {c: {type: integer}}, enum: [{c: 1}, {c: 2}, {}]}":         rules,
		"{type: object, additionalProperties: {type: integer}, enum: [{c: 1}, {c: 2}, {}, 5]}": rules,
	} {
		for _, rule := range rules {
			crd := strings.Replace(widgets("None", "class: "+class, ""), "              properties:\n                free", "              x-kubernetes-validations: [{rule: '"+rule+"'}]\n              properties:\n                free", 1)
			t.Chdir(writeFiles(t, map[string]string{"crd.yaml": crd}))
			if c := runCommand("", "lint", "--explain", "crd.yaml"); !strings.Contains(c.out, "0 errors") || !strings.Contains(class, "array") && !strings.Contains(c.out, "# create this") {
				t.Errorf("%s with %s: lint shows no way around: %s%s", rule, class, c.out, c.err)
			}
			if c := runCommand("", "import", "cel", "crd.yaml"); !strings.Contains(c.err, "of 1 transition rule") {
				t.Errorf("%s with %s: %s", rule, class, c.err)
			}
		}
	}
}
