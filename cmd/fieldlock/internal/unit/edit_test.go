package unit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCause: which of the lines that a change touches has made a value.
func TestCause(t *testing.T) {
	class, selector := []any{"spec", "storageClassName"}, []any{"spec", "selector"}
	files := func(texts ...string) (list []edit) { // a name, OLD and NEW each
		for i := 0; i < len(texts); i += 3 {
			lines := func(text string) []string { return slices.Collect(strings.Lines(text)) }
			list = append(list, editsOf(texts[i], lines(texts[i+2]), lines(texts[i+1]))...)
		}
		return list
	}
	for _, row := range []struct {
		name, reason string
		list         []edit
		steps        []any
		value        any
		file         string
		line         int
		sure         bool
	}{
		{"the field", "", files("a.yaml", "a: 1\nstorageClassName: x\n", "a: 1\nstorageClassName: shared\n"), class, "shared", "a.yaml", 2, true},
		{"a default in a component", "it has the key and the value", files(
			"ks.yaml", "interval: 1h\n", "interval: 2h\n", "pvc.yaml", "storageClassName: ${CLASS:=block}\n", "storageClassName: ${CLASS:=shared}\n"),
			class, "shared", "pvc.yaml", 1, true},
		{"a variable", "it has the value", files("ks.yaml", "a: 1\n", "a: 2\nCLASS: shared\n"), class, "shared", "ks.yaml", 2, true},
		{"a part of a name", "", files("ks.yaml", "APP: films\n", "APP: movies\nother: 1\n"), []any{"spec", "dataSourceRef", "name"}, "movies-data", "ks.yaml", 1, true},
		{"a chart's values", "the word of the key is like it", files("values.yaml", "a: 1\npersistence:\n  storageClass: block\n", "a: 2\npersistence:\n  storageClass: shared\n"), class, "shared", "values.yaml", 3, true},
		{"a version", "it is the only line", files("Chart.yaml", "name: a\nversion: 1.0.0\n", "name: a\nversion: 2.0.0\n"), selector, map[string]any{"matchLabels": map[string]any{"app": "films"}}, "Chart.yaml", 2, true},
		{"a label for all", "", files("kustomization.yaml", "resources: [a]\n", "resources: [a]\ncommonLabels:\n  env: live\n"), selector, map[string]any{"matchLabels": map[string]any{"app": "films", "env": "live"}}, "kustomization.yaml", 3, true},
		{"a field that goes", "the line that follows", files("a.yaml", "a: 1\nstorageClassName: x\nb: 1\n", "a: 1\nb: 1\n"), class, nil, "a.yaml", 2, true},
		{"two places", "either may be it", files("a.yaml", "x: 1\n", "CLASS: shared\n", "b.yaml", "x: 1\n", "CLASS: shared\n"), class, "shared", "a.yaml", 1, false},
		{"two places, and neither has the value", "", files("a.yaml", "x: 1\n", "x: 2\n", "b.yaml", "y: 1\n", "y: 2\n"), class, "shared", "a.yaml", 1, false},
		{"comments", "they make nothing", files("a.yaml", "# x\n", "# storageClassName: shared\n"), class, "shared", "", 0, true},
	} {
		found, sure := cause(row.list, row.steps, row.value)
		switch {
		case found == nil && row.file == "":
		case found == nil || found.file != row.file || found.line != row.line || sure != row.sure:
			t.Errorf("%s: got %+v, sure: %t; want %s:%d, sure: %t: %s", row.name, found, sure, row.file, row.line, row.sure, row.reason)
		}
	}
}

// TestEdits: without the lines that the change touches, both sides are equal.
func TestEdits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (lines []string) {
		for range random.IntN(12) {
			lines = append(lines, string("abc"[random.IntN(3)])+": 1\n")
		}
		return lines
	}
	for range 2000 {
		here, there := text(), text()
		rest := slices.Clone(here)
		list := editsOf("f", here, there)
		for i := len(list) - 1; i >= 0; i-- {
			if e := list[i]; !e.removed {
				rest = slices.Delete(rest, e.line-1, e.line)
			}
		}
		removed := 0
		for _, e := range list {
			if e.removed {
				removed++
			}
		}
		if len(rest) != len(there)-removed {
			t.Fatalf("%q to %q: %+v", there, here, list)
		}
	}
}
