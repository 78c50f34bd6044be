package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriteAccept: what --write-accept has written accepts the change that it was written for, and not the next one.
func TestWriteAccept(t *testing.T) {
	spec := func(spec string) string { return widget("v1", "", "x", spec) }
	crd := func(property string) string { return widgets("None", property, "") }
	for _, test := range []struct {
		name, reason   string
		crd            string
		old, new, next string // next is what a later change makes of new
	}{
		{
			name: "lock", crd: classLocked, old: spec("{class: a}"), new: spec("{class: b}"), next: spec("{class: c}"),
			reason: "the digest is of the old and the new value",
		},
		{
			name: "password", crd: crd("token: {type: string, format: password, x-kubernetes-immutable: true}"),
			old: spec("{token: a}"), new: spec("{token: b}"), next: spec("{token: c}"),
			reason: "the digest is of the values that are not shown",
		},
		{
			name: "password in a locked parent", crd: crd("login: {type: object, x-kubernetes-immutable: true, properties: {token: {type: string, format: password}}}"),
			old: spec("{login: {token: a}}"), new: spec("{login: {token: b}}"), next: spec("{login: {token: c}}"),
			reason: "the parent is shown without it",
		},
		{
			name: "item of a secret set", crd: crd("tokens: {type: array, x-kubernetes-list-type: set, x-kubernetes-addition-only: true, items: {type: string, format: password}}"),
			old: spec("{tokens: [a, b, c]}"), new: spec("{tokens: [b, c]}"), next: spec("{tokens: [c]}"),
			reason: "every removed item is shown alike",
		},
		{
			name: "Secret", crd: classLocked, reason: "no value of a Secret is shown",
			old:  "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nimmutable: true\nstringData: {a: x}\n",
			new:  "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nimmutable: true\nstringData: {a: y}\n",
			next: "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nimmutable: true\nstringData: {a: z}\n",
		},
		{
			name: "CEL rule", crd: crd("class: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: self.size() <= oldSelf.size()}]}"),
			old: spec("{class: a}"), new: spec("{class: ab}"), next: spec("{class: abc}"),
			reason: "a rule that equals no lock",
		},
		{
			name:   "CEL rule of the whole object",
			crd:    strings.Replace(crd(""), "          type: object\n", "          type: object\n          x-kubernetes-validations: [{rule: self.spec.free.size() <= oldSelf.spec.free.size()}]\n", 1),
			old:    spec("{free: a}"),
			new:    spec("{free: ab}"),
			next:   spec("{free: abc}"),
			reason: "the rule is on the root, so the violation shows no value",
		},
		{
			name: "CEL rule that points elsewhere",
			crd: strings.Replace(crd("class: {type: string}"), "            spec:\n              type: object\n",
				"            spec:\n              type: object\n              x-kubernetes-validations: [{rule: self.free.size() <= oldSelf.free.size(), fieldPath: .class}]\n", 1),
			old:    spec("{free: a, class: x}"),
			new:    spec("{free: ab, class: x}"),
			next:   spec("{free: abc, class: x}"),
			reason: "the value at the fieldPath does not change",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"crd.yaml": test.crd, "old.yaml": test.old, "new.yaml": test.new, "next.yaml": test.next})
			check := func(oldFile, newFile string, flags ...string) command {
				return runCommand("", append([]string{"check", "--accept", filepath.Join(dir, "accept.yaml"), "--schema", filepath.Join(dir, "crd.yaml"),
					filepath.Join(dir, oldFile), filepath.Join(dir, newFile)}, flags...)...)
			}
			if c := check("old.yaml", "new.yaml", "--write-accept"); c.status != exitClean {
				t.Fatalf("--write-accept: status %d\n%s%s", c.status, c.out, c.err)
			}
			if c := check("old.yaml", "new.yaml"); c.status != exitClean {
				t.Errorf("the accepted change: status %d\n%s%s", c.status, c.out, c.err)
			}
			if c := check("new.yaml", "next.yaml"); c.status != exitRefused {
				list, _ := os.ReadFile(filepath.Join(dir, "accept.yaml"))
				t.Errorf("%s: the next change: status %d\n%s%s%s", test.reason, c.status, c.out, c.err, list)
			}
		})
	}
}

// TestAcceptNotCovered: --write-accept also accepts what is not covered, for this change only.
func TestAcceptNotCovered(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a repository")
	}
	release := func(version string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: films, namespace: shop}\nspec:\n  interval: 1h\n" +
			"  chart: {spec: {chart: films, version: " + version + ", sourceRef: {kind: HelmRepository, name: films}}}\n"
	}
	repositoryOf(t, map[string]string{"films.yaml": release("1.0.0"), "notes.yaml": "a: &b 1\n"}, nil)
	check := func(status int, want string, args ...string) {
		t.Helper()
		got := runCommand("", append([]string{"check", "--git", "HEAD", "--strict"}, args...)...)
		if got.status != status || !strings.Contains(got.out+got.err, want) {
			t.Errorf("status %d, want %d and %q\n%s%s", got.status, status, want, got.out, got.err)
		}
	}
	writeFile(t, "films.yaml", release("2.0.0"))
	check(exitRefused, "? not checked: 1 HelmRelease (shop/films)")
	check(exitClean, "", "--write-accept")
	check(exitClean, "accepted: 1 not checked")
	check(exitClean, "accepted by an entry that this change adds", "-o", "github")
	writeFile(t, "films.yaml", release("3.0.0"))
	check(exitRefused, "? not checked: 1 HelmRelease (shop/films)")
	check(exitRefused, "accepted another change; review the new one")
	writeFile(t, ".fieldlock.yaml", "accept: [{path: shop/films, reason: without a change}]\n")
	check(exitRefused, "? not checked: 1 HelmRelease (shop/films)")
	check(exitRefused, "the entry matches nothing")
}
