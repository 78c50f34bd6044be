package main

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
)

// TestRealOpenAPI puts a lock into documents that API servers have published: locks lists it, lint looks at it, and
// check holds it.
func TestRealOpenAPI(t *testing.T) {
	const field = `"progressDeadlineSeconds": {`
	deployment := func(seconds string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: b}\nspec: {progressDeadlineSeconds: " + seconds + "}\n"
	}
	for _, c := range []struct{ name, module, file string }{
		{"v3", "k8s.io/client-go@v0.35.0", "openapi/openapitest/testdata/apis__apps__v1_openapi.json"},
		{"v2", "k8s.io/apimachinery@v0.35.0", "pkg/util/managedfields/internal/testdata/swagger.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, err := modulefs.Open(c.module)
			if err != nil {
				t.Skip(err)
			}
			defer files.Close()
			data, err := fs.ReadFile(files, c.file)
			if err != nil {
				t.Fatal(err)
			}
			locked := strings.ReplaceAll(string(data), field, field+`"x-kubernetes-immutable": true, `)
			if locked == string(data) {
				t.Fatalf("%s has no %s", c.file, field)
			}
			t.Chdir(writeFiles(t, map[string]string{"api.json": locked, "old.yaml": deployment("600"), "same.yaml": deployment("600") + "status: {}\n", "new.yaml": deployment("700")}))
			for _, run := range []struct {
				args   []string
				status int
				want   string // in the output
			}{
				{[]string{"locks", "api.json"}, exitClean, "spec.progressDeadlineSeconds"},
				{[]string{"lint", "api.json"}, exitClean, "spec.progressDeadlineSeconds"},
				{[]string{"check", "--no-builtin", "--schema", "api.json", "old.yaml", "same.yaml"}, exitClean, ""},
				{[]string{"check", "--no-builtin", "--schema", "api.json", "old.yaml", "new.yaml"}, exitRefused, "spec.progressDeadlineSeconds"},
				{[]string{"export", "policy", "--kind", "apps/v1/Deployment", "api.json"}, exitClean, "progressDeadlineSeconds"},
			} {
				if got := runCommand("", run.args...); got.status != run.status || !strings.Contains(got.out, run.want) {
					t.Errorf("%v: status %d, want %d and %q in\n%s%s", run.args, got.status, run.status, run.want, got.out, got.err)
				}
			}
		})
	}
}
