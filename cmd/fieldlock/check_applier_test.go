package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestApplierFlags: --applier decides what differs between deployment tools, and --refuse-deletions what may not go
// away.
func TestApplierFlags(t *testing.T) {
	deployment := func(strategy string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" + strategy +
			"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}\n"
	}
	const claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	dir := writeFiles(t, map[string]string{
		"old.yaml": deployment("") + claim, "recreate.yaml": deployment("  strategy: {type: Recreate}\n") + claim, "gone.yaml": deployment(""),
	})
	for _, row := range []struct {
		name   string
		flags  []string
		to     string
		status int
		want   string // in what is printed
	}{
		{"nobody knows who applies", nil, "recreate.yaml", 0, "accepted by client-side apply"},
		{"and --strict", []string{"--strict"}, "recreate.yaml", 1, "refused by server-side apply"},
		{"server-side", []string{"--applier", "server-side"}, "recreate.yaml", 1, "may not be specified when strategy"},
		{"client-side", []string{"--applier", "client-side"}, "recreate.yaml", 0, "no refused change"},
		{"helm", []string{"--applier", "helm"}, "recreate.yaml", 0, "no refused change"},
		{"replace", []string{"--applier=replace"}, "recreate.yaml", 0, "no refused change"},
		{"another word", []string{"--applier", "flux"}, "recreate.yaml", 2, "want server-side, client-side, helm or replace"},
		{"a deletion", nil, "gone.yaml", 0, "if you delete it (cost: data): the volume"},
		{"a refused deletion", []string{"--refuse-deletions", "data,cascade"}, "gone.yaml", 1, "deletions of cost data are refused"},
		{"a refused deletion of another cost", []string{"--refuse-deletions", "cascade"}, "gone.yaml", 0, "if you delete it (cost: data)"},
		{"an unknown cost", []string{"--refuse-deletions", "data,everything"}, "gone.yaml", 2, `unknown word "everything"`},
	} {
		c := runCommand("", append([]string{"check", filepath.Join(dir, "old.yaml"), filepath.Join(dir, row.to)}, row.flags...)...)
		if c.status != row.status || !strings.Contains(c.out+c.err, row.want) {
			t.Errorf("%s: status %d, want %d with %q:\n%s%s", row.name, c.status, row.status, row.want, c.out, c.err)
		}
	}
}
