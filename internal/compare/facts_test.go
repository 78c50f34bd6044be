package compare

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/result"
)

const (
	pool     = `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: p}, spec: {weight: 1, template: {spec: {nodeClassRef: {group: a, kind: b, name: c}}}}}`
	database = `{apiVersion: postgresql.cnpg.io/v1, kind: Database, metadata: {name: d}, spec: {name: a, owner: o, cluster: {name: c}}}`
	issuer   = `{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: i}, spec: {selfSigned: {}}}`
)

// TestFacts: what is known of a CRD that the tree does not hold.
func TestFacts(t *testing.T) {
	catalogue := load(t)
	for _, row := range []struct {
		name, old, from, to string
		want                string // path of the violation, "unknown", "skipped", or "" for a tick
	}{
		{"a lock of a CRD that is not at hand", pool, "kind: b", "kind: z", "spec.template.spec.nodeClassRef.kind"},
		{"a field without a rule", pool, "weight: 1", "weight: 2", ""},
		{"a field that may not be set", pool, "weight: 1", "weight: 1, replicas: 2", "spec.replicas"},
		{"beside rows of the operator", database, "name: a,", "name: b,", "spec.name"},
		{"a kind without rules", issuer, "selfSigned: {}", "ca: {secretName: s}", ""},
		{"a version that is not known", strings.ReplaceAll(pool, "/v1", "/v9"), "kind: b", "kind: z", "skipped"},
	} {
		r := checkWithOperators(t, "", row.old, strings.ReplaceAll(row.old, row.from, row.to), catalogue)
		got := ""
		switch {
		case len(r.Violations) > 0:
			got = r.Violations[0].Path
		case len(r.Unknown) > 0:
			got = "unknown"
		case r.Skipped > 0:
			got = "skipped"
		}
		if got != row.want || r.Allowed != (len(r.Violations) == 0) {
			t.Errorf("%s: %q, want %q: %+v", row.name, got, row.want, r)
		}
		if row.want != "skipped" && len(r.UncheckedKinds) > 0 {
			t.Errorf("%s: unchecked: %+v", row.name, r.UncheckedKinds)
		}
	}
}

// TestFactsSource: the report names the project and the version, and what the rule says; without the catalogue nothing
// is known.
func TestFactsSource(t *testing.T) {
	changed := strings.ReplaceAll(pool, "kind: b", "kind: z")
	r := checkWithOperators(t, "", pool, changed, load(t))
	if len(r.Violations) != 1 {
		t.Fatalf("%+v", r)
	}
	v := r.Violations[0]
	if v.Lock != "immutable" || v.Old.String() != `"b"` || v.New.String() != `"z"` || v.EnforcedBy != "" {
		t.Errorf("%+v", v)
	}
	if !strings.HasPrefix(v.Evidence(), "known from the CRD of Karpenter 1.") || !strings.HasSuffix(v.Message, "the rule says: nodeClassRef.kind is immutable") {
		t.Errorf("%s: %s", v.Evidence(), v.Message)
	}
	if len(r.Replacements) != 1 || r.Replacements[0].Cost != result.CostUnknown {
		t.Errorf("%+v", r.Replacements)
	}
	if r := checkWithOperators(t, "", pool, changed, nil); len(r.Violations) > 0 || r.Skipped != 1 {
		t.Errorf("without the catalogue: %+v", r)
	}
}

// TestFactsAndCRD: a CRD at hand wins, also one that has dropped the rules.
func TestFactsAndCRD(t *testing.T) {
	const free = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: nodepools.karpenter.sh}, spec: {
  group: karpenter.sh, names: {kind: NodePool, plural: nodepools}, scope: Cluster,
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]}}`
	r := checkWithOperators(t, free, pool, strings.ReplaceAll(pool, "kind: b", "kind: z"), load(t))
	if len(r.Violations)+len(r.Unknown)+r.Skipped > 0 {
		t.Errorf("%+v", r)
	}
}

// TestFactsScope: a namespace on a cluster-scoped object does not make two objects of one.
func TestFactsScope(t *testing.T) {
	r := checkWithOperators(t, "", pool, strings.NewReplacer("{name: p}", "{name: p, namespace: x}", "kind: b", "kind: z").Replace(pool), load(t))
	if len(r.Violations) != 1 {
		t.Errorf("%+v", r)
	}
}
