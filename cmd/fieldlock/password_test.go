package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPasswordsAreNotPrinted: values of format: password are in no output, whatever locks them and wherever they are:
// list-map keys, items of sets, values that only a CEL rule protects, items that cannot be compared, parents.
func TestPasswordsAreNotPrinted(t *testing.T) {
	const password = "{type: string, format: password}"
	for _, test := range []struct {
		name, properties string // of spec
		old, new         string // spec; every secret value contains SECRET
		shows            string // in the text
	}{
		{
			name: "list-map key",
			properties: `nodes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, port], items: {type: object, required: [name],
				properties: {name: ` + password + `, port: {type: integer}, zone: {type: string, x-kubernetes-immutable: true}}}}`,
			old: "{nodes: [{name: SECRET, port: 80, zone: a}]}", new: "{nodes: [{name: SECRET, port: 80, zone: b}]}",
			shows: "spec.nodes[0].zone ((redacted), 80)",
		},
		{
			name: "key of a removed item",
			properties: `nodes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], x-kubernetes-immutable-keys: true, items: {type: object, required: [name],
				properties: {name: {type: string, format: password, x-kubernetes-immutable: true}}}}`,
			old: "{nodes: [{name: SECRET1}, {name: SECRET2}]}", new: "{nodes: [{name: SECRET2}, {name: SECRET3}]}",
		},
		{
			name: "key that occurs twice",
			properties: `nodes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
				properties: {name: ` + password + `, zone: {type: string, x-kubernetes-immutable: true}}}}`,
			old: "{nodes: [{name: SECRET, zone: a}, {name: SECRET, zone: b}]}", new: "{nodes: [{name: SECRET, zone: b}, {name: SECRET, zone: a}]}",
		},
		{
			name: "list that is secret as a whole",
			properties: `nodes: {type: array, format: password, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name],
				properties: {name: {type: string}, zone: {type: string, x-kubernetes-immutable: true}}}}`,
			old: "{nodes: [{name: SECRET, zone: SECRETa}]}", new: "{nodes: [{name: SECRET, zone: SECRETb}]}",
			shows: "spec.nodes[0].zone ((redacted))",
		},
		{
			name:       "removed and added items of a set",
			properties: `tokens: {type: array, x-kubernetes-list-type: set, x-fieldlock-update: [NoAddItem, NoRemoveItem], items: ` + password + `}`,
			old:        "{tokens: [SECRET1, SECRET2]}", new: "{tokens: [SECRET2, SECRET3]}",
		},
		{
			name:       "in a locked parent",
			properties: `login: {type: object, x-kubernetes-immutable: true, properties: {user: {type: string}, token: ` + password + `, others: {type: object, additionalProperties: ` + password + `}}}`,
			old:        "{login: {user: anna, token: SECRET1, others: {a: SECRET1}}}", new: "{login: {user: otto, token: SECRET2, others: {a: SECRET2}}}",
			shows: "anna",
		},
		{
			name:       "under a CEL rule",
			properties: `token: {type: string, format: password, maxLength: 9, x-kubernetes-validations: [{rule: "self.size() <= oldSelf.size()", message: grows}]}`,
			old:        "{token: SECRET}", new: "{token: SECRET22}",
			shows: "grows",
		},
		{
			name: "in the object of a CEL rule",
			properties: `login: {type: object, properties: {user: {type: string, maxLength: 9}, token: ` + password + `, list: {type: array, items: {type: object, properties: {token: ` + password + `}}}},
				x-kubernetes-validations: [{rule: "self.user.size() <= oldSelf.user.size()", message: grows}]}`,
			old: "{login: {user: anna, token: SECRET1, list: [{token: SECRET1}]}}", new: "{login: {user: annas, token: SECRET2, list: [{token: SECRET2}]}}",
			shows: "annas",
		},
		{
			name: "below an object that is secret as a whole",
			properties: `login: {type: object, format: password, properties: {user: {type: string, maxLength: 9,
				x-kubernetes-validations: [{rule: "self.size() <= oldSelf.size()", message: grows}]}}}`,
			old: "{login: {user: SECRET}}", new: "{login: {user: SECRET2}}",
			shows: "grows",
		},
		{
			name:       "a secret that cannot be compared",
			properties: `login: {type: object, format: password, properties: {user: {type: string, x-kubernetes-immutable: true}}}`,
			old:        "{login: {user: SECRET}}", new: "{login: SECRET}",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{
				"crd.yaml": widgets("None", strings.Join(strings.Fields(test.properties), " "), ""),
				"old.yaml": widget("v1", "", "x", test.old),
				"new.yaml": widget("v1", "", "x", test.new),
			})
			for _, format := range []string{asText, asJSON, "github", "sarif", "markdown"} {
				c := runCommand("", "check", "-o", format, "--schema", filepath.Join(dir, "crd.yaml"), filepath.Join(dir, "old.yaml"), filepath.Join(dir, "new.yaml"))
				if c.status != exitRefused || strings.Contains(c.out+c.err, "SECRET") {
					t.Errorf("%s: status %d\n%s%s", format, c.status, c.out, c.err)
				}
				if format == asText && !strings.Contains(c.out, test.shows) {
					t.Errorf("the text lacks %q:\n%s", test.shows, c.out)
				}
			}
		})
	}
}
