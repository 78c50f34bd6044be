package crd_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

// crdRules are the rules of this package; those of immutability.Lint have their tests there.
var crdRules = map[string]bool{"version-unlocked": true, "version-default": true, "v1beta1-lock": true, "not-structural": true, "other-crd": true, "lock-dropped": true, "status-lock": true}

// lintCase is a case of testdata/lint.yaml.
type lintCase struct {
	Name, Reason string
	CRD, Old     string
	Findings     []lintFinding
}

type lintFinding struct {
	Rule     string
	Severity immutability.Severity
	Version  string
	Line     int
	Path     string
	Fields   []string
}

func TestLint(t *testing.T) {
	data, err := os.ReadFile("testdata/lint.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []lintCase
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var old *crd.CRD
			if c.Old != "" {
				old = read(t, c.Old)
			}
			var got []lintFinding
			for _, f := range crd.Lint(read(t, c.CRD), old) {
				if crdRules[f.Rule] {
					got = append(got, lintFinding{f.Rule, f.Severity, f.Version, f.Position.Line, f.Path, f.Fields})
				}
			}
			if diff := cmp.Diff(c.Findings, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Reason, diff)
			}
		})
	}
}

// The findings of immutability.Lint come with file, CRD, version and line, errors first.
func TestLintPlaces(t *testing.T) {
	c := read(t, document("  versions:\n"+version("v1", spec("o: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}"))+
		version("v2", spec("o: {type: object, x-kubernetes-immutable: false, properties: {a: {type: string, x-kubernetes-immutable: true}}}"))))
	var got []string
	for _, f := range crd.Lint(c, nil) {
		got = append(got, fmt.Sprintf("%s:%d: %s %s %s: %s %s", f.Position.Filename, f.Position.Line, f.CRD, f.Version, f.Path, f.Severity, f.Rule))
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

// TestLintOfRules: Lint does not judge CEL rules. Where the CRD has some or had some, it says so, so that no silence is
// taken for theirs.
func TestLintOfRules(t *testing.T) {
	const rules = "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}"
	plain := read(t, document("  versions:\n"+version("v1", spec("class: {type: string}"))))
	ruled := read(t, document("  versions:\n"+version("v1", spec("class: {type: string}"))+version("v2", spec(rules))))
	for _, row := range []struct {
		name        string
		newCRD, old *crd.CRD
		noted       bool
	}{
		{"no rules", plain, nil, false},
		{"no rules before and after", plain, plain, false},
		{"a rule in one version", ruled, nil, true},
		{"an update adds a rule", ruled, plain, true},
		{"an update drops a rule", plain, ruled, true},
		{"an old CRD that was not read", plain, &crd.CRD{}, false},
	} {
		findings := crd.Lint(row.newCRD, row.old)
		noted := len(findings) > 0 && findings[len(findings)-1].Rule == "not-looked-at"
		if noted != row.noted {
			t.Errorf("%s: the last finding is the note: %v, want %v: %+v", row.name, noted, row.noted, findings)
		}
		if noted {
			note := findings[len(findings)-1]
			if note.Severity != immutability.SeverityNote || note.CRD != "widgets.example.com" || note.Position.Line == 0 || !strings.Contains(note.Message, "immutability/crd/lint") {
				t.Errorf("%s: %+v", row.name, note)
			}
		}
	}
}

func TestLintMessages(t *testing.T) {
	locked := spec("a: {type: string, default: x, x-kubernetes-immutable: true}, b: {type: string, x-kubernetes-immutable: true}, c: {type: string, x-kubernetes-immutable: true}, d: {type: string, x-kubernetes-immutable: true}, e: {type: string, x-kubernetes-immutable: true}, f: {type: string, x-kubernetes-immutable: true}")
	text := document("  versions:\n" + version("v1", locked) + version("v2", strings.ReplaceAll(locked, ", x-kubernetes-immutable: true}", "}")) + version("v3", strings.Replace(locked, "default: x", "default: z", 1)))
	var got []string
	for _, f := range crd.Lint(read(t, text), nil) {
		if crdRules[f.Rule] {
			got = append(got, f.Message)
		}
	}
	want := []string{
		"the served versions have different defaults for locked fields: spec.a (the default of spec.a is \"x\" in v1, \"z\" in v3); an object without the value then changes with the version that it is written through: give every served version the same default",
		"version v2 leaves free what is locked in v1 and v3, so an update through v2 gets around the locks: spec.a, spec.b, spec.c, spec.d, spec.e, and 1 more field; put the same locks in every served version",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLintMarkers: the fix of a lock in Go, where one marker says all of it.
func TestLintMarkers(t *testing.T) {
	const list = "x: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], " +
		"properties: {name: {type: string%s}, zone: {type: string, x-kubernetes-immutable: true}}}}"
	for _, c := range []struct{ name, schema, rule, want string }{
		{"a parent", "x: {type: object, properties: {size: {type: string, x-kubernetes-immutable: true}}}", "optional-parent", "// +k8s:update=NoUnset"},
		{"a field", "x: {type: string, x-fieldlock-update: [NoModify]}", "unset-then-set", "// +k8s:update=NoUnset"},
		{"a map", "x: {type: object, additionalProperties: {type: string, x-kubernetes-immutable: true}}", "renamable-key", "// +immutable=keys"},
		{"a list whose key is locked", fmt.Sprintf(list, ", x-kubernetes-immutable: true"), "renamable-key", "// +immutable=keys"},
		{"a list whose key needs a marker, too", fmt.Sprintf(list, ""), "renamable-key", ""},
	} {
		found := false
		for _, f := range crd.Lint(read(t, document("  versions:\n"+version("v1", spec(c.schema)))), nil) {
			if f.Rule == c.rule && f.Path == "spec.x" {
				found = true
				if f.Fix == nil || f.Fix.Text == "" || f.Fix.SchemaPath != "/properties/spec/properties/x" || f.Fix.Safe || strings.Join(f.Fix.Markers, "; ") != c.want {
					t.Errorf("%s: the fix is %+v, want the marker %q", c.name, f.Fix, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%s: there is no %s", c.name, c.rule)
		}
	}
}
