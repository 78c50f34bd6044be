package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// certificates is a CRD that somebody else owns.
const certificates = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.example.io}
spec:
  group: example.io
  scope: Namespaced
  names: {kind: Certificate, plural: certificates}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              secretName: {type: string}
              issuer: {type: string, x-deckhouse-immutable: true}
`

// externalObjects are objects of three kinds, none of whose changes is refused without external locks.
const externalObjects = `apiVersion: example.io/v1
kind: Certificate
metadata: {name: c}
spec: {secretName: OLD, issuer: OLD}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {serviceAccountName: x, paused: OLD, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: OLD}}, spec: {containers: [{name: a, image: b}]}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i}
spec: {rules: [{host: OLD}]}
---
kind: Values
zone: OLD
`

const externalLocks = `locks:
- {kind: Certificate.example.io, path: spec.secretName, lock: immutable}
- {kind: Deployment.apps, path: spec.paused, update: [NoUnset, NoModify]}
- {kind: Deployment, path: 'spec.template.metadata.labels[*]', lock: immutable}
- {kind: Ingress, path: 'spec.rules[*].host', lock: immutable}
- {kind: Values, path: zone, lock: immutable}
aliases: {x-deckhouse-immutable: [NoUnset, NoModify]}
`

// TestExternalLocks: locks of --locks and of the settings reach CRDs, built-in kinds and OpenAPI documents, in each
// verb.
func TestExternalLocks(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"crd.yaml": certificates, "locks.yaml": externalLocks,
		"doc.yaml": "openapi: 3.0.0\ncomponents: {schemas: {Values: {type: object, properties: {zone: {type: string}}}}}\n",
		"old.yaml": strings.ReplaceAll(strings.ReplaceAll(externalObjects, "paused: OLD", "paused: true"), "OLD", "one"),
		"new.yaml": strings.ReplaceAll(strings.ReplaceAll(externalObjects, "paused: OLD", "paused: false"), "OLD", "two"),
	}))
	check := []string{"check", "--schema", "crd.yaml", "--schema", "doc.yaml#Values", "old.yaml", "new.yaml"}
	if c := runCommand("", check...); c.status != 0 {
		t.Fatalf("without locks the status is %d: %s%s", c.status, c.out, c.err)
	}
	paths := []string{"spec.secretName", "spec.issuer", "spec.paused", "spec.template.metadata.labels[c]", "spec.rules[0].host", "zone"}
	names := func(c command, status int, paths ...string) {
		t.Helper()
		if c.status != status {
			t.Errorf("the status is %d, want %d: %s%s", c.status, status, c.out, c.err)
		}
		for _, path := range paths {
			if !strings.Contains(c.out, path) {
				t.Errorf("%s is not in\n%s%s", path, c.out, c.err)
			}
		}
	}
	names(runCommand("", append(check, "--locks", "locks.yaml")...), exitRefused, paths...)
	names(runCommand("", "locks", "--locks", "locks.yaml", "crd.yaml", "deployment", "ingress"), 0, "secretName", "issuer", "labels", "host")
	names(runCommand("", "lint", "--locks", "locks.yaml", "crd.yaml"), 0, "1 CRD")
	names(runCommand("", "export", "policy", "--locks", "locks.yaml", "crd.yaml"), 0,
		"object.spec.secretName == oldObject.spec.secretName", "object.spec.issuer == oldObject.spec.issuer")
	writeFile(t, ".fieldlock.yaml", externalLocks)
	names(runCommand("", check...), exitRefused, paths...)
	names(runCommand("", "locks", "crd.yaml", "doc.yaml#Values"), 0, "secretName", "issuer", "zone")
}

// TestExternalLockMistakes: each is reported with the file and line of its entry, and the status is 2.
func TestExternalLockMistakes(t *testing.T) {
	dir := writeFiles(t, map[string]string{"crd.yaml": certificates, "o.yaml": strings.ReplaceAll(externalObjects, "paused: OLD", "paused: true")})
	for _, test := range []struct{ locks, want string }{
		{"- {kind: Certificate, path: spec.secretNmae, lock: immutable}", ":2: Certificate: spec.secretNmae: the schema has no spec.secretNmae; the nearest path is spec.secretName"},
		{"- {kind: Deployment, path: spec.pausd, lock: immutable}", ":2: Deployment: spec.pausd: the schema has no spec.pausd; the nearest path is spec.paused"},
		{"- {kind: Certificate, path: metadata.labels, lock: immutable}", ":2: Certificate: metadata.labels: metadata cannot be locked"},
		{"- {kind: Deployment, path: metadata.labels, lock: immutable}", ":2: Deployment: metadata.labels: metadata cannot be locked"},
		{"- {kind: Certificate, path: spec.secretName, lock: immutable}\n- {kind: Certificate, path: spec.secretName, update: [NoSet]}",
			":3: Certificate: spec.secretName: one field has x-kubernetes-immutable and x-fieldlock-update"},
		{"- {kind: Certificate, path: spec.secretName, lock: immutable-keys}", ":2: Certificate: spec.secretName: x-kubernetes-immutable-keys is on a field without keys"},
		{"- {kind: Certificate, path: spec.secretName, lock: imutable}", ":2: document 1: locks[0].lock: there is no lock"},
		{"- {kind: Certificate, path: spec.secretName, lock: NoSet}", "update: [NoSet]"},
		{"- {kind: Certificate, path: spec.secretName, update: [immutable]}", "there is no word"},
		{"- {kind: Certificate, path: spec.secretName}", "the entry needs lock or update"},
		{"- {path: spec.secretName, lock: immutable}", "the entry needs kind and path"},
		{"- {kind: Certificate, pth: spec.secretName, lock: immutable}", "locks[0].pth: the key is not known"},
		{"aliases: {immutable: [immutable]}", "extension keys begin with x-"},
		{"aliases: {x-deckhouse-immutable: []}", "a list of one or more locks"},
		{"accept: []", "the key is not known"},
	} {
		text := test.locks + "\n"
		if strings.HasPrefix(text, "-") {
			text = "locks:\n" + text
		}
		locks := filepath.Join(dir, "locks.yaml")
		writeFile(t, locks, text)
		object := filepath.Join(dir, "o.yaml")
		c := runCommand("", "check", "--schema", filepath.Join(dir, "crd.yaml"), "--locks", locks, object, object)
		if c.status != exitUnread || !strings.Contains(c.err, test.want) {
			t.Errorf("%s: got status %d and\n%s\nwant %s", test.locks, c.status, c.err, test.want)
		}
	}
	writeFile(t, filepath.Join(dir, "locks.yaml"), "locks: [{kind: Foo, path: spec.a, lock: immutable}]\n")
	if c := runCommand("", "check", "--locks", filepath.Join(dir, "locks.yaml"), filepath.Join(dir, "crd.yaml"), filepath.Join(dir, "crd.yaml")); c.status != 0 ||
		!strings.Contains(c.err, "locks.yaml:1: Foo: spec.a: nothing defines the kind") {
		t.Errorf("a kind that nothing defines: got status %d and %s", c.status, c.err)
	}
}

// TestExternalLocksOfBothSides: a change cannot drop an external lock and break it at once.
func TestExternalLocksOfBothSides(t *testing.T) {
	object := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\nspec: {ingressClassName: %}\n"
	repositoryOf(t, map[string]string{
		".fieldlock.yaml": "locks: [{kind: Ingress, path: spec.ingressClassName, lock: immutable}]\n",
		"i.yaml":          strings.Replace(object, "%", "one", 1),
	}, map[string]string{".fieldlock.yaml": "locks: []\n", "i.yaml": strings.Replace(object, "%", "two", 1)})
	if c := runCommand("", "check", "--git", "HEAD"); c.status != exitRefused || !strings.Contains(c.out, "spec.ingressClassName") {
		t.Errorf("got status %d and\n%s%s", c.status, c.out, c.err)
	}
}
