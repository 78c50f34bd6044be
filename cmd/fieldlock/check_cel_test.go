package main

import (
	"strings"
	"testing"
)

// TestCheckNamesRulesThatItDoesNotRun: a server would refuse what check passes, so check says so; not of rules that say
// what the locks say, nor once import cel has made locks of them.
func TestCheckNamesRulesThatItDoesNotRun(t *testing.T) {
	const note = "note: CEL transition rules are not checked: 1 rule in version v1 of widgets.example.com; fieldlock import cel"
	old, changed := widget("v1", "", "x", "{class: p}"), widget("v1", "", "x", "{class: q}")
	rules := widgets("None", "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}", "")
	if c, _ := checkTexts(t, rules, old, changed); c.status != exitClean || !strings.HasPrefix(c.err, note) || strings.Contains(c.err, "change freely") {
		t.Errorf("got status %d and %q, want 0 and %q", c.status, c.err, note)
	}
	if c, _ := checkTexts(t, runCommand(rules, "import", "cel", "-").out, old, changed); c.status != exitRefused || c.err != "" {
		t.Errorf("imported: got status %d and %q, want 1 and no note", c.status, c.err)
	}
	if c, _ := checkTexts(t, runCommand(classLocked, "export", "cel", "-").out, old, changed); c.status != exitRefused || c.err != "" {
		t.Errorf("exported: got status %d and %q, want 1 and no note", c.status, c.err)
	}
}
