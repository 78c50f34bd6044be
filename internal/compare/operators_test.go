package compare

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
)

// checkWithOperators compares two texts of manifests, with a CRD on both sides unless it is "".
func checkWithOperators(t *testing.T, crd, oldText, newText string, catalogue *operators.Catalogue) *Report {
	t.Helper()
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	news, olds := map[string]string{"x.yaml": newText}, map[string]string{"x.yaml": oldText}
	if crd != "" {
		news["crd.yaml"], olds["crd.yaml"] = crd, crd
	}
	return check(t, news, olds, Options{Builtin: kinds, Operators: catalogue})
}

func load(t *testing.T) *operators.Catalogue {
	t.Helper()
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	return catalogue
}

const (
	certificate = `{apiVersion: cert-manager.io/v1, kind: CertificateRequest, metadata: {name: a}, spec: {request: TFM=, duration: 24h, issuerRef: {name: x}}}`
	cluster     = `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: c}, spec: {storage: {size: 10Gi}}}`
	volume      = `{apiVersion: longhorn.io/v1beta2, kind: Volume, metadata: {name: v}, spec: {dataSource: vol-a}}`
	route       = `{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: r}, spec: {host: a}}`
	topic       = `{apiVersion: kafka.strimzi.io/v1beta2, kind: KafkaTopic, metadata: {name: t}, spec: {partitions: 3}}`
)

// TestOperators: who refuses a change, how that is known, and what the values are in the manifests.
func TestOperators(t *testing.T) {
	catalogue := load(t)
	for _, row := range []struct {
		name, old        string
		from, to         string
		path, by, source string
		values           string // old and new as the report has them
	}{
		{"a webhook that was asked", certificate, "24h", "48h", "spec", "cert-manager", "verified by running its code", `"24h" "48h"`},
		{"another one", cluster, "10Gi", "5Gi", "spec.storage.size", "CloudNativePG", "verified by running its code", `"10Gi" "5Gi"`},
		{"a webhook that was read", volume, "vol-a", "vol-b", "spec.dataSource", "Longhorn", "its code was read, not run", `"vol-a" "vol-b"`},
	} {
		r := checkWithOperators(t, "", row.old, strings.ReplaceAll(row.old, row.from, row.to), catalogue)
		if r.Allowed || len(r.Violations) != 1 || len(r.Replacements) != 1 {
			t.Errorf("%s: %+v", row.name, r)
			continue
		}
		v := r.Violations[0]
		values := v.Old.String() + " " + v.New.String()
		if len(v.Differences) > 0 {
			values = v.Differences[0].Old.String() + " " + v.Differences[0].New.String()
		}
		if v.Path != row.path || v.EnforcedBy != row.by || !strings.HasSuffix(v.Source, row.source) || values != row.values {
			t.Errorf("%s: %q by %q, %q, values %s", row.name, v.Path, v.EnforcedBy, v.Source, values)
		}
		if without := checkWithOperators(t, "", row.old, strings.ReplaceAll(row.old, row.from, row.to), nil); !without.Allowed || without.Skipped != 1 {
			t.Errorf("%s: without the catalogue: %+v", row.name, without)
		}
	}
	if r := checkWithOperators(t, "", route, strings.ReplaceAll(route, "host: a", "host: b"), catalogue); !r.Allowed || len(r.Unknown) != 1 || !strings.HasPrefix(r.Unknown[0].Message, "OpenShift's API server: refused unless the user who applies may") {
		t.Errorf("what depends on the user: %+v", r)
	}
	if r := checkWithOperators(t, "", topic, strings.ReplaceAll(topic, "3", "2"), catalogue); !r.Allowed || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0].Message, "Strimzi: ") {
		t.Errorf("what is accepted and ignored: %+v", r)
	}
	data, err := json.Marshal(checkWithOperators(t, "", topic, topic, catalogue))
	if err != nil || !strings.Contains(string(data), `"uncheckedKinds":[]`) {
		t.Errorf("%s %v", data, err)
	}
}

// crdOf is a CRD of a kind whose spec has those properties.
func crdOf(group, version, kind, properties, labels string) string {
	plural := strings.ToLower(kind) + "s"
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + plural + `.` + group + `, labels: ` + labels + `},
spec: {group: ` + group + `, scope: Namespaced, names: {kind: ` + kind + `, plural: ` + plural + `, singular: ` + strings.ToLower(kind) + `, listKind: ` + kind + `List},
versions: [{name: ` + version + `, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: ` + properties + `}}}}}]}}`
}

// TestOperatorWithCRD: the CRD's defaults and passwords count for the operator's locks.
func TestOperatorWithCRD(t *testing.T) {
	catalogue := load(t)
	crd := crdOf("acme.cert-manager.io", "v1", "Challenge", `{key: {type: string, format: password}, solver: {type: object, properties: {ttl: {type: integer, default: 60}}}}`, "{}")
	const old = `{apiVersion: acme.cert-manager.io/v1, kind: Challenge, metadata: {name: a}, spec: {key: secret1, solver: {}}}`
	if r := checkWithOperators(t, crd, old, strings.ReplaceAll(old, "solver: {}", "solver: {ttl: 60}"), catalogue); !r.Allowed || len(r.Unknown) > 0 {
		t.Errorf("a default of the CRD is a change: %+v", r)
	}
	r := checkWithOperators(t, crd, old, strings.ReplaceAll(old, "secret1", "secret2"), catalogue)
	data, err := json.Marshal(r)
	if err != nil || r.Allowed || strings.Contains(string(data), "secret") {
		t.Errorf("a password: %s %v", data, err)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("the CRD has no locks, but its operator has: %q", r.Warnings)
	}
}

// TestUncheckedKinds: a kind whose definition is not complete is counted once, with the objects that change.
func TestUncheckedKinds(t *testing.T) {
	for _, row := range []struct {
		reason           string
		apiVersion, kind string
		crd, unchecked   bool
	}{
		{"built in", "v1", "ConfigMap", false, false},
		{"a CRD at hand", "example.com/v1", "Foo", true, false},
		{"an operator that refuses nothing, and a CRD whose rules nobody knows", "batch.volcano.sh/v1alpha1", "CronJob", false, true},
		{"an operator with rows, and a CRD whose rules nobody knows", "batch.volcano.sh/v1alpha1", "Job", false, true},
		{"an operator that refuses nothing, and its CRD", "batch.volcano.sh/v1alpha1", "CronJob", true, false},
		{"an operator with rows, and its CRD", "batch.volcano.sh/v1alpha1", "Job", true, false},
		{"another kind of an operator in the catalogue, and its CRD", "batch.volcano.sh/v1alpha1", "Other", true, true},
		{"rules that are known, and an operator that refuses nothing", "postgresql.cnpg.io/v1", "Pooler", false, false},
		{"rules that are known, and an operator with rows", "postgresql.cnpg.io/v1", "Cluster", false, false},
		{"rules that are known, and an operator that refuses other kinds", "postgresql.cnpg.io/v1", "Database", false, false},
		{"MetalLB's peers", "metallb.io/v1beta2", "BGPPeer", false, false},
		{"the Gateway API", "gateway.networking.k8s.io/v1", "GatewayClass", false, false},
		{"a policy of Kyverno, which reads no old version", "policies.kyverno.io/v1", "ImageValidatingPolicy", false, false},
		{"a kind of the autoscaler, which Gardener publishes, too", "autoscaling.k8s.io/v1", "VerticalPodAutoscaler", false, false},
		{"a kind for which the operator's webhook is not asked", "control.k8ssandra.io/v1alpha1", "CassandraTask", false, false},
		{"the configuration of an operator", "acid.zalan.do/v1", "OperatorConfiguration", false, false},
		{"rules that are known, and no operator in the catalogue", "karpenter.sh/v1", "NodePool", false, false},
	} {
		group, version, _ := strings.Cut(row.apiVersion, "/")
		crd := ""
		if row.crd {
			crd = crdOf(group, version, row.kind, `{x: {type: integer}}`, "{}")
		}
		object := `{apiVersion: ` + row.apiVersion + `, kind: ` + row.kind + `, metadata: {name: a, namespace: b, labels: {a: LABEL}}, spec: {x: 1}}`
		r := checkWithOperators(t, crd, strings.ReplaceAll(object, "LABEL", "a"), strings.ReplaceAll(object, "LABEL", "b"), load(t))
		if got := len(r.UncheckedKinds) == 1; got != row.unchecked || r.Complete == row.unchecked || len(r.SkippedKinds) > 0 {
			t.Errorf("%s: unchecked %+v, skipped %+v, complete %t, errors %v", row.reason, r.UncheckedKinds, r.SkippedKinds, r.Complete, r.Errors)
		}
	}
	const old = `[{apiVersion: batch.volcano.sh/v1, kind: Foo, metadata: {name: a}, spec: {x: 1}}, {apiVersion: batch.volcano.sh/v1, kind: Foo, metadata: {name: b}, spec: {x: 1}}, {apiVersion: batch.volcano.sh/v1, kind: Foo, metadata: {name: c}, spec: {y: 1}}]`
	list := func(items string) string { return `{apiVersion: v1, kind: List, items: ` + items + `}` }
	for _, row := range []struct {
		name, properties string
		want             int
	}{
		{"no lock", `{x: {type: integer}, y: {type: integer}}`, 2},
		{"a lock", `{x: {type: integer}, y: {type: integer, x-kubernetes-immutable: true}}`, 2},
	} {
		r := checkWithOperators(t, crdOf("batch.volcano.sh", "v1", "Foo", row.properties, "{}"), list(old), list(strings.ReplaceAll(old, "x: 1", "x: 2")), load(t))
		got := 0
		for _, k := range r.UncheckedKinds {
			got += k.Objects
		}
		if got != row.want || len(r.UncheckedKinds) > 1 {
			t.Errorf("%s: %+v, want %d", row.name, r.UncheckedKinds, row.want)
		}
	}
}

// TestDescriptions: what a CRD says in words is a note, and a lock only in Config Connector's CRDs that its webhook
// knows.
func TestDescriptions(t *testing.T) {
	catalogue := load(t)
	const properties = `{region: {type: string, description: "Immutable. The region."}, tier: {type: string, description: "The tier."},
list: {type: array, items: {type: object, properties: {a: {type: string, description: "This field cannot be changed. Ever."}}}},
box: {type: object, description: "Immutable. A box.", properties: {a: {type: string, description: "Immutable. An a."}, b: {type: string}}}}`
	const old = `{apiVersion: sql.cnrm.cloud.google.com/v1beta1, kind: SQLInstance, metadata: {name: s}, spec: {region: a, tier: b, list: [{a: c}], box: {a: d, b: e}}}`
	for _, row := range []struct {
		name, labels, from, to     string
		violations, unknown, notes int
	}{
		{"a lock", `{cnrm.cloud.google.com/tf2crd: "true"}`, "region: a", "region: x", 1, 0, 0},
		{"dropped", `{cnrm.cloud.google.com/dcl2crd: "true"}`, "region: a, ", "", 1, 0, 0},
		{"set", `{cnrm.cloud.google.com/tf2crd: "true"}`, "tier: b, list", "tier: b, extra: 1, list", 0, 0, 0},
		{"a kind of a newer controller", `{}`, "region: a", "region: x", 0, 0, 1},
		{"a field that may change", `{cnrm.cloud.google.com/tf2crd: "true"}`, "tier: b", "tier: x", 0, 0, 0},
		{"a list of objects", `{cnrm.cloud.google.com/tf2crd: "true"}`, "a: c", "a: x", 0, 0, 1},
		{"an object's locked field", `{cnrm.cloud.google.com/tf2crd: "true"}`, "a: d", "a: x", 1, 0, 0},
		{"an object's free field", `{cnrm.cloud.google.com/tf2crd: "true"}`, "b: e", "b: x", 0, 0, 0},
		{"an object dropped", `{cnrm.cloud.google.com/tf2crd: "true"}`, ", box: {a: d, b: e}", "", 1, 0, 0},
	} {
		crd := crdOf("sql.cnrm.cloud.google.com", "v1beta1", "SQLInstance", properties, row.labels)
		r := checkWithOperators(t, crd, old, strings.ReplaceAll(old, row.from, row.to), catalogue)
		if len(r.Violations) != row.violations || len(r.Unknown) != row.unknown || len(r.Notes) != row.notes || len(r.Replacements) != min(row.violations, 1) {
			t.Errorf("%s: %+v, unknown %+v, notes %+v, replacements %+v", row.name, r.Violations, r.Unknown, r.Notes, r.Replacements)
		}
		if without := checkWithOperators(t, crd, old, strings.ReplaceAll(old, row.from, row.to), nil); !without.Allowed {
			t.Errorf("%s: without the catalogue: %+v", row.name, without.Violations)
		}
	}
	crd := crdOf("sql.cnrm.cloud.google.com", "v1beta1", "SQLInstance", properties, `{cnrm.cloud.google.com/tf2crd: "true"}`)
	if r := checkWithOperators(t, crd, strings.ReplaceAll(old, "region: a, ", ""), old, catalogue); !r.Allowed || len(r.Unknown) != 1 {
		t.Errorf("a field that the operator can have filled in: %+v", r)
	}
	r := checkWithOperators(t, crd, old, strings.ReplaceAll(old, "a: c", "a: x"), catalogue)
	if len(r.Notes) != 1 || r.Notes[0].Message != "the CRD's description says: This field cannot be changed." || r.Notes[0].Path != "spec.list[0].a" {
		t.Errorf("the quoted sentence: %+v", r.Notes)
	}
}

// TestDescribe: which sentence of a description is quoted.
func TestDescribe(t *testing.T) {
	for _, row := range []struct{ name, description, want string }{
		{"one word", "Immutable. The region.", "Immutable. The region."},
		{"a line that the source wrapped", "The size.\nThis field is\nimmutable after creation.", "This field is immutable after creation."},
		{"a path in the sentence", "Unlike spec.size, it cannot be modified later. So be it.", "Unlike spec.size, it cannot be modified later."},
		{"an item of a list", "Values:\n- a\n- b: once set, it may not be changed\n- c", "b: once set, it may not be changed"},
		{"not mutable", "This field is not mutable and cannot be empty.", "This field is not mutable and cannot be empty."},
		{"only at creation", "It can only be set at creation time.", "It can only be set at creation time."},
		{"nothing", "It can be changed at any time.", ""},
	} {
		s := &spec.Schema{}
		s.Description = row.description
		got := ""
		if d := describe(s); d != nil {
			got = d.sentence
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	const container = `{type: array, items: {type: object, properties: {image: {type: string}, command: {type: array, items: {type: string}}, env: {type: array, description: Cannot be updated., items: {type: string}}, volumeMounts: {type: array, items: {type: string}}}}}`
	crd := crdOf("example.com", "v1", "Foo", "{containers: "+container+"}", "{}")
	const old = `{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}, spec: {containers: [{env: [x]}]}}`
	if r := checkWithOperators(t, crd, old, strings.ReplaceAll(old, "[x]", "[z]"), nil); len(r.Notes) > 0 {
		t.Errorf("a container in a template may change: %+v", r.Notes)
	}
}

// TestPasswordOfAnOperator: what the CRD marks as a password stays out of a refusal of the operator, which knows no
// such marks.
func TestPasswordOfAnOperator(t *testing.T) {
	for _, row := range []struct {
		format string
		hidden bool
	}{{"password", true}, {"", false}} {
		crd := crdOf("longhorn.io", "v1beta2", "Volume", `{dataSource: {type: string, format: "`+row.format+`"}}`, "{}")
		r := checkWithOperators(t, crd, volume, strings.ReplaceAll(volume, "vol-a", "vol-b"), load(t))
		if len(r.Violations) != 1 {
			t.Fatalf("format %q: %+v", row.format, r)
		}
		v := r.Violations[0]
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if v.Redacted != row.hidden || strings.Contains(string(data), "vol-b") == row.hidden {
			t.Errorf("format %q: %s", row.format, data)
		}
	}
}
