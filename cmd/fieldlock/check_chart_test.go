package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// TestCheckChartRevisions compares two revisions of a chart and of the values that it is deployed with. The schema and
// the defaults come from the chart, each side's from its own revision.
func TestCheckChartRevisions(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	const (
		locked = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {
			"storage": {"$ref": "#/$defs/storage"}, "replicas": {"type": "integer"}},
			"$defs": {"storage": {"type": "object", "properties": {
				"class": {"type": "string", "x-kubernetes-immutable": true}, "size": {"type": "string"}}}}}`
		free     = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"storage": {"type": "object"}}}`
		defaults = "replicas: 1\nstorage: {class: standard, size: 1Gi}\n"
		metadata = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
	)
	first := map[string]string{
		"charts/shop/Chart.yaml": metadata, "charts/shop/values.schema.json": locked, "charts/shop/values.yaml": defaults,
		"deploy/prod.yaml": "storage: {class: fast}\n", "deploy/test.yaml": "replicas: 2\n",
	}
	for _, c := range []struct {
		name, reason string
		second       map[string]string // what the second revision changes
		want         []string          // path and file of each violation
	}{
		{"free value", "only class is locked", map[string]string{"deploy/prod.yaml": "storage: {class: fast, size: 2Gi}\n"}, nil},
		{"locked value", "prod has a class of its own", map[string]string{"deploy/prod.yaml": "storage: {class: slow}\n"}, []string{"storage.class deploy/prod.yaml"}},
		{"default written out", "it is what test had", map[string]string{"deploy/test.yaml": "storage: {class: standard}\n"}, nil},
		{"value instead of the default", "test had the default", map[string]string{"deploy/test.yaml": "storage: {class: fast}\n"}, []string{"storage.class deploy/test.yaml"}},
		{"value removed", "the default takes its place", map[string]string{"deploy/prod.yaml": "replicas: 3\n"}, []string{"storage.class deploy/prod.yaml"}},
		{"null", "Helm removes the default", map[string]string{"deploy/test.yaml": "storage: {class: null}\n"}, []string{"storage.class deploy/test.yaml"}},
		{"another default", "test follows it, prod does not, and the chart's own values change too",
			map[string]string{"charts/shop/values.yaml": "replicas: 1\nstorage: {class: cheap, size: 1Gi}\n"},
			[]string{"storage.class charts/shop/values.yaml", "storage.class deploy/test.yaml"}},
		{"lock dropped", "the lock of the first revision counts",
			map[string]string{"charts/shop/values.schema.json": free, "deploy/prod.yaml": "storage: {class: slow}\n"}, []string{"storage.class deploy/prod.yaml"}},
		{"another free default", "only class is locked", map[string]string{"charts/shop/values.yaml": "replicas: 2\nstorage: {class: standard, size: 1Gi}\n"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeFiles(t, first)
			t.Chdir(dir)
			commit := func() {
				t.Helper()
				for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "values"}} {
					if out, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput(); err != nil {
						t.Fatalf("git %v: %v\n%s", args, err, out)
					}
				}
			}
			commit()
			for name, text := range c.second {
				writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
			}
			check := func(revisions string) {
				t.Helper()
				got := runCommand("", "check", "-o", "json", "--git", revisions, "--chart", "charts/shop")
				var report compare.Report
				if err := json.Unmarshal([]byte(got.out), &report); err != nil {
					t.Fatalf("%v: %s%s", err, got.out, got.err)
				}
				var paths []string
				for _, v := range report.Violations {
					paths = append(paths, v.Path+" "+v.Object)
				}
				slices.Sort(paths)
				paths = slices.Compact(paths)
				if !slices.Equal(paths, c.want) || report.Checked == 0 || (got.status == exitRefused) != (c.want != nil) {
					t.Errorf("--git %s: %s: got %q, want %q; %d checked, status %d\n%s", revisions, c.reason, paths, c.want, report.Checked, got.status, got.err)
				}
			}
			check("HEAD")
			commit()
			check("HEAD~1..HEAD")
		})
	}
}
