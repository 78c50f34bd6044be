package builtin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// TestWithLock: a lock of the user on a field of a built-in kind, next to the kind's own.
func TestWithLock(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	all := []immutability.Lock{immutability.LockNoSet, immutability.LockNoUnset, immutability.LockNoModify}
	immutable, keys := []immutability.Lock{immutability.LockImmutable}, []immutability.Lock{immutability.LockImmutableKeys}
	const template = "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {%scontainers: [{name: c, image: %s}]}}"
	const claim = "template: {spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {%s}}}}]}}"
	for _, row := range []struct {
		name           string
		path           string
		locks          []immutability.Lock
		oldObj, newObj string // specs of a Deployment
		want           []string
	}{
		{"a number behind a pointer", "spec.replicas", immutable, "replicas: 1", "replicas: 2", []string{"spec.replicas: field is immutable"}},
		{"a number that stays", "spec.replicas", immutable, "replicas: 2", "replicas: 2", nil},
		{"a word", "spec.replicas", all[2:], "replicas: 1", "replicas: 2", []string{"spec.replicas: field is immutable: it may not be modified once set"}},
		{"several words", "spec.minReadySeconds", all, "minReadySeconds: 1", "minReadySeconds: 2", []string{"spec.minReadySeconds: field is immutable"}},
		{"an object", "spec.strategy", immutable, "strategy: {type: Recreate}", "strategy: {type: RollingUpdate}", []string{"spec.strategy: field is immutable"}},
		{"an item", "spec.template.spec.containers[*].image", immutable, fmt.Sprintf(template, "", "x"), fmt.Sprintf(template, "", "y"), []string{"spec.template.spec.containers[0].image: field is immutable"}},
		{"a value of a map", "spec.template.spec.nodeSelector[*]", immutable, fmt.Sprintf(template, "nodeSelector: {a: b}, ", "x"), fmt.Sprintf(template, "nodeSelector: {a: c}, ", "x"), []string{"spec.template.spec.nodeSelector[a]: field is immutable"}},
		{"a key of a map", "spec.template.spec.nodeSelector", keys, fmt.Sprintf(template, "nodeSelector: {a: b}, ", "x"), fmt.Sprintf(template, "nodeSelector: {a: c, d: e}, ", "x"), []string{"spec.template.spec.nodeSelector[d]: field is immutable: nothing may be added or removed"}},
		{"below an object that items always have", "spec.template.spec.containers[*].resources.limits", immutable, fmt.Sprintf(template, "", "x"), fmt.Sprintf(template, "", "x, resources: {limits: {cpu: 1}}"), []string{"spec.template.spec.containers[0].resources.limits: field is immutable"}},
		{"below an object behind a pointer", "spec.template.spec.volumes[*].ephemeral.volumeClaimTemplate.spec.resources.limits", immutable, fmt.Sprintf(claim, ""), fmt.Sprintf(claim, "resources: {limits: {cpu: 1}}"), []string{"spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.limits: field is immutable"}},
		{"the kind's own lock", "spec.replicas", immutable, "selector: {matchLabels: {a: b}}", "selector: {matchLabels: {a: c}}", []string{"spec.selector: Invalid value: field is immutable"}},
	} {
		object := func(spec string) (o map[string]any) {
			if err := yaml.Unmarshal([]byte("{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {"+spec+"}}"), &o); err != nil {
				t.Fatal(err)
			}
			return o
		}
		check := func(kinds *builtin.Kinds) []string {
			kind, _ := kinds.Find("apps/v1", "Deployment")
			var got []string
			for _, v := range kind.Check(object(row.newObj), object(row.oldObj)).Violations {
				got = append(got, v.Path+": "+v.Message)
			}
			return got
		}
		before := check(kinds)
		kind, _ := kinds.Find("apps/v1", "Deployment")
		with, err := kinds.WithLock(kind, row.path, row.locks...)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if got := check(with); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
		if !slices.Equal(check(kinds), before) {
			t.Errorf("%s: the kinds without the lock have it too", row.name)
		}
		if !slices.ContainsFunc(with.All(), func(k *builtin.Kind) bool {
			return k.Kind == "Deployment" && k.APIVersion == "apps/v1" && len(k.Rows()) == len(kind.Rows())+1
		}) {
			t.Errorf("%s: it is not among all kinds", row.name)
		}
	}
	for _, row := range []struct{ apiVersion, kind, path string }{ // without locks of their own
		{"v1", "LimitRange", "spec.limits"}, {"v1", "PodTemplate", "template.spec"}, {"v1", "ServiceAccount", "automountServiceAccountToken"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "spec.failurePolicy"}, {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "webhooks"},
		{"autoscaling/v2", "HorizontalPodAutoscaler", "spec.maxReplicas"}, {"batch/v1", "CronJob", "spec.schedule"}, {"coordination.k8s.io/v1", "Lease", "spec.holderIdentity"},
		{"networking.k8s.io/v1", "Ingress", "spec.rules"}, {"policy/v1", "PodDisruptionBudget", "spec.minAvailable"}, {"rbac.authorization.k8s.io/v1", "ClusterRole", "rules"},
	} {
		if kind, ok := kinds.Find(row.apiVersion, row.kind); !ok {
			t.Errorf("there is no %s", row.kind)
		} else if _, err := kinds.WithLock(kind, row.path, immutability.LockImmutable); err != nil {
			t.Errorf("%s: %v", row.kind, err)
		}
	}
	for _, row := range []struct{ apiVersion, kind, path, want string }{
		{"apps/v1", "Deployment", "", "the whole object cannot be locked, because API machinery changes it on every update: lock spec or fields below it"},
		{"apps/v1", "Deployment", "spec.templte.spec", "the schema has no spec.templte.spec; the nearest path is spec.template.spec"},
		{"apps/v1", "Deployment", "spec.template.spec.containers.image", "the schema has no spec.template.spec.containers.image; the nearest path is spec.template.spec.containers"},
		{"apps/v1", "Deployment", "spec.replicas[*]", "the schema has no spec.replicas[*]; the nearest path is spec.replicas"},
		{"v1", "Secret", "data[*][*]", "the schema has no data[*][*]; the nearest path is data[*]"},
		{"apps/v1", "Deployment", "metadata.labels", "metadata cannot be locked, because API machinery changes it on every update: remove the lock"},
		{"apiregistration.k8s.io/v1", "APIService", "spec.group", "the fields of APIService are not known here, so no lock can be added"},
	} {
		kind, _ := kinds.Find(row.apiVersion, row.kind)
		if _, err := kinds.WithLock(kind, row.path, immutability.LockImmutable); err == nil || err.Error() != row.want {
			t.Errorf("%s: %v, want %s", row.path, err, row.want)
		}
	}
	kind, _ := kinds.Find("apps/v1", "Deployment")
	if _, err := kinds.WithLock(kind, "spec.replicas", immutability.LockImmutableKeys); err == nil {
		t.Error("a number has locked keys")
	}
	if _, err := kinds.WithLock(kind, "spec.replicas"); err == nil || !strings.Contains(err.Error(), "names no lock; name at least one") {
		t.Errorf("no lock: %v", err)
	}
	for _, lock := range []immutability.Lock{"Immutable", immutability.LockIncomparable} {
		if _, err := kinds.WithLock(kind, "spec.replicas", lock); err == nil || !strings.Contains(err.Error(), "there is no lock") {
			t.Errorf("%s: %v", lock, err)
		}
	}
	twice, err := kinds.WithLock(kind, "spec.replicas", immutability.LockImmutable, immutability.LockImmutable)
	if err != nil {
		t.Fatal(err)
	}
	kind, _ = twice.Find("apps/v1", "Deployment")
	spec := func(replicas int) map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(replicas)}}
	}
	if v := kind.Check(spec(2), spec(1)); len(v.Violations) != 1 {
		t.Errorf("a lock that is there twice is broken %d times", len(v.Violations))
	}
}
