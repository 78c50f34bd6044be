package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkCommand runs the commands on a CRD of 1 MB and 500 objects, of which one in ten changes.
func BenchmarkCommand(b *testing.B) {
	dir := b.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	crd, old, new := large()
	for name, text := range map[string]string{"crd.yaml": crd, "old.yaml": old, "new.yaml": new} {
		writeFile(b, path(name), text)
	}
	for _, run := range []struct {
		name   string
		status int
		args   []string
	}{
		{"check", exitRefused, []string{"check", "--schema", path("crd.yaml"), path("old.yaml"), path("new.yaml")}},
		{"lint", exitClean, []string{"lint", path("crd.yaml")}},
		{"locks", exitClean, []string{"locks", path("crd.yaml")}},
	} {
		b.Run("verb="+run.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c := runCommand("", run.args...); c.status != run.status {
					b.Fatalf("got status %d\n%s", c.status, c.err)
				}
			}
		})
	}
}

// large makes a CRD of 1 MB with a lock in every hundredth field, and 500 objects of 4 KB before and after a change.
func large() (crd, old, new string) {
	var properties, spec strings.Builder
	const text = "An account of what the field is good for, of the length that such accounts have in the CRDs of real projects."
	for i := range 3000 {
		lock := ""
		if i%100 == 0 {
			lock = ", x-kubernetes-immutable: true"
		}
		fmt.Fprintf(&properties, "field%d: {type: string, description: %q%s}\n", i, text, lock)
		if i%40 == 0 {
			fmt.Fprintf(&spec, "  field%d: the value that this field has\n", i)
		}
	}
	crd = widgets("None", properties.String(), properties.String())
	var before, after strings.Builder
	for i := range 500 {
		object := widget("v1", "", fmt.Sprintf("widget-%d", i), "\n"+spec.String())
		before.WriteString(object)
		if i%10 == 0 {
			object = strings.Replace(object, "field200: the value", "field200: another value", 1)
		}
		after.WriteString(object)
	}
	return crd, before.String(), after.String()
}
