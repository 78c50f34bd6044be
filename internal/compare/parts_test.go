package compare

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// TestCommands: the arguments that name an object, its kind and its file for kubectl.
func TestCommands(t *testing.T) {
	object := func(file, group, kind, namespace, name string) *manifest.Object {
		f := manifest.File{Name: file}
		f.Parse([]byte("a: b"))
		return &manifest.Object{ID: manifest.ID{Group: group, Kind: kind, Namespace: namespace, Name: name}, Document: f.Documents[0]}
	}
	for _, c := range []struct {
		o                *manifest.Object
		kind, name, file string
	}{
		{object("x.yaml", "example.com", "Widget", "", "a"), "widget.example.com", "a", "x.yaml"},
		{object("my file.yaml", "", "Pod", "ns", "a"), "pod", "a --namespace ns", "'my file.yaml'"},
		{object(manifest.Stdin, "", "Pod", "n;s", "-a"), "pod", "'-a' --namespace 'n;s'", "-"},
		{object("$(helm template .)", "", "Pod", "", "a"), "pod", "a", "<(helm template .)"},
	} {
		if kindArgument(c.o) != c.kind || kubectlName(c.o) != c.name || manifest.Argument(c.o.Document.File) != c.file {
			t.Errorf("%v: %s %s %s", c, kindArgument(c.o), kubectlName(c.o), manifest.Argument(c.o.Document.File))
		}
	}
}

// TestReplacementCosts: what needs no acknowledgement, and which of two costs counts.
func TestReplacementCosts(t *testing.T) {
	rising := []result.Cost{result.CostNone, result.CostRestart, result.CostDowntime, result.CostUnknown, result.CostData, result.CostCascade}
	for i, a := range rising {
		if r := (&result.Replacement{Cost: a}); harmless(r) != (i <= 2) {
			t.Errorf("%s is harmless: %v", a, harmless(r))
		}
		for j, b := range rising {
			if worse(&result.Replacement{Cost: a}, &result.Replacement{Cost: b}) != (i > j) {
				t.Errorf("%s is worse than %s: %v", a, b, i <= j)
			}
		}
	}
}

// TestEach: everything is done once, whatever the number.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		done := make([]atomic.Int64, n)
		manifest.Each(n, func(i int) { done[i].Add(1) })
		for i := range done {
			if done[i].Load() != 1 {
				t.Errorf("%d of %d is done %d times", i, n, done[i].Load())
			}
		}
	}
}

// TestRepeatedContainers: what a container has lost is printed with each key; after some megabytes the container is
// left out, its keys are not.
func TestRepeatedContainers(t *testing.T) {
	f := manifest.File{Name: "f"}
	f.Parse([]byte("a: b"))
	o := &manifest.Object{ID: manifest.ID{Kind: "Widget", Name: "a"}, Document: f.Documents[0]}
	large := value{Data: strings.Repeat("x", 5<<20), OK: true}
	keyed, plain := result.Violation{Old: large, Key: value{Data: "k", OK: true}}, result.Violation{Old: large}
	p := &printer{}
	var got []bool
	for _, b := range []result.Violation{keyed, plain, keyed, plain, keyed, keyed, keyed, plain} {
		v := b
		p.complete(&v, o)
		if v.Key != b.Key || v.ValuesLeftOut == v.Old.OK {
			t.Errorf("key %s, left out %v", v.Key, v.ValuesLeftOut)
		}
		got = append(got, v.ValuesLeftOut)
	}
	if want := []bool{false, false, false, false, false, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("left out: %v, want %v", got, want)
	}
}

// TestEnumerate: a few names, and how many more there are.
func TestEnumerate(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for n, want := range map[int]string{0: "", 1: "a", 2: "a, b", 5: "a, b, c, d, e", 6: "a, b, c, d, e and 1 more", 7: "a, b, c, d, e and 2 more"} {
		if got := Enumerate(names[:n]); got != want {
			t.Errorf("%d names: %q, want %q", n, got, want)
		}
	}
	if diff := cmp.Diff(2, otherDocuments([]string{"a"}, []string{"a", "b"})); diff != "" {
		t.Errorf("a document that both sides have counts once: %s", diff)
	}
	if got := otherDocuments([]string{"a", "a", "c"}, []string{"a", "b"}); got != 4 {
		t.Errorf("%d documents, want 4", got)
	}
}

// TestDigestsOfNeighbours: each violation's digest is about its own values, also where the one before it has one of
// them in common. Otherwise an acceptance of the second would hold for any old value.
func TestDigestsOfNeighbours(t *testing.T) {
	const container = ": {type: object, x-kubernetes-immutable: true, additionalProperties: {type: integer}}\n"
	crd := widgets("None", "first"+container+"second"+container, "")
	change := func(oldSpec, newSpec string) string {
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", newSpec)}, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", oldSpec)}, Options{})
		if len(r.Violations) != 2 || r.Violations[1].Path != "spec.second" {
			t.Fatalf("%s → %s: %v", oldSpec, newSpec, found(r))
		}
		return r.Violations[1].Change
	}
	const one, other = "{first: {a: 1}, second: {a: 1}}", "{first: {a: 1}, second: {a: 2}}"
	if change(one, "{}") == change(other, "{}") {
		t.Error("two values are removed, and their changes have one digest")
	}
	if change("{}", one) == change("{}", other) {
		t.Error("two values are added, and their changes have one digest")
	}
}

// TestDigestsOfPasswords: the digest of a change is about the passwords that are not shown, wherever they are: an
// acceptance of one change does not accept the next.
func TestDigestsOfPasswords(t *testing.T) {
	const secret = "{type: string, format: password, x-kubernetes-immutable: true}"
	const byRule = "{type: string, format: password, x-kubernetes-validations: [{rule: 'self == oldSelf || oldSelf == \"\"'}]}"
	for name, c := range map[string]struct{ schema, spec string }{
		"property":             {"p: " + secret, "{p: %s}"},
		"map value":            {"m: {type: object, additionalProperties: " + secret + "}", "{m: {a: %s}}"},
		"map value, by a rule": {"m: {type: object, additionalProperties: " + byRule + "}", "{m: {a: %s}}"},
		"name with a dot":      {"m: {type: object, additionalProperties: " + secret + "}", "{m: {a.b/c: %s}}"},
		"item of a map's list": {"m: {type: object, additionalProperties: {type: array, items: " + secret + "}}", "{m: {a: [x, %s]}}"},
		"inside of a map's value": {
			"m: {type: object, additionalProperties: {type: object, x-kubernetes-immutable: true, properties: {p: {type: string, format: password}}}}",
			"{m: {a: {p: %s}}}",
		},
	} {
		crd := widgets("None", c.schema, "")
		change := func(oldText, newText string) string {
			object := func(text string) map[string]string {
				return map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", fmt.Sprintf(c.spec, text))}
			}
			r := check(t, object(newText), object(oldText), Options{})
			if len(r.Violations) != 1 || strings.Contains(r.Violations[0].New.String(), newText) {
				t.Fatalf("%s: %+v", name, r.Violations)
			}
			return r.Violations[0].Change
		}
		if change("one", "two") == change("one", "three") || change("one", "two") == change("four", "two") {
			t.Errorf("%s: two changes have one digest", name)
		}
	}
}

// TestDigestOfRemovedPassword: an item that loses its password is found by its keys, also where OLD has it at another
// index.
func TestDigestOfRemovedPassword(t *testing.T) {
	crd := widgets("None", "l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], "+
		"properties: {k: {type: string}, p: {type: string, format: password, x-kubernetes-immutable: true}}}}", "")
	change := func(text string) string {
		object := func(spec string) map[string]string {
			return map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", spec)}
		}
		r := check(t, object("{l: [{k: b}, {k: c}, {k: a}]}"), object("{l: [{k: a, p: "+text+"}]}"), Options{})
		if len(r.Violations) != 1 || r.Violations[0].Path != "spec.l[2].p" || strings.Contains(r.Violations[0].Old.String(), text) {
			t.Fatalf("%+v", r.Violations)
		}
		return r.Violations[0].Change
	}
	if change("one") == change("two") {
		t.Error("two changes have one digest, so an acceptance of one accepts the other")
	}
}
