package locktest_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/locktest"
	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
)

// recorder keeps what a test reports.
type recorder struct{ messages []string }

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// TestFailures: each mistake of a row is reported in words that name it.
func TestFailures(t *testing.T) {
	databases := locktest.CRD(t, "testdata/databases.yaml")
	for _, row := range []struct {
		name, reason string
		update       locktest.Update
		want         string // part of the message, "" for none
	}{
		{"refused as wanted", "nothing to report", locktest.Update{Old: `spec: {engine: mysql}`, New: `spec: {engine: postgres}`, Refused: []string{"spec.engine"}}, ""},
		{"Go values", "as an operator author has them", locktest.Update{
			Old: map[string]any{"spec": map[string]any{"engine": "mysql"}}, New: map[string]any{"spec": map[string]any{"engine": "mysql", "replicas": 2}}}, ""},
		{"null in a patch", "it removes the field, and the default comes back", locktest.Update{Old: `spec: {engine: mysql, replicas: 2}`, Patch: `spec: {replicas: null}`}, ""},
		{"allowed though refusal was wanted", "a lock is missing", locktest.Update{Old: `spec: {engine: mysql}`, Patch: `spec: {replicas: 2}`, Refused: []string{"spec.replicas"}}, "want the update refused at spec.replicas, got it allowed"},
		{"refused at another path", "both are named", locktest.Update{Old: `spec: {engine: mysql}`, Patch: `spec: {engine: postgres}`, Refused: []string{"spec"}}, "want the update refused at spec, got it refused at spec.engine\n    spec.engine: field is immutable"},
		{"old object without a required field", "an API server would not have it", locktest.Update{Old: `spec: {}`, Patch: `spec: {replicas: 2}`}, "the old object: spec.engine: Required value"},
		{"new object with a wrong value", "an API server refuses it whatever the locks say", locktest.Update{Old: `spec: {engine: mysql}`, Patch: `spec: {replicas: 0}`}, "the new object: spec.replicas"},
		{"no new object", "the row is incomplete", locktest.Update{Old: `spec: {engine: mysql}`}, "neither New nor Patch"},
		{"two new objects", "which one is meant?", locktest.Update{Old: `spec: {engine: mysql}`, New: `spec: {engine: mysql}`, Patch: `spec: {}`}, "both New and Patch"},
		{"malformed YAML", "it says where", locktest.Update{Old: `spec: {engine`, Patch: `{}`}, "Old: "},
		{"a list", "objects only", locktest.Update{Old: `[1]`, Patch: `{}`}, "Old: it is not an object"},
		{"another kind", "the CRD does not define it", locktest.Update{Old: `{kind: Pod, spec: {engine: mysql}}`, Patch: `{}`}, "Pod"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &recorder{}
			databases.Run(r, []locktest.Update{row.update})
			got := strings.Join(r.messages, "\n")
			if row.want == "" && got != "" || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q (%s)", got, row.want, row.reason)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	r := &recorder{}
	if k := locktest.CRD(r, "testdata/nowhere.yaml"); k != nil || len(r.messages) != 1 {
		t.Errorf("%v, %q", k, r.messages)
	}
	r = &recorder{}
	locktest.CRDFrom(r, "none.yaml", []byte("a: b"))
	if len(r.messages) != 1 || !strings.Contains(r.messages[0], "none.yaml has 0 CRDs") {
		t.Errorf("%q", r.messages)
	}
}

// TestSchema tests a schema that is not from a CRD.
func TestSchema(t *testing.T) {
	s := new(spec.Schema)
	if err := json.Unmarshal([]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-immutable": true}}}}}`), s); err != nil {
		t.Fatal(err)
	}
	k := locktest.Schema(t, s)
	k.Run(t, []locktest.Update{{Name: "a", Old: `spec: {a: x}`, Patch: `spec: {a: z}`, Refused: []string{"spec.a"}}})
	k.Attack(t, `spec: {a: x}`, locktest.WithAccepted("spec"))
	r := &recorder{}
	k.Attack(r, `spec: {a: x}`)
	if len(r.messages) != 1 || !strings.Contains(r.messages[0], "spec.a, through spec ") {
		t.Errorf("%q", r.messages)
	}
}

// TestDeterministic: an attack finds the same each time.
func TestDeterministic(t *testing.T) {
	databases := locktest.CRD(t, "testdata/databases.yaml")
	var runs [2]recorder
	for i := range runs {
		databases.Attack(&runs[i], `spec: {engine: mysql, size: 4}`)
	}
	if !slices.Equal(runs[0].messages, runs[1].messages) || len(runs[0].messages) != 2 {
		t.Errorf("%q\n%q", runs[0].messages, runs[1].messages)
	}
}

// logger keeps what a test logs, too.
type logger struct {
	recorder
	log []string
}

func (l *logger) Logf(format string, args ...any) {
	l.log = append(l.log, fmt.Sprintf(format, args...))
}

// TestAttack: which holes are reported, accepted and refused by policies, and what is logged.
func TestAttack(t *testing.T) {
	const accepted = "accepts nothing that the attack finds: remove it"
	for _, row := range []struct {
		name, reason string
		policies     bool
		accepted     []string
		want         []string // part of each message
	}{
		{"no hole is accepted", "both are reported", false, nil, []string{"guards spec.size, through spec.size", "guards spec.storage.class, through spec.storage"}},
		{"all are accepted", "nothing is left", false, []string{"spec.size", "spec.storage"}, nil},
		{"the field is accepted", "it is what is guarded", false, []string{"spec.size", "spec.storage.class"}, nil},
		{"one above is accepted", "it covers what is below", false, []string{"spec"}, nil},
		{"a hole that is none", "the engine is required, and the list would hide it if it were not", false, []string{"spec.size", "spec.storage", "spec.engine"}, []string{`("spec.engine") ` + accepted}},
		{"a hole that does not exist", "it is misspelled", false, []string{"spec", "spec.storrage", "v9"}, []string{`("spec.storrage") ` + accepted, `("v9") ` + accepted}},
		{"a policy closes one", "the server refuses to remove storage", true, nil, []string{"guards spec.size, through spec.size"}},
		{"a hole that a policy closes is accepted", "the entry is not needed", true, []string{"spec.size", "spec.storage"}, []string{`("spec.storage") ` + accepted}},
	} {
		k := locktest.CRD(t, "testdata/databases.yaml")
		if row.policies {
			k.Policies(t, "testdata/policies.yaml")
		}
		l := &logger{}
		k.Attack(l, `spec: {engine: mysql, size: 4, storage: {class: a}}`, locktest.WithAccepted(row.accepted...))
		ok := len(l.messages) == len(row.want)
		for i := 0; ok && i < len(row.want); i++ {
			ok = strings.Contains(l.messages[i], row.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, want %q (%s)", row.name, l.messages, row.want, row.reason)
		}
		if len(l.log) != 1 || !logged.MatchString(l.log[0]) {
			t.Errorf("%s: logged %q", row.name, l.log)
		}
	}
}

var logged = regexp.MustCompile(`^attack: [1-9][0-9]* attempts: remove and add [1-9][0-9]*, random updates [1-9][0-9]*; lint finds 2 ways around$`)

// module reads a CRD of another project.
func module(t *testing.T, module, file string) []byte {
	t.Helper()
	files, err := modulefs.Open(module)
	if err != nil {
		t.Skip(err)
	}
	defer files.Close()
	data, err := fs.ReadFile(files, file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestClusterAPI locks a field of cluster-api's Machines that cluster-api itself keeps by webhook.
func TestClusterAPI(t *testing.T) {
	const file = "core/config/crd/bases/cluster.x-k8s.io_machines.yaml"
	var machines map[string]any
	if err := yaml.Unmarshal(module(t, "sigs.k8s.io/cluster-api@v1.14.2", file), &machines); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(machines, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		at := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "clusterName", "x-kubernetes-immutable"}
		if err := unstructured.SetNestedField(v.(map[string]any), true, at...); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(machines, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(machines)
	if err != nil {
		t.Fatal(err)
	}
	const machine = `
spec:
  clusterName: a
  bootstrap: {dataSecretName: b}
  infrastructureRef: {apiGroup: infrastructure.example.com, kind: Machine, name: c}
`
	k := locktest.CRDFrom(t, file, data)
	k.Run(t, []locktest.Update{
		{Name: "clusterName", Old: machine, Patch: `spec: {clusterName: z}`, Refused: []string{"spec.clusterName"}},
		{Name: "providerID", Old: machine, Patch: `spec: {providerID: example://1}`},
	})
	// v1beta1 does not require spec: a write through it removes the field with its parent, and one through v1beta2 sets
	// both.
	k.Attack(t, machine, locktest.WithAccepted("v1beta1", "spec"))
	r := &recorder{}
	if k.Attack(r, machine); len(r.messages) == 0 || !strings.Contains(r.messages[0], "spec.clusterName, through v1beta1 (") {
		t.Errorf("the spec of v1beta1 is optional: %q", r.messages)
	}
}

// TestGatewayAPI tests the rules of a CRD of gateway-api.
func TestGatewayAPI(t *testing.T) {
	const file = "config/crd/standard/gateway.networking.k8s.io_gatewayclasses.yaml"
	k := locktest.CRDFrom(t, file, module(t, "sigs.k8s.io/gateway-api@v1.7.0", file))
	if k == nil {
		return
	}
	const class = `spec: {controllerName: example.com/controller, description: one}`
	k.Run(t, []locktest.Update{
		{Name: "controllerName", Old: class, Patch: `spec: {controllerName: example.com/other}`, Refused: []string{"spec.controllerName"}},
		{Name: "description", Old: class, Patch: `spec: {description: two}`},
	})
	k.Attack(t, class)
}

// TestRuleDecides: a CEL rule has the verdict of the API server, also where it reads like a weaker lock.
func TestRuleDecides(t *testing.T) {
	for _, row := range []struct{ name, rule, old, new string }{
		{"an exception of one conjunct", "(self.r == '' || oldSelf.r == self.r) && self.r == oldSelf.r", "spec: {r: x}", "spec: {r: ''}"},
		{"an exception that makes none", "self.r == oldSelf.r || (oldSelf.r == '' && self.r == oldSelf.r)", "spec: {r: ''}", "spec: {r: z}"},
		{"a field that is removed", "self.o == oldSelf.o", "spec: {r: x, o: x}", "spec: {r: x}"},
	} {
		var s spec.Schema
		text := fmt.Sprintf(`{"type": "object", "properties": {"spec": {"type": "object", "required": ["r"], "x-kubernetes-validations": [{"rule": %q}],
			"properties": {"r": {"type": "string"}, "o": {"type": "string"}}}}}`, row.rule)
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		var got recorder
		locktest.Schema(t, &s).Run(&got, []locktest.Update{{Name: row.name, Old: row.old, New: row.new, Refused: []string{"spec"}}})
		if len(got.messages) > 0 {
			t.Errorf("%s: %q", row.name, got.messages)
		}
	}
}
