package main

import (
	"strings"
	"testing"
)

// TestLintAuditsRules: lint speaks of CEL transition rules too, of those that a served version lacks among them.
func TestLintAuditsRules(t *testing.T) {
	text := strings.Replace(exportedWidgets, "x-fieldlock-update: [NoUnset, NoModify]", "x-kubernetes-validations: [{rule: self == oldSelf}]", 1)
	version := text[strings.Index(text, "  - name: v1"):]
	version = strings.NewReplacer("name: v1", "name: v2", "storage: true", "storage: false", "x-kubernetes-validations: [{rule: self == oldSelf}]", "maxLength: 9").Replace(version)
	out, _ := onFile(t, exitClean, text+version, "lint")
	for _, want := range []string{"cel-unset-then-set", "!has(oldSelf.zone) || has(self.zone)", "cel-version-without-rule", "a write through version v2"} {
		if !strings.Contains(out, want) {
			t.Errorf("lint lacks %q:\n%s", want, out)
		}
	}
	if out, _ := onFile(t, exitClean, exportedWidgets, "lint"); strings.Contains(out, "cel-") {
		t.Errorf("lint warns of rules where there are none:\n%s", out)
	}
}

// TestLintAfterExport: a hole in a lock and in the rule that export cel makes of the lock is one finding.
func TestLintAfterExport(t *testing.T) {
	holed := strings.Replace(exportedWidgets, "x-fieldlock-update: [NoUnset, NoModify]", "x-fieldlock-update: [NoModify]", 1)
	exported, _ := onFile(t, exitClean, holed, "export", "cel")
	before, _ := onFile(t, exitClean, holed, "lint")
	after, _ := onFile(t, exitClean, exported, "lint")
	if !strings.Contains(exported, "self == oldSelf") || !strings.Contains(before, "unset-then-set") {
		t.Fatalf("the case shows nothing:\n%s\n%s", exported, before)
	}
	if strings.Count(after, "warning ") != strings.Count(before, "warning ") || strings.Contains(after, "cel-") {
		t.Errorf("lint says\n%s\nand after export cel\n%s", before, after)
	}
}
