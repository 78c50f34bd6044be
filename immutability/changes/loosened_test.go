package changes_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/changes"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/locktest"
)

// databases is a CRD with a spec of this schema.
func databases(spec string) *crd.CRD {
	crds, err := crd.Read("databases.yaml", []byte(fmt.Sprintf(databasesText, spec)))
	if err != nil {
		panic(err)
	}
	return crds[0]
}

const databasesText = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Database, plural: databases}
  conversion: {strategy: None}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: %s}}}}
`

func ExampleLoosened() {
	oldCRD := databases(`{type: object, properties: {engine: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`)
	newCRD := databases(`{type: object, properties: {engine: {type: string, x-kubernetes-validations: [{rule: self == oldSelf || self == "auto"}]}}}`)
	list, err := changes.Loosened(newCRD, oldCRD)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range list {
		fmt.Printf("%s %s %s: %s\n", l.Severity, l.Version, l.Rule, l.Message)
		for _, object := range l.Objects {
			spec, _ := json.Marshal(object["spec"])
			fmt.Printf("  %s\n", spec)
		}
		fmt.Printf("  before: %s\n", strings.Join(l.Refused, "; "))
	}
	// Output:
	// error v1 lock-dropped: the update of the CRD drops or weakens the rule "self == oldSelf" on spec.engine, so that updates which it refuses are accepted; clients rely on the values to stay
	//   {"engine":"a"}
	//   {"engine":"auto"}
	//   before: spec.engine: failed rule: self == oldSelf
}

// TestLoosened: updates of a CRD, and the objects that show what may change after each.
func TestLoosened(t *testing.T) {
	const (
		f      = "{type: object, properties: {f: {type: string}}}"
		ruled  = "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}"
		kept   = "{type: object, required: [f], properties: {f: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}"
		locked = "{type: object, properties: {f: {type: string, x-kubernetes-immutable: true}}}"
		whole  = "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}, x-kubernetes-validations: [{rule: '!has(oldSelf.f) || has(self.f)'}]}"
	)
	for _, row := range []struct {
		name, reason, old, new string
		want                   []string // rule and fields
	}{
		{"nothing", "both are alike", ruled, ruled, nil},
		{"a rule is added", "less may change", f, ruled, nil},
		{"a lock is added", "less may change", ruled, locked, nil},
		{"a rule is gone", "every update is accepted", ruled, f, []string{"lock-dropped spec.f"}},
		{"a lock is gone", "the same", locked, f, []string{"lock-dropped spec.f"}},
		{"a lock becomes a weaker rule", "what is unset can be set", locked, ruled, []string{"lock-dropped spec.f"}},
		{"the rule of the parent is gone", "now two updates get around the other rule", whole, ruled, []string{"lock-dropped spec.f"}},
		{"a field becomes optional", "now two updates get around its rule", kept, ruled, []string{"cel-unset-then-set spec.f"}},
		{"the same rule elsewhere", "it refuses the same", ruled,
			"{type: object, properties: {f: {type: string}}, x-kubernetes-validations: [{rule: '!has(self.f) || !has(oldSelf.f) || self.f == oldSelf.f'}]}", nil},
		{"an order", "a text may grow", ruled, strings.Replace(ruled, "self == oldSelf", "self.startsWith(oldSelf)", 1), []string{"lock-dropped spec.f"}},
		{"a field that is gone", "nobody can write it", ruled, "{type: object, properties: {g: {type: string}}}", nil},
		{"a field that is new", "it could not be written, so it could not be kept", f,
			"{type: object, properties: {f: {type: string}, g: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}", nil},
		{"an exception", "one value ends it", ruled, strings.Replace(ruled, "self == oldSelf", "self == oldSelf || oldSelf == \"\"", 1), []string{"lock-dropped spec.f"}},
		{"items", "a list by key", "{type: object, properties: {l: {type: array, maxItems: 9, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string, maxLength: 9}, v: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}}}",
			"{type: object, properties: {l: {type: array, maxItems: 9, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string, maxLength: 9}, v: {type: string, maxLength: 9}}}}}}",
			[]string{"lock-dropped spec.l[*].v"}},
	} {
		list, err := changes.Loosened(databases(row.new), databases(row.old))
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		var got []string
		for _, l := range list {
			got = append(got, l.Rule+" "+strings.Join(l.Fields, ","))
			proves(t, row.name, row.new, row.old, l)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q (%s)", row.name, got, row.want, row.reason)
		}
	}
	other := databases(f)
	other.Kind = "Other"
	if _, err := changes.Loosened(other, databases(f)); err == nil || !strings.Contains(err.Error(), "Other.example.com and the old one Database.example.com") {
		t.Errorf("another kind: %v", err)
	}
}

// proves checks the objects of a loosening with package locktest: the new CRD accepts each update, the old one does not, and
// refuses the direct one.
func proves(t *testing.T, name, newSpec, oldSpec string, l changes.Loosening) {
	t.Helper()
	if len(l.Objects) < 2 || len(l.Refused) == 0 {
		t.Errorf("%s: no objects show %+v", name, l)
		return
	}
	first, last := l.Objects[0], l.Objects[len(l.Objects)-1]
	allowed := func(spec string, oldObj, newObj any) bool {
		r := &recorder{}
		locktest.CRDFrom(t, "crd.yaml", []byte(fmt.Sprintf(databasesText, spec))).Run(r, []locktest.Update{{Old: oldObj, New: newObj}})
		return len(r.messages) == 0
	}
	steps := true // with the old CRD
	for i := 1; i < len(l.Objects); i++ {
		if !allowed(newSpec, l.Objects[i-1], l.Objects[i]) {
			t.Errorf("%s: the new CRD refuses update %d of %v", name, i, l.Objects)
		}
		steps = steps && allowed(oldSpec, l.Objects[i-1], l.Objects[i])
	}
	if steps || allowed(oldSpec, first, last) {
		t.Errorf("%s: the old CRD allows %v", name, l.Objects)
	}
}

// recorder keeps what a test reports.
type recorder struct{ messages []string }

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }
