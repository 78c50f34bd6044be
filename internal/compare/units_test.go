package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// TestDoubt: a violation is unknown only if the files of one side do not tell the value, or what of it differs.
func TestDoubt(t *testing.T) {
	const locked = "class: {type: string, x-kubernetes-immutable: true}\nm: {type: object, x-kubernetes-immutable: true, additionalProperties: {type: string}}"
	crd := widgets("None", locked, locked)
	for _, row := range []struct {
		name, old, new string   // specs
		news, olds     []string // what the files of a side do not tell
		want           []string
	}{
		{"everything is told", "{class: a}", "{class: b}", nil, nil, []string{"a/x spec.class immutable"}},
		{"the new value is not told", "{class: a}", "{class: b}", []string{"/spec/class"}, nil, []string{"unknown a/x spec.class"}},
		{"the old value is not told", "{class: a}", "{class: b}", nil, []string{"/spec/class"}, []string{"unknown a/x spec.class"}},
		{"another value is not told", "{class: a}", "{class: b}", []string{"/spec/free"}, nil, []string{"a/x spec.class immutable"}},
		{"the one that differs below is not told", "{m: {a: x, b: y}}", "{m: {a: z, b: y}}", []string{"/spec/m/a"}, nil, []string{"unknown a/x spec.m"}},
		{"another one below is not told", "{m: {a: x, b: y}}", "{m: {a: z, b: y}}", []string{"/spec/m/b"}, nil, []string{"a/x spec.m immutable"}},
		{"one of two that differ is not told", "{m: {a: x, b: y}}", "{m: {a: z, b: z}}", []string{"/spec/m/b"}, nil, []string{"a/x spec.m immutable"}},
		{"two places, one of which matters", "{class: a, m: {a: x}}", "{class: b, m: {a: z}}", []string{"/spec/class"}, nil, []string{"a/x spec.m immutable", "unknown a/x spec.class"}},
	} {
		side := func(spec string, unknown []string) Input {
			in := Input{New: files(map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", spec)})}
			in.New[1].Documents[0].Unknown = unknown
			return in
		}
		r, err := Check(Input{New: side(row.new, row.news).New, Old: side(row.old, row.olds).New}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := found(r); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
		if refused := row.want[0][0] != 'u'; refused != (len(r.Replacements) == 1) {
			t.Errorf("%s: %d replacements", row.name, len(r.Replacements))
		}
	}
}

// TestLocksOnAUnitsCRD: an entry of the settings is about a CRD of a unit that nobody has changed, and of which there
// is no object: it is not said that nothing defines the kind, and a mistake in it is told.
func TestLocksOnAUnitsCRD(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"spec.free": "", "spec.fre": "spec.fre"} {
		locks, err := external.ParseOnly("locks.yaml", []byte("locks: [{kind: Widget, path: "+path+", lock: immutable}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		side := func() []manifest.File {
			list := files(map[string]string{"crd.yaml": classLocked, "other.yaml": plain("v1", "ConfigMap", "", "data: {}")})
			list[0].Unit = "kustomization a"
			return list
		}
		r, err := Check(Input{New: side(), Old: side(), Locks: locks}, Options{Builtin: kinds})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Warnings) > 0 || want == "" && len(r.Errors) > 0 || want != "" && (len(r.Errors) != 1 || !strings.Contains(r.Errors[0].Message, want)) {
			t.Errorf("%s: errors %+v, warnings %q", path, r.Errors, r.Warnings)
		}
	}
}

// TestFinish: a violation that the report leaves out refuses the update, whatever is accepted. Everything that changed
// and was not checked makes a report incomplete, which fails a strict run and does not change what is allowed.
func TestFinish(t *testing.T) {
	for _, row := range []struct {
		name              string
		r                 Report
		allowed, complete bool
	}{
		{"nothing", Report{}, true, true},
		{"one that was accepted", Report{Violations: []result.Violation{{Accepted: true}}}, true, true},
		{"one that was not", Report{Violations: []result.Violation{{Accepted: true}, {}}}, false, true},
		{"one more", Report{Violations: []result.Violation{{Accepted: true}}, MoreViolations: 1}, false, true},
		{"unknown", Report{Unknown: []result.Remark{{}}}, true, false},
		{"unreadable", Report{Errors: []Error{{}}}, true, false},
		{"not covered", Report{NotCovered: []result.NotCovered{{Changed: true}}}, true, false},
		{"not covered, and accepted", Report{NotCovered: []result.NotCovered{{Changed: true, Accepted: true}}}, true, true},
		{"not covered on both sides alike", Report{NotCovered: []result.NotCovered{{}}}, true, true},
		{"excluded", Report{Excluded: []string{"a"}}, true, true},
		{"a changed object without a schema", Report{SkippedKinds: []result.KindCount{{Objects: 2, Changed: 1}}}, true, false},
		{"an object without a schema that did not change", Report{SkippedKinds: []result.KindCount{{Objects: 2}}}, true, true},
		{"a kind whose rules are not known", Report{UncheckedKinds: []result.KindCount{{Objects: 1, Changed: 1}}}, true, false},
	} {
		for _, strict := range []bool{false, true} {
			r := row.r
			if r.finish(strict); r.Allowed != row.allowed || r.Complete != row.complete || r.Failed() != (!r.Allowed || strict && !r.Complete) {
				t.Errorf("%s: allowed %t, complete %t, with strict %t failed %t", row.name, r.Allowed, r.Complete, strict, r.Failed())
			}
		}
	}
}

// TestUnlockedCRDs: only a CRD that the change touches is said to have no locks, and only if objects of it change.
func TestUnlockedCRDs(t *testing.T) {
	const properties = "class: {type: string}"
	crd := widgets("None", properties, properties)
	changed := strings.ReplaceAll(crd, properties, "class: {type: string, description: a class}")
	a, b := widget("v1", "ns", "w", "{class: a}"), widget("v1", "ns", "w", "{class: b}")
	for _, row := range []struct {
		name           string
		newCRD, oldCRD string
		object         string
		warned         bool
	}{
		{"the CRD changes", changed, crd, b, true},
		{"the CRD is new", crd, "", b, true},
		{"the CRD stays", crd, crd, b, false},
		{"no object changes", changed, crd, a, false},
	} {
		r := check(t, map[string]string{"crd": row.newCRD, "w": row.object}, map[string]string{"crd": row.oldCRD, "w": a}, Options{})
		if warned := strings.Contains(strings.Join(r.Warnings, "\n"), "version v1 of widgets.example.com has no locks"); warned != row.warned {
			t.Errorf("%s: warnings %q", row.name, r.Warnings)
		}
	}
}
