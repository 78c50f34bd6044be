package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
)

// TestLintFixKeepsUpdates: after lint --fix, every single update of a real CRD that was allowed before is still
// allowed, except those that remove a field or a parent to get around a rule.
func TestLintFixKeepsUpdates(t *testing.T) {
	if testing.Short() {
		t.Skip("it downloads modules")
	}
	const rule = "x-kubernetes-validations: [{rule: self == oldSelf}]"
	fields := []string{
		"/properties/spec/properties/weight",
		"/properties/spec/properties/limits",
		"/properties/spec/properties/template/properties/metadata/properties/annotations",
	}
	var marks []mark
	for _, field := range fields {
		marks = append(marks, mark{"v1", field, rule})
	}
	text := fileOfModule(t, "sigs.k8s.io/karpenter@v1.15.0", "pkg/apis/crds/karpenter.sh_nodepools.yaml")
	file := filepath.Join(writeFiles(t, map[string]string{"crd.yaml": lockLines(t, text, marks)}), "crd.yaml")
	before := schemaIn(t, file)
	if ran := runCommand("", "lint", "--fix", file); !strings.Contains(ran.err, "fixed: ") {
		t.Fatalf("--fix: status %d\n%s%s", ran.status, ran.out, ran.err)
	}
	rulesBefore, rulesAfter := celrun.New(before, celrun.Transition), celrun.New(schemaIn(t, file), celrun.Transition)

	allowed, closed := 0, map[string]int{}
	random := randomupdates.New(before, fields, 7)
	for range 3000 {
		newObj, oldObj := random.Next()
		refused, now := violations(t, rulesBefore, newObj, oldObj), violations(t, rulesAfter, newObj, oldObj)
		switch {
		case len(refused) > 0:
			if len(now) == 0 {
				t.Fatalf("the fix allows an update that %q refused\nold %v\nnew %v", refused[0].Rule.Text, oldObj, newObj)
			}
			continue
		case len(now) == 0:
			allowed++
		}
		for _, v := range now {
			if !removes(v.Rule, newObj, oldObj) {
				t.Fatalf("%q refuses an update that removes nothing\nold %v\nnew %v", v.Rule.Text, oldObj, newObj)
			}
			closed[v.Rule.Text]++
		}
	}
	t.Logf("%d updates stay allowed; closed: %v", allowed, closed)
	if allowed < 300 || len(closed) < len(fields) {
		t.Errorf("%d updates stay allowed and %v are closed: too few to show much", allowed, closed)
	}
}

// schemaIn returns the schema of the version v1 of the CRD in file.
func schemaIn(t *testing.T, file string) *spec.Schema {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := crd.Read(file, text)
	if err != nil || len(crds) != 1 {
		t.Fatalf("got %d CRDs and the error %v, want one CRD", len(crds), err)
	}
	v, _ := crds[0].Version("v1")
	return v.Schema
}

func violations(t *testing.T, rules *celrun.Validator, newObj, oldObj map[string]any) []celrun.RuleError {
	t.Helper()
	found, err := rules.ValidateUpdate(newObj, oldObj)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var oldField = regexp.MustCompile(`has\(oldSelf\.([\w.]+)\)`)

// removes reports whether an update removes one of the fields that a companion rule asks the old object for.
func removes(r celrun.Rule, newObj, oldObj map[string]any) bool {
	for _, match := range oldField.FindAllStringSubmatch(r.Text, -1) {
		path := strings.Split(strings.TrimPrefix(r.SchemaPath, "/properties/"), "/properties/")
		if r.SchemaPath == "" {
			path = nil
		}
		path = append(path, strings.Split(match[1], ".")...)
		was, had, _ := unstructured.NestedFieldNoCopy(oldObj, path...)
		is, has, _ := unstructured.NestedFieldNoCopy(newObj, path...)
		if had && was != nil && (!has || is == nil) {
			return true
		}
	}
	return false
}
