package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// hostile is what nothing that is printed may repeat as it is: escape sequences of seven and of eight bits, carriage
// returns, workflow commands at the beginning of a line and after white space, characters that change the direction of
// text or have no width, and a separator that ends lines.
const hostile = "x\x1b[2J\u009b2J\r\n::error::y\n \t::stop-commands::z\n##[error]##vso[a]w\u202e\u200b\u2028\x7fv"

// TestHostileOutput puts hostile text into everything that the commands print: names of files and objects, kinds,
// versions, map keys, values, keys of lists, rules, messages, and what is not understood.
func TestHostileOutput(t *testing.T) {
	var quoted strings.Builder // in ASCII: YAML takes no control character as it is
	for _, r := range hostile {
		fmt.Fprintf(&quoted, `\u%04x`, r)
	}
	insert := func(text string) string { return strings.ReplaceAll(text, "HOSTILE", quoted.String()) }
	const crd = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "HOSTILE", "annotations": {"fieldlock.dev/replacement-cost": "HOSTILE"}},
		"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "WidHOSTILE", "plural": "widHOSTILE"}, "versions": [
		{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
			"class": {"type": "string", "x-kubernetes-immutable": true},
			"HOSTILE": {"type": "string", "x-kubernetes-immutable": true},
			"labels": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-immutable-keys": true},
			"map": {"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-immutable": true}},
			"whole": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-immutable": true},
			"set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "x-fieldlock-update": ["NoAddItem", "NoRemoveItem"]},
			"ruled": {"type": "string", "maxLength": 200, "x-kubernetes-validations": [{"rule": "self.size() <= oldSelf.size() || self == 'HOSTILE'", "message": "HOSTILE"}]},
			"nodes": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {
				"name": {"type": "string"}, "zone": {"type": "string", "x-kubernetes-immutable": true}}}}
		}}}}}}, {"name": "vHOSTILE", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-HOSTILE": true, "properties": {}}}}]}}`
	object := func(spec string) string {
		return `{"apiVersion": "example.com/v1", "kind": "WidHOSTILE", "metadata": {"name": "HOSTILE", "namespace": "HOSTILE",
			"managedFields": [{"manager": "HOSTILE", "operation": "Apply", "fieldsV1": {"f:spec": {"f:class": {}}}}]}, "spec": ` + spec + `}`
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"crd/" + hostile + ".yaml": crd,
		"old/" + hostile + ".yaml": object(`{"class": "HOSTILE", "HOSTILE": "a", "labels": {"HOSTILE": "a"}, "map": {"HOSTILE": "a"}, "whole": {"HOSTILE": ["HOSTILE"]}, "set": ["HOSTILE"],
			"ruled": "a", "nodes": [{"name": "HOSTILE", "zone": "a"}]}`),
		"new/" + hostile + ".yaml": object(`{"class": "b", "HOSTILE": "HOSTILE", "labels": {"HOSTILE2": "a"}, "map": {"HOSTILE": "HOSTILE"}, "whole": {"HOSTILE": ["2HOSTILE"]}, "set": ["2HOSTILE"],
			"ruled": "HOSTILE2", "nodes": [{"name": "HOSTILE", "zone": "HOSTILE"}]}`),
		"builtin/old/a.yaml":          `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "HOSTILE"}, "spec": {"clusterIP": "10.0.0.1", "type": "ClusterIP", "HOSTILE": 1}}`,
		"builtin/new/a.yaml":          `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "HOSTILE"}, "spec": {"clusterIP": "HOSTILE", "type": "HOSTILE", "HOSTILE": 2}}`,
		"broken/" + hostile + ".yaml": "a: [\n" + `"HOSTILE`,
		"broken/tag.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: !<HOSTILE> {\"HOSTILE\": 1, \"HOSTILE\": 2}\n",
		"broken/annotation.yaml":      strings.Replace(crd, `"fieldlock.dev/replacement-cost": "HOSTILE"`, `"fieldlock.dev/locks": "{\"HOSTILE\": 5}"`, 1),
		"broken/keys.yaml":            strings.Replace(crd, `"x-kubernetes-immutable": true}`, `"x-kubernetes-immutable": "HOSTILE", "x-fieldlock-update": ["HOSTILE"], "x-kubernetes-normalize": "HOSTILE"}`, -1),
		"unknown/old.yaml":            `{"apiVersion": "HOSTILE/v1", "kind": "HOSTILE", "metadata": {"name": "HOSTILE"}}`,
		"unknown/new.yaml":            `{"apiVersion": "HOSTILE/v1", "kind": "HOSTILE", "metadata": {"name": "HOSTILE"}, "a": 1}`,
		"accept.yaml":                 `{"accept": [{"reason": "HOSTILE", "object": "HOSTILE"}, {"reason": "a", "kind": "HOSTILE2"}]}`,
		"badaccept.yaml":              `{"accept": [{"reason": "HOSTILE", "HOSTILE": "HOSTILE"}]}`,
		"params.yaml":                 `{"parameters": [{"name": "HOSTILE", "default": "HOSTILE", "immutable": true, "description": "HOSTILE"}, {"name": "::error::", "default": "##[error]"}]}`,
		"badparams.yaml":              `{"parameters": [{"name": "HOSTILE", "type": "HOSTILE", "HOSTILE": "HOSTILE", "enum": ["HOSTILE"], "default": "a"}], "groups": [{"name": "HOSTILE"}]}`,
		"values.yaml":                 `{"HOSTILE": "2HOSTILE", "HOSTILE3": "HOSTILE"}`,
		"current.yaml":                `{"HOSTILE": "HOSTILE", "::error::": "##[error]"}`,
		"task.yaml":                   `{"name": "HOSTILE", "kind": "HOSTILE", "spec": {"enablingParameter": "HOSTILE"}}`,
		"heat.yaml":                   `{"heat_template_version": "HOSTILE", "parameters": {"HOSTILE": {"type": "HOSTILE", "default": "HOSTILE"}}}`,
		"api/api.go": "// +groupName=example.com\npackage api\n\n// +k8s:immutabl=" + strings.ReplaceAll(hostile, "\n", "") + "\n// +immutable=" + strings.ReplaceAll(hostile, "\n", "") +
			"\ntype Widget struct {\n\t// +k8s:update=NoSuch" + strings.ReplaceAll(hostile, "\n", "") + "\n\tA string `json:\"a\"`\n}\n",
		"go.mod": "module example.com\n\ngo 1.24\n",
	} {
		writeFile(t, filepath.Join(dir, name), insert(text))
	}
	schema := []string{"--schema", "crd"}
	formats := func(formats []string, args ...string) (list [][]string) {
		for _, format := range formats {
			list = append(list, append(args[:len(args):len(args)], "-o", format))
		}
		return list
	}
	checks, lints, both := []string{asText, asJSON, "github", "gitlab", "junit", "sarif", "markdown"}, []string{asText, asJSON, "github", "gitlab", "junit", "sarif"}, []string{asText, asJSON}
	var runs [][]string
	for _, args := range [][][]string{
		formats(checks, append([]string{"check", "old", "new"}, schema...)...),
		formats(checks, append([]string{"check", "old", "new", "--accept", "accept.yaml"}, schema...)...),
		formats(checks, append([]string{"check", "old", "new", "--accept", "badaccept.yaml"}, schema...)...),
		formats(checks, append([]string{"check", "old", "new", "--accept", hostile}, schema...)...),
		formats(checks, append([]string{"check", "old", "new", "--accept", hostile + ".yaml", "--write-accept"}, schema...)...),
		formats(checks, "check", "builtin/old", "builtin/new"),
		formats(checks, "check", "unknown/old.yaml", "unknown/new.yaml", "--strict"),
		formats(checks, "check", "old", "broken"),
		formats(checks, "check", "old", "new", "--schema", "broken/annotation.yaml"),
		formats(checks, "check", "old", "new", "--schema", "broken/keys.yaml"),
		formats(checks, "check", hostile, hostile),
		formats(lints, "lint", "crd"),
		formats(lints, "lint", "crd", "--explain"),
		formats(lints, "lint", "broken"),
		formats(lints, "lint", "--accept", "accept.yaml", "crd"),
		formats(lints, "lint", "--old", "crd", "broken/keys.yaml"),
		formats(lints, "lint", "--fix", "crd"),
		formats(append(both, "markdown"), "locks", "crd"),
		formats(append(both, "markdown"), "locks", "broken"),
		formats(both, "locks", hostile),
		formats(both, "params", "validate", "--definitions", "params.yaml"),
		formats(both, "params", "validate", "--definitions", "badparams.yaml", "--task", "task.yaml"),
		formats(both, "params", "list", "--definitions", "params.yaml"),
		formats(both, "params", "install", "--definitions", "params.yaml", "--values", "values.yaml", "--task", "task.yaml"),
		formats(both, "params", "install", "--definitions", "params.yaml", "--set", "::error::=##[error]"),
		formats(both, "params", "update", "--definitions", "params.yaml", "--current", "current.yaml", "--values", "values.yaml"),
		formats(both, "params", "restart", "--definitions", "params.yaml", "--current", "current.yaml", "--set", "::error::="+hostile),
		formats(both, "params", "install", "--definitions", "params.yaml", "--set", hostile),
		formats(both, "params", "install", "--definitions", "heat.yaml", "--dialect", "heat", "--values", "values.yaml"),
		formats(both, "params", "install", "--definitions", "badparams.yaml", "--dialect", hostile),
		formats(both, "markers", "--crds", "crd", "./api"),
		{{"check", "-o", hostile, "old", "new"}, {hostile}, {"check", "--" + hostile, "x"}, {"check", "--kubernetes-version", hostile, "old", "new"}, {"check", "--git", hostile}},
		{{"export", "cel", "broken/keys.yaml"}, {"export", "annotation", "broken/annotation.yaml"}, {"export", "policy", "broken/keys.yaml"}, {"import", "cel", "broken/annotation.yaml"}, {"export", "cel", hostile}},
	} {
		runs = append(runs, args...)
	}
	t.Chdir(dir)
	for _, args := range runs {
		c := runCommand("", args...)
		if len(c.out)+len(c.err) == 0 {
			t.Errorf("%q: nothing is printed", args)
		}
		format := ""
		if len(args) > 1 && args[len(args)-2] == "-o" {
			format = args[len(args)-1]
		}
		for _, out := range []string{c.out, c.err} {
			if line := harmfulLine(out, format == "github"); line != "" {
				t.Errorf("%q prints the line %q", args, line)
			}
		}
		if format == asJSON && c.out != "" && !slices.Contains(args, "--write-accept") && !json.Valid([]byte(c.out)) {
			t.Errorf("%q: the output is not JSON", args)
		}
	}
	if names, err := os.ReadDir("crd"); err != nil || len(names) != 1 {
		t.Errorf("the CRDs are now %v, %v", names, err)
	}
}

var workflowCommand = regexp.MustCompile(`^::(error|warning|notice) `)

// harmfulLine returns the first line of an output that a terminal or a CI system would act on, but for the commands
// that the output is made of.
func harmfulLine(out string, commands bool) string {
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
		isCommand := strings.HasPrefix(trimmed, "::") && !(commands && workflowCommand.MatchString(line))
		unprintable := strings.ContainsFunc(line, func(r rune) bool { return r != ' ' && !strconv.IsPrint(r) })
		if isCommand || unprintable || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
			return line
		}
	}
	return ""
}
