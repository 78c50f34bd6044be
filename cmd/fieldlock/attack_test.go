package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestAttacks are changes of a locked field that somebody wants to get through check. What kubectl would send to the
// API server is refused, and what is not read is an error: none ends with status 0. --strict is for what only the
// cluster can decide: whether two files with one object go to one cluster, and whether a hook is one.
func TestAttacks(t *testing.T) {
	a, b := widget("v1", "", "x", "{class: a}"), widget("v1", "", "x", "{class: b}")
	trimmed := strings.TrimPrefix(b, "---\n")
	const object = `{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"class": "CLASS"}}`
	jsonOf := func(class string) string { return strings.Replace(object, "CLASS", class, 1) }
	list := func(kind, items string) string {
		return `{"apiVersion": "v1", "kind": "` + kind + `", "items": [` + items + `]}`
	}
	wide := func(text string) string { // UTF-16 with a byte order mark
		out := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(text)) {
			out = append(out, byte(unit), byte(unit>>8))
		}
		return string(out)
	}
	one := func(text string) map[string]string { return map[string]string{"w.yaml": text} }
	for _, test := range []struct {
		name     string
		old, new map[string]string // old is the object with class a where it is nil
	}{
		{name: "merge key", new: one("shared: &s {class: b}\n" + strings.Replace(trimmed, "{class: b}", "{<<: *s}", 1))},
		{name: "merge key of a list", new: one("shared: [&s {class: b}]\n" + strings.Replace(trimmed, "{class: b}", "{<<: [*s, {class: a}]}", 1))},
		{name: "merge key after the key, which wins", new: one(strings.Replace(trimmed, "{class: b}", "{class: a, <<: {class: b}}", 1))},
		{name: "alias", new: one("shared: &s {class: b}\n" + strings.Replace(trimmed, "{class: b}", "*s", 1))},
		{name: "anchor redefined", new: one("one: &s {class: a}\ntwo: &s {class: b}\n" + strings.Replace(trimmed, "{class: b}", "*s", 1))},
		{name: "duplicate key, the new value last", new: one(strings.Replace(trimmed, "{class: b}", "{class: a, class: b}", 1))},
		{name: "duplicate key in JSON", new: one(strings.Replace(jsonOf("b"), `"spec"`, `"spec": {"class": "a"}, "spec"`, 1))},
		{name: "duplicate spec", new: one(strings.TrimSpace(a) + "\nspec: {class: b}\n")},
		{name: "duplicate key in OLD, the last one counts", old: one(strings.Replace(a, "{class: a}", "{class: b, class: a}", 1)), new: one(trimmed)},
		{name: "list of any kind, one item without a kind", new: one(list("Widget", jsonOf("b")+`, {"metadata": {"name": "y"}}`))},
		{name: "list without apiVersion", new: one(`{"kind": "Foo", "items": [` + jsonOf("b") + `]}`)},
		{name: "list whose items have null for a kind", new: one(strings.Replace(list("WidgetList", strings.Replace(jsonOf("b"), `"apiVersion": "example.com/v1", "kind": "Widget"`, `"apiVersion": null, "kind": null`, 1)), `"v1"`, `"example.com/v1"`, 1))},
		{name: "byte order mark before the second document, and a line with %", new: one("\ufeffa: \"\n%\"\n---\n\ufeff" + trimmed)},
		{name: "base64 for names", new: one(" !!map {!!binary YXBpVmVyc2lvbg==: example.com/v1, !!binary a2luZA==: Widget, metadata: {name: x}, spec: {class: b}}\n")},
		{name: "base64 for names in a malformed file", new: one(" !!map {!!binary YXBpVmVyc2lvbg==: example.com/v1, !!binary a2luZA==: Widget, metadata: {name: x}, spec: {class: b}}\n---\na: b: c\n")},
		{name: "namespace that is a boolean", new: one(strings.Replace(b, "{name: x}", "{name: x, namespace: yes}", 1))},
		{name: "namespace that is a number", new: one(strings.Replace(b, "{name: x}", "{namespace: 5, name: x}", 1))},
		{name: "becomes a patch, a copy stays", old: map[string]string{"w.yaml": a, "z.yaml": a}, new: map[string]string{"w.yaml": b, "z.yaml": a, "kustomization.yaml": "patches:\n- path: w.yaml\n"}},
		{name: "becomes a patch elsewhere, copies stay", old: map[string]string{"w.yaml": a, "z.yaml": a},
			new: map[string]string{"p/w.yaml": b, "y.yaml": a, "z.yaml": a, "kustomization.yaml": "patches:\n- path: p/w.yaml\n"}},
		{name: "moves into a hidden directory", new: map[string]string{".d/w.yaml": b, "v.yaml": "# moved\n"}},
		{name: "moves into a file with the name of the settings", new: map[string]string{"below/.fieldlock.yaml": b, "v.yaml": "# moved\n"}},
		{name: "object twice in a file, first as it was", new: one(a + b)},
		{name: "object twice in a file, last as it was", new: one(b + a)},
		{name: "object in a second file", new: map[string]string{"w.yaml": a, "z.yaml": b}},
		{name: "object in a file before", new: map[string]string{"w.yaml": a, "a.yaml": b}},
		{name: "object in a folder", new: map[string]string{"w.yaml": a, "below/w.yaml": b}},
		{name: "file moved", new: map[string]string{"z/moved.yaml": b}},
		{name: "two files, both changed over cross", old: map[string]string{"1.yaml": a, "2.yaml": a}, new: map[string]string{"1.yaml": b, "2.yaml": a}},
		{name: "two files, and one more", old: map[string]string{"1.yaml": a, "2.yaml": a}, new: map[string]string{"1.yaml": a, "2.yaml": a, "3.yaml": b}},
		{name: "two files become one", old: map[string]string{"1.yaml": a, "2.yaml": a}, new: map[string]string{"3.yaml": b}},
		{name: "hidden file", old: map[string]string{".w.yaml": a}, new: map[string]string{".w.yaml": b}},
		{name: "file with another ending", new: map[string]string{"w.yml": b}},
		{name: "JSON file", new: map[string]string{"w.json": jsonOf("b")}},
		{name: "list", new: one(list("List", jsonOf("b")))},
		{name: "list in a list", new: one(list("List", list("List", jsonOf("b"))))},
		{name: "list of the kind", new: one(strings.Replace(list("WidgetList", jsonOf("b")), `"v1"`, `"example.com/v1"`, 1))},
		{name: "list of the kind whose items have no kind", new: one(strings.Replace(list("WidgetList", strings.Replace(jsonOf("b"), `"apiVersion": "example.com/v1", "kind": "Widget", `, "", 1)), `"v1"`, `"example.com/v1"`, 1))},
		{name: "list in another version", new: one(strings.Replace(list("List", jsonOf("b")), `"v1"`, `"v1beta1"`, 1))},
		{name: "generateName beside the name", new: one(strings.Replace(b, "{name: x}", "{name: x, generateName: y-}", 1))},
		{name: "byte order mark", new: one("\ufeff" + trimmed)},
		{name: "byte order mark before the second document", new: one("a: b\n---\n\ufeff" + trimmed)},
		{name: "UTF-16", new: one(wide(trimmed))},
		{name: "carriage returns", new: one(strings.ReplaceAll(b, "\n", "\r\n"))},
		{name: "carriage returns only", new: one(strings.ReplaceAll(b, "\n", "\r"))},
		{name: "separator in a block scalar", new: one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    text\n    ---\n    more\n" + b)},
		{name: "separator with white space", new: one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---   \t\n" + trimmed)},
		{name: "separator with a comment", new: one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n--- # next\n" + trimmed)},
		{name: "separator with content", new: one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n--- " + jsonOf("b") + "\n")},
		{name: "end of a document", new: one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n...\n" + trimmed)},
		{name: "directive", new: one("%YAML 1.1\n---\n" + trimmed)},
		{name: "first document empty", new: one("---\n---\n# nothing\n" + b)},
		{name: "JSON lines", new: one(jsonOf("a") + "\n" + jsonOf("b") + "\n")},
		{name: "JSON without a separator", new: one(jsonOf("a") + jsonOf("b"))},
		{name: "JSON, then YAML", new: one(jsonOf("a") + "\n---\n" + trimmed)},
		{name: "YAML comment before JSON", new: one("# a comment\n" + jsonOf("b"))},
		{name: "key in quotes and escapes", new: one(strings.Replace(trimmed, "{class: b}", `{"cl\u0061ss": b}`, 1))},
		{name: "complex key", new: one(strings.Replace(trimmed, "{class: b}", "{? class : b}", 1))},
		{name: "tagged key", new: one(strings.Replace(trimmed, "{class: b}", "{!!str class: b}", 1))},
		{name: "tag of a text", new: one(strings.Replace(trimmed, "{class: b}", "{class: !!str b}", 1))},
		{name: "tag that is not specific", new: one(strings.Replace(trimmed, "{class: b}", "{class: ! b}", 1))},
		{name: "number as a text", old: one(strings.Replace(a, "{class: a}", "{class: '80'}", 1)), new: one(strings.Replace(trimmed, "{class: b}", "{class: ! 81}", 1))},
		{name: "binary", new: one(strings.Replace(trimmed, "{class: b}", "{class: !!binary Yg==}", 1))},
		{name: "unknown tag", new: one(strings.Replace(trimmed, "{class: b}", "{class: !a b}", 1))},
		{name: "empty text", new: one(strings.Replace(trimmed, "{class: b}", `{class: ""}`, 1))},
		{name: "object for a text", new: one(strings.Replace(trimmed, "{class: b}", "{class: {class: a}}", 1))},
		{name: "list for an object", new: one(strings.Replace(trimmed, "{class: b}", "[{class: a}]", 1))},
		{name: "text for an object", new: one(strings.Replace(trimmed, "{class: b}", "a", 1))},
		{name: "list with a name", new: one(strings.Replace(list("List", jsonOf("b")), `"items"`, `"metadata": {"name": "l"}, "items"`, 1))},
		{name: "null", new: one(strings.Replace(trimmed, "{class: b}", "{class: ~}", 1))},
		{name: "spec in another case", old: one(strings.Replace(a, "spec: {class: a}", "spec: {class: a, free: x}", 1)), new: one(strings.Replace(trimmed, "{class: b}", "{Class: a, free: x}", 1))},
		{name: "line separator in a comment", new: one(strings.Replace(a, "spec: {class: a}", "# \u2028spec: {class: b}", 1))},
		{name: "next line in a comment", new: one(strings.Replace(a, "spec: {class: a}", "# \u0085spec: {class: b}", 1))},
		{name: "group in another case", new: one(strings.Replace(b, "example.com/v1", "example.com/v1", 1) + "\nstatus: {class: a}\n")},
		{name: "huge number", new: one(strings.Replace(trimmed, "{class: b}", "{class: 1e1000}", 1))},
		{name: "long key", new: one(strings.Replace(trimmed, "{class: b}", "{class: b, "+strings.Repeat("k", 5000)+": 1}", 1))},
		{name: "becomes a patch", new: map[string]string{"w.yaml": b, "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches:\n- path: w.yaml\n"}},
		{name: "becomes a template", new: map[string]string{"w.yaml": "# moved\n", "Chart.yaml": "name: c\nversion: 1.0.0\n", "templates/w.yaml": b}},
		{name: "becomes a template that is not YAML", new: map[string]string{"w.yaml": "# moved\n", "Chart.yaml": "name: c\nversion: 1.0.0\n", "templates/w.yaml": b + "{{ if .Values.x }}\n"}},
		{name: "becomes a hook", new: one(strings.Replace(b, "{name: x}", "{name: x, annotations: {helm.sh/hook: pre-install}}", 1))},
		{name: "asks to be replaced", new: one(strings.Replace(b, "{name: x}", "{name: x, annotations: {argocd.argoproj.io/sync-options: 'Force=true,Replace=true'}}", 1))},
		{name: "asks to be replaced, and the CRD says that costs nothing", new: map[string]string{
			"w.yaml":   strings.Replace(b, "{name: x}", "{name: x, annotations: {argocd.argoproj.io/sync-options: 'Force=true,Replace=true'}}", 1),
			"crd.yaml": strings.Replace(classLocked, "{name: widgets.example.com}", "{name: widgets.example.com, annotations: {fieldlock.dev/replacement-cost: none}}", 1),
		}},
		{name: "drops the lock", new: map[string]string{"w.yaml": b, "crd.yaml": strings.ReplaceAll(classLocked, ", x-kubernetes-immutable: true", "")}},
		{name: "drops the CRD", new: map[string]string{"w.yaml": b, "crd.yaml": "# gone\n"}},
		{name: "drops the version", new: map[string]string{"w.yaml": b, "crd.yaml": strings.Replace(classLocked, "name: v1", "name: v3", 1)}},
		{name: "breaks the CRD", new: map[string]string{"w.yaml": b, "crd.yaml": strings.ReplaceAll(classLocked, "immutable: true", "immutable: false")}},
		{name: "another CRD of the kind", new: map[string]string{"w.yaml": b, "crd.yaml": classLocked, "crd2.yaml": strings.ReplaceAll(strings.Replace(classLocked, "widgets.example.com", "gizmos.example.com", 1), ", x-kubernetes-immutable: true", "")}},
		{name: "CRD twice, with and without the lock", new: map[string]string{"w.yaml": b, "crd.yaml": classLocked + "\n---\n" + strings.ReplaceAll(classLocked, ", x-kubernetes-immutable: true", "")}},
		{name: "CRD twice, without and with the lock", new: map[string]string{"w.yaml": b, "crd.yaml": strings.ReplaceAll(classLocked, ", x-kubernetes-immutable: true", "") + "\n---\n" + classLocked}},
		{name: "preserves what it pruned", new: map[string]string{"w.yaml": b, "crd.yaml": strings.ReplaceAll(classLocked, "class: {type: string, x-kubernetes-immutable: true}", "other: {type: string}")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			old := test.old
			if old == nil {
				old = one(a)
			}
			files := map[string]string{"old/crd.yaml": classLocked, "new/crd.yaml": classLocked}
			for name, text := range old {
				files["old/"+name] = text
			}
			for name, text := range test.new {
				files["new/"+name] = text
			}
			dir := writeFiles(t, files)
			if c := runCommand("", "check", "--strict", filepath.Join(dir, "old"), filepath.Join(dir, "new")); c.status == exitClean {
				t.Errorf("the change gets through:\n%s%s", c.out, c.err)
			}
		})
	}
}
