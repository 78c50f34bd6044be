package markers_test

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/markers"
)

// generatedCRD is what controller-gen makes of testdata/api/generated, with a rule like its own on class.
const generatedCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: parts.generated.fieldlock.dev
spec:
  group: generated.fieldlock.dev
  names: {kind: Part}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        required: [engine]
        properties:
          class:
            type: string
            x-kubernetes-validations:
            - rule: self == oldSelf
          engine:
            type: string
            x-kubernetes-validations:
            - message: field is immutable
              rule: self == oldSelf
          zone:
            type: string
            x-kubernetes-validations:
            - message: field is immutable
              rule: self == oldSelf
        x-kubernetes-validations:
        - message: field zone is immutable once set
          rule: '!has(oldSelf.zone) || has(self.zone)'
        - rule: '!has(oldSelf.class) || has(self.class)'
`

// TestGeneratedRules: controller-gen's rules for +k8s:immutable mean set-once. A marker that says otherwise is named
// with both places, and so is a mark in the annotation that disagrees with the marker.
func TestGeneratedRules(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go list for each case")
	}
	const once, locked = "            x-fieldlock-update:\n            - NoUnset\n            - NoModify\n", "            x-kubernetes-immutable: true\n"
	const class = "testdata/api/generated/types.go:16: +immutable locks class from creation, but the rules in line 32 of crd.yaml let an update set it once; both apply"
	const engine = "testdata/api/generated/types.go:10: Go does not tell an absent engine from its zero value, but the JSON does, and +k8s:immutable counts " +
		"its zero value as set: add +normalize=zero, or make the field a pointer"
	const zone = "testdata/api/generated/types.go:12: +k8s:immutable locks zone from creation, but the rules in line 30 of crd.yaml let an update set it once; both apply"
	bare := strings.NewReplacer("        - message: field zone is immutable once set\n          rule: '!has(oldSelf.zone) || has(self.zone)'\n", "").Replace(generatedCRD)
	for _, c := range []struct {
		name, crd    string
		meaning      markers.K8sImmutable
		once, frozen int // marks that are written
		notices      []string
		problem      string
	}{
		{name: "by the rules", crd: generatedCRD, once: 1, frozen: 2, notices: []string{class}},
		{name: "without the rule of the parent", crd: bare, frozen: 3, notices: []string{strings.Replace(class, "line 32", "line 30", 1)}},
		{name: "said to be locked", crd: generatedCRD, meaning: markers.K8sImmutableLocked, frozen: 3, notices: []string{zone, class}},
		{name: "said to be set-once", crd: generatedCRD, meaning: markers.K8sImmutableSetOnce, once: 2, frozen: 1, notices: []string{engine, class}},
		{name: "in the annotation", crd: annotated(`{"v1":{"/properties/zone":{"x-fieldlock-update":["NoUnset","NoModify"]},"/properties/engine":{"x-kubernetes-immutable":true}}}`),
			frozen: 1, notices: []string{strings.Replace(class, "line 32", "line 34", 1)}},
		{name: "all in the annotation", crd: annotated(`{"v1":{"/properties/zone":{"x-fieldlock-update":["NoUnset","NoModify"]},"/properties/engine":{"x-kubernetes-immutable":true},"/properties/class":{"x-kubernetes-immutable":true}}}`),
			notices: []string{strings.Replace(class, "line 32", "line 34", 1)}},
		{name: "more in the annotation", crd: annotated(`{"v1":{"/properties/zone":{"x-kubernetes-normalize":"zero","x-fieldlock-update":["NoUnset","NoModify"]}}}`), frozen: 2,
			notices: []string{"crd.yaml: no marker asks for x-kubernetes-normalize at /properties/zone of version v1", strings.Replace(class, "line 32", "line 34", 1)}},
		{name: "otherwise in the annotation", crd: annotated(`{"v1":{"/properties/zone":{"x-kubernetes-immutable":true}}}`),
			problem: "testdata/api/generated/types.go:12: +k8s:immutable: line 5 of crd.yaml already has the lock x-kubernetes-immutable there"},
		{name: "a broken annotation", crd: annotated(`{"v1":`), problem: "crd.yaml:5: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			source, err := markers.Load(t.Context(), ".", []string{"./testdata/api/generated"}, markers.WithK8sImmutable(c.meaning))
			if err != nil {
				t.Fatal(err)
			}
			out, err := source.WriteCRDs([]markers.File{{Name: "crd.yaml", Data: []byte(c.crd)}})
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("%v, want %q", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := string(out[0].Data)
			if gotOnce, gotFrozen := strings.Count(text, once), strings.Count(text, locked); gotOnce != c.once || gotFrozen != c.frozen || out[0].Keys != c.once+c.frozen {
				t.Errorf("%d set-once and %d locked, %d keys written; want %d and %d:\n%s", gotOnce, gotFrozen, out[0].Keys, c.once, c.frozen, text)
			}
			if got := strings.Join(out[0].Notices, "\n"); got != strings.Join(c.notices, "\n") {
				t.Errorf("notices\n%s\nwant\n%s", got, strings.Join(c.notices, "\n"))
			}
		})
	}
}

// annotated is generatedCRD with the annotation fieldlock.dev/locks.
func annotated(value string) string {
	return strings.Replace(generatedCRD, "metadata:\n", "metadata:\n  annotations:\n    fieldlock.dev/locks: '"+value+"'\n", 1)
}
