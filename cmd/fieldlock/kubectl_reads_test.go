package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRepeatedKeys: of a key with two values the last one counts. NEW is warned about it, unless OLD has it too.
func TestRepeatedKeys(t *testing.T) {
	const object = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\n"
	for _, test := range []struct {
		name, old, new string
		status         int
		warning        string // in part, "" for none
	}{
		{"the last value is the old one", "spec: {class: a}\n", "spec:\n  class: b\n  class: a\n", exitClean,
			`w.yaml:6: document 1: the mapping has the key "class" twice, with two values, first in line 5; the last one counts, as for kubectl`},
		{"the last value is another one", "spec: {class: a}\n", "spec: {class: a, class: b}\n", exitRefused, `w.yaml:4: document 1: the mapping has the key "class" twice`},
		{"removed", "spec: {class: b, class: a}\n", "spec: {class: a}\n", exitClean, ""},
		{"removed, and the other value stays", "spec: {class: b, class: a}\n", "spec: {class: b}\n", exitRefused, ""},
		{"on both sides", "spec: {class: b, class: a}\n", "spec: {class: b, class: a}\nmetadata: {name: x, labels: {a: b}}\n", exitClean, `the key "metadata" twice`},
		{"unchanged", "spec: {class: b, class: a}\n", "# moved down\nspec: {class: b, class: a}\n", exitClean, ""},
		{"with another first value", "spec: {class: b, class: a}\n", "spec: {class: c, class: a}\n", exitClean, `the key "class" twice`},
		{"a whole part", "spec: {class: a}\n", "spec: {class: b}\nspec: {class: a}\n", exitClean, `w.yaml:5: document 1: the mapping has the key "spec" twice`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"old/w.yaml": object + test.old, "new/w.yaml": object + test.new, "crd.yaml": classLocked})
			c := runCommand("", "check", "--schema", filepath.Join(dir, "crd.yaml"), filepath.Join(dir, "old"), filepath.Join(dir, "new"))
			if c.status != test.status || !strings.Contains(c.err, test.warning) || (test.warning == "") == strings.Contains(c.err, "twice") {
				t.Errorf("got status %d and\n%s%s\nwant %d and %q", c.status, c.out, c.err, test.status, test.warning)
			}
			if test.name == "on both sides" && strings.Contains(c.err, `the key "class"`) {
				t.Errorf("a warning about what OLD has too:\n%s", c.err)
			}
		})
	}
}

// TestMovedIntoAHiddenDirectory: an object that NEW has only below a directory with a dot counts as deleted, with a
// note; where kubectl apply -R would be refused, the verdict is unknown.
func TestMovedIntoAHiddenDirectory(t *testing.T) {
	a, b := widget("v1", "", "x", "{class: a}"), widget("v1", "", "x", "{class: b}")
	for _, test := range []struct {
		name     string
		new      map[string]string
		says     string
		unlikely string
	}{
		{"as it was", map[string]string{".d/w.yaml": a, "v.yaml": "# moved\n"}, "so it counts as deleted; kubectl apply -R does", "is refused"},
		{"changed", map[string]string{"d/.d/e/w.yaml": b, "v.yaml": "# moved\n"}, "kubectl apply -R does, and the update is refused: spec.class", "counts as deleted"},
		{"there before", map[string]string{".d/w.yaml": b, "w.yaml": a}, "", "starts with a dot"},
		{"another object", map[string]string{".d/w.yaml": widget("v1", "", "y", "{class: a}"), "v.yaml": "# moved\n"}, "", "starts with a dot"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"crd.yaml": classLocked}
			for name, text := range test.new {
				files["new/"+name] = text
			}
			files["old/w.yaml"] = a
			dir := writeFiles(t, files)
			c := runCommand("", "check", "--schema", filepath.Join(dir, "crd.yaml"), filepath.Join(dir, "old"), filepath.Join(dir, "new"))
			if text := c.out + c.err; c.status != exitClean || !strings.Contains(text, test.says) || strings.Contains(text, test.unlikely) {
				t.Errorf("got status %d and\n%s\nwant %q", c.status, text, test.says)
			}
		})
	}
	repositoryOf(t, map[string]string{"crd.yaml": classLocked, "w.yaml": a}, nil)
	writeFile(t, ".d/w.yaml", b)
	writeFile(t, "w.yaml", "# moved\n")
	if c := runCommand("", "check", "--git", "HEAD"); c.status != exitClean || !strings.Contains(c.out, "kubectl apply -R does, and the update is refused: spec.class") {
		t.Errorf("by git: status %d and\n%s%s", c.status, c.out, c.err)
	}
}
