package crd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// crdRules are the rules of this package; those of immutability.Lint have their tests there.
var crdRules = map[string]bool{"version-unlocked": true, "version-default": true, "v1beta1-lock": true, "not-structural": true, "other-crd": true, "lock-dropped": true}

// findings lists the findings of this package's rules: severity, rule, version, line, path, fields.
func findings(list []crd.Finding) []string {
	var lines []string
	for _, f := range list {
		if crdRules[f.Rule] {
			lines = append(lines, fmt.Sprintf("%s %s %s:%d %s %s", f.Severity, f.Rule, f.Version, f.Line, f.Path, f.Fields))
		}
	}
	return lines
}

func TestLint(t *testing.T) {
	const (
		locked = "class: {type: string, x-kubernetes-immutable: true}"
		free   = "class: {type: string}"
		ruled  = `class: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf"}]}`
		both   = "class: {type: string, x-kubernetes-immutable: true}, size: {type: integer, x-kubernetes-immutable: true}"
	)
	versions := func(schemas ...string) string {
		text := "  versions:\n"
		for i, schema := range schemas {
			text += version(fmt.Sprint("v", i+1), schema)
		}
		return document(text)
	}
	webhook := func(text string) string {
		return strings.Replace(text, "  group:", "  conversion: {strategy: Webhook}\n  group:", 1)
	}
	for _, c := range []struct {
		name, reason, text string
		want               []string
	}{
		{"equal versions", "nothing to say", versions(spec(locked), spec(locked)), nil},
		{"lock missing in one", "an update through v2 gets around it", versions(spec(locked), spec(free)), []string{"warning version-unlocked v2:9 spec.class [spec.class]"}},
		{"several missing", "one warning, at what they have in common", versions(spec(both), spec("class: {type: string}, size: {type: integer}")),
			[]string{"warning version-unlocked v2:9 spec [spec.class spec.size]"}},
		{"each lacks one", "one warning per version", versions(spec(both), spec(locked+", size: {type: integer}"), spec("class: {type: string}, size: {type: integer, x-kubernetes-immutable: true}")),
			[]string{"warning version-unlocked v2:9 spec.size [spec.size]", "warning version-unlocked v3:10 spec.class [spec.class]"}},
		{"not served", "no update goes through it", strings.Replace(versions(spec(locked), spec(free)), "name: v2, served: true", "name: v2, served: false", 1), nil},
		{"lock only in one that is not served", "it has no effect in either", strings.Replace(versions(spec(locked), spec(free)), "name: v1, served: true", "name: v1, served: false", 1), nil},
		{"parent locked", "the same by a larger lock", versions(spec(locked), strings.Replace(spec(free), "{spec: {type: object,", "{spec: {type: object, x-kubernetes-immutable: true,", 1)),
			[]string{"warning version-unlocked v1:8 spec [spec]"}},
		{"weaker lock", "what the words leave is free", versions(spec(locked), spec("class: {type: string, x-fieldlock-update: [NoModify]}")),
			[]string{"warning version-unlocked v2:9 spec.class [spec.class]"}},
		{"words that say the same", "no hole", versions(spec(locked), spec("class: {type: string, x-fieldlock-update: [NoSet, NoUnset, NoModify]}")), nil},
		{"key locks", "keys cover additions", versions(spec("m: {type: object, x-kubernetes-addition-only: true, additionalProperties: {type: string}}"),
			spec("m: {type: object, x-kubernetes-immutable-keys: true, additionalProperties: {type: string}}")), []string{"warning version-unlocked v1:8 spec.m [spec.m]"}},
		{"field missing", "without conversion an update through v2 loses it", versions(spec(locked), spec("other: {type: string}")), []string{"warning version-unlocked v2:9 spec.class [spec.class]"}},
		{"field missing, with conversion", "the webhook may keep it under another name", webhook(versions(spec(locked), spec("other: {type: string}"))), nil},
		{"field preserved, with conversion", "v2 passes it through unseen", webhook(versions(spec(locked), "{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}")),
			[]string{"warning version-unlocked v2:10 spec.class [spec.class]"}},
		{"default in one", "absent means another value through v2", versions(spec("class: {type: string, default: a, x-kubernetes-immutable: true}"), spec(locked)),
			[]string{"warning version-default v1:8 spec.class [spec.class]"}},
		{"other default", "the same", versions(spec("class: {type: string, default: a, x-kubernetes-immutable: true}"), spec("class: {type: string, default: b, x-kubernetes-immutable: true}")),
			[]string{"warning version-default v1:8 spec.class [spec.class]"}},
		{"default below a lock", "it changes the locked value", versions(spec("o: {type: object, x-kubernetes-immutable: true, properties: {a: {type: string}}}"),
			spec("o: {type: object, x-kubernetes-immutable: true, properties: {a: {type: string, default: b}}}")), []string{"warning version-default v1:8 spec.o.a [spec.o.a]"}},
		{"default of a free field", "nobody compares it", versions(spec(free), spec("class: {type: string, default: a}")), nil},
		{"rule in both", "white space tells no rules apart", versions(spec(ruled), spec(strings.Replace(ruled, "self == oldSelf", "self  ==\noldSelf", 1))), nil},
		{"rule without oldSelf", "not about updates", versions(spec(strings.Replace(ruled, "oldSelf", "self", 1)), spec(free)), nil},
		{"lock instead of a rule", "it says more", versions(spec(ruled), spec(locked)), []string{"warning version-unlocked v1:8 spec.class [spec.class]"}},
		{"rule at a field that v2 lacks", "there is no place for it", versions(spec(ruled), spec("other: {type: string}")), nil},
		{"not structural", "an API server refuses it", versions("{type: object, properties: {a: {patternProperties: {x: {}}}}}"), []string{"warning not-structural v1:8 a [a]"}},
		{"v1beta1 with locks", "the proposal allows none that are new", beta("  version: v1\n  validation: {openAPIV3Schema: " + spec(both) + "}\n"),
			[]string{"error v1beta1-lock v1:8 spec [spec.class spec.size]"}},
		{"v1beta1 without locks", "nothing to say", beta("  version: v1\n  validation: {openAPIV3Schema: {patternProperties: {a: {}}}}\n"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, findings(crd.Lint(read(t, c.text)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestLintUpdate(t *testing.T) {
	const (
		class = "class: {type: string, x-kubernetes-immutable: true}"
		size  = "size: {type: integer, x-kubernetes-immutable: true}"
		none  = "class: {type: string}"
	)
	old := func(properties string) string {
		return beta("  version: v1\n  validation: {openAPIV3Schema: " + spec(properties) + "}\n")
	}
	v1 := func(properties string) string { return document("  versions:\n" + version("v1", spec(properties))) }
	for _, c := range []struct {
		name, reason, new, old string
		want                   []string
	}{
		{"v1beta1 keeps a lock", "ratcheting", old(class), old(class), nil},
		{"v1beta1 gains its first lock", "only v1 may", old(class), old(none), []string{"error v1beta1-lock v1:8 spec.class [spec.class]"}},
		{"v1beta1 gains another lock", "it may keep what it had, no more", old(class + ", " + size), old(class), []string{"error v1beta1-lock v1:8 spec.size [spec.size]"}},
		{"v1beta1 strengthens a lock", "that is a new lock", old(class), old("class: {type: string, x-fieldlock-update: [NoUnset]}"), []string{"error v1beta1-lock v1:8 spec.class [spec.class]"}},
		{"v1beta1 copies its locks to a new version", "the CRD had them", beta("  validation: {openAPIV3Schema: " + spec(class) + "}\n  versions:\n  - {name: v1}\n  - {name: v2}\n"), old(class), nil},
		{"v1 goes back to v1beta1", "the CRD had them", old(class), v1(class), nil},
		{"v1 gains locks", "it may", v1(class), v1(none), nil},
		{"v1beta1 becomes v1 with locks", "it may", v1(class), old(none), nil},
		{"lock dropped", "clients may rely on it", v1(none), v1(class), []string{"warning lock-dropped v1:8 spec.class [spec.class]"}},
		{"locks dropped", "one warning", v1(none), v1(class + ", " + size), []string{"warning lock-dropped v1:8 spec [spec.class spec.size]"}},
		{"lock weakened", "so is a part of it", v1("class: {type: string, x-fieldlock-update: [NoUnset]}"), v1(class), []string{"warning lock-dropped v1:8 spec.class [spec.class]"}},
		{"lock moved to the parent", "the field stays locked", strings.Replace(v1(none), "{spec: {type: object,", "{spec: {type: object, x-kubernetes-immutable: true,", 1), v1(class), nil},
		{"version removed", "its locks went with it", v1(none), strings.Replace(v1(class), "name: v1,", "name: v0,", 1), nil},
		{"another CRD", "an update keeps group and kind", v1(class), strings.Replace(v1(class), "kind: Widget", "kind: Gadget", 1), []string{"error other-crd :1  []"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, findings(crd.LintUpdate(read(t, c.new), read(t, c.old)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// The findings of immutability.Lint come with file, CRD, version and line, errors first.
func TestLintPlaces(t *testing.T) {
	c := read(t, document("  versions:\n"+version("v1", spec("o: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}"))+
		version("v2", spec("o: {type: object, x-kubernetes-immutable: false, properties: {a: {type: string, x-kubernetes-immutable: true}}}"))))
	var got []string
	for _, f := range crd.Lint(c) {
		got = append(got, fmt.Sprintf("%s:%d: %s %s %s: %s %s", f.File, f.Line, f.CRD, f.Version, f.Path, f.Severity, f.Rule))
	}
	want := []string{
		"crds.yaml:9: widgets.example.com v2 spec.o: error lock-value",
		"crds.yaml:8: widgets.example.com v1 spec.o: warning optional-parent",
		"crds.yaml:9: widgets.example.com v2 spec.o: warning optional-parent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLintMessages(t *testing.T) {
	locked := spec("a: {type: string, default: x, x-kubernetes-immutable: true}, b: {type: string, x-kubernetes-immutable: true}, c: {type: string, x-kubernetes-immutable: true}, d: {type: string, x-kubernetes-immutable: true}, e: {type: string, x-kubernetes-immutable: true}, f: {type: string, x-kubernetes-immutable: true}")
	text := document("  versions:\n" + version("v1", locked) + version("v2", strings.ReplaceAll(locked, ", x-kubernetes-immutable: true}", "}")) + version("v3", strings.Replace(locked, "default: x", "default: z", 1)))
	var got []string
	for _, f := range crd.Lint(read(t, text)) {
		if crdRules[f.Rule] {
			got = append(got, f.Message)
		}
	}
	want := []string{
		"the served versions have different defaults for locked fields: spec.a (the default of spec.a is \"x\" in v1, \"z\" in v3); an object without the value then changes with the version that it is written through: give every served version the same default",
		"version v2 leaves free what is locked in v1 and v3, so an update through v2 gets around the locks: spec.a, spec.b, spec.c, spec.d, spec.e and 1 more; put the same locks in every served version",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
