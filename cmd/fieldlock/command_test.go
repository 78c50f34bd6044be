package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// command is what one run of the command line left behind.
type command struct {
	status   int
	out, err string
}

// runCommand runs the command line.
func runCommand(stdin string, args ...string) command {
	var out, err bytes.Buffer
	status := run(args, streams{in: strings.NewReader(stdin), out: &out, err: &err})
	return command{status, out.String(), err.String()}
}

// writeFiles writes files, by their path, below a new directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkTexts runs check -o json on a CRD and two sets of objects, all as text, and returns the report as well; an
// empty one when the input was refused.
func checkTexts(t *testing.T, crd, old, new string, flags ...string) (command, compare.Report) {
	t.Helper()
	dir := writeFiles(t, map[string]string{"crd.yaml": crd, "old.yaml": old, "new.yaml": new})
	path := func(name string) string { return filepath.Join(dir, name) }
	c := runCommand("", append([]string{"check", "-o", "json", "--schema", path("crd.yaml"), path("old.yaml"), path("new.yaml")}, flags...)...)
	var report compare.Report
	if c.status == exitUnread {
		return c, report
	}
	decoder := json.NewDecoder(strings.NewReader(c.out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&report); err != nil {
		t.Fatalf("the output is no report: %v\n%s", err, c.out)
	}
	return c, report
}

// widgets is a CRD with two versions; lines are added to the properties of spec in each.
func widgets(conversion string, v1, v2 string) string {
	version := func(name, storage, properties string) string {
		return `
    - name: ` + name + `
      served: true
      storage: ` + storage + `
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                free: {type: string}
` + indent(properties)
	}
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  conversion: {strategy: ` + conversion + `}
  versions:` + version("v1", "true", v1) + version("v2", "false", v2)
}

// cachesHead is what is above the versions of a CRD.
const cachesHead = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: caches.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Cache, plural: caches, singular: cache, listKind: CacheList}
  versions:
`

// caches is a CRD in the layout of controller-gen, with one version. The texts are lines of it: of the version, the
// properties of spec, and more of spec or beside it.
func caches(ofVersion, properties, more string) string {
	return cachesHead + `  - name: v1
    served: true
    storage: true
` + ofVersion + `    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
` + strings.TrimPrefix(properties, "\n") + strings.TrimPrefix(more, "\n")
}

func indent(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		b.WriteString("                " + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// classLocked is a CRD with one lock in both versions.
var classLocked = widgets("None", "class: {type: string, x-kubernetes-immutable: true}", "class: {type: string, x-kubernetes-immutable: true}")

// widget is one object, with spec as flow YAML.
func widget(version, namespace, name, spec string) string {
	metadata := "name: " + name
	if namespace != "" {
		metadata += ", namespace: " + namespace
	}
	return "---\napiVersion: example.com/" + version + "\nkind: Widget\nmetadata: {" + metadata + "}\nspec: " + spec + "\n"
}

// generated is a widget whose name the server generates.
func generated(spec string) string {
	return strings.Replace(widget("v1", "", "x-", spec), "name: x-", "generateName: x-", 1)
}

// TestHelpGroups: those who deploy see their verbs first, and every verb of fieldlock is in a group.
func TestHelpGroups(t *testing.T) {
	help := runCommand("").out
	last := 0
	for _, part := range []string{"Deploy:", "  check ", "  locks ", "Write CRDs:", "  export ", "  lint ", "Write operators with parameters:", "  params ", "Additional Commands:", "  version "} {
		at := strings.Index(help, "\n"+part)
		if at < last {
			t.Errorf("%q is missing or at the wrong place in\n%s", part, help)
		}
		last = at
	}
	for _, command := range newRoot(streams{}).Commands() {
		if command.GroupID == "" && command.Name() != "version" {
			t.Errorf("%s is in no group", command.Name())
		}
	}
}

// TestMistypedVerb: the error names the verb that was meant, in lines without escaped characters.
func TestMistypedVerb(t *testing.T) {
	if c := runCommand("", "chek"); c.status != exitUnread || c.err != "fieldlock: unknown command \"chek\" for \"fieldlock\"\n\nDid you mean this?\n  check\n" {
		t.Errorf("status %d, %q", c.status, c.err)
	}
}
