package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestMalformedRules: a rule that calls a function with too few or too many arguments does not compile on a server. lint,
// import and check of a CRD with such rules end with a report, not with a panic.
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
