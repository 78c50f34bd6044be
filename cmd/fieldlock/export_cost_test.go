package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExportCostHints: where a rule costs too much, the report names the limits to add, those to lower where all are
// there, and how many locks a policy takes.
func TestExportCostHints(t *testing.T) {
	const values = "hosts: {type: object, maxProperties: 100000, additionalProperties: {type: string, LENGTH x-kubernetes-immutable: true}}"
	for _, test := range []struct{ name, length, want string }{
		{"a limit lacks", "", "what would help: maxLength: 128 at spec.hosts[*]\n"},
		{"the limits are high", "maxLength: 10000,", "what would help: maxProperties: 4096 at spec.hosts (now 100000), maxLength: 4096 at spec.hosts[*] (now 10000)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"crd.yaml": widgets("None", strings.Replace(values, "LENGTH", test.length, 1), "")})
			c := runCommand("", "export", "cel", filepath.Join(dir, "crd.yaml"))
			if c.status != exitClean || !strings.Contains(c.err, test.want) || !strings.Contains(c.err, "fieldlock export policy takes ") {
				t.Errorf("status %d, want %q:\n%s", c.status, test.want, c.err)
			}
			if n := strings.Count(c.err, "immutable on spec.hosts[*]\n"); n != 1 {
				t.Errorf("the lock is reported %d times:\n%s", n, c.err)
			}
		})
	}
}
