package builtin_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
)

// The ways out of a refusal, in their order: edits that are enough, what comes first, then replacements.
func TestReplacement(t *testing.T) {
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: NAMESPACE}, spec: {serviceName: SERVICE, selector: {matchLabels: {a: b}}, ` +
		`volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: SIZE}}}}]}}`
	sts := func(namespace, service, size string) string {
		return strings.NewReplacer("NAMESPACE", namespace, "SERVICE", service, "SIZE", size).Replace(set)
	}
	claim := func(name, size string) string {
		return "{metadata: {name: " + name + "}, spec: {resources: {requests: {storage: " + size + "}}}}, "
	}
	const enlarge = "   # enlarge this claim and those of the other pods, if their storage class allows expansion"
	const relabel = "to keep the pods, add the labels of the new selector to them: the new StatefulSet adopts only pods that its selector matches"
	const pvc = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: a, resources: {requests: {storage: 1Gi}}}}"
	for _, c := range []struct {
		name, reason string
		old, new     string
		message      string   // what the message contains
		how, not     []string // what the first ways contain, and do not
	}{
		{
			name: "larger claims", reason: "the template does not change the claims that exist",
			old: sts("shop", "db", "5Gi"), new: sts("shop", "db", "10Gi"),
			how: []string{`kubectl patch pvc/data-db-0 -n shop -p '{"spec":{"resources":{"requests":{"storage":"10Gi"}}}}'` + enlarge + "\nkubectl delete statefulset/db -n shop --cascade=orphan"},
		},
		{
			name: "two larger claims", reason: "each template has claims of its own; one that stays as it is has nothing to do",
			old: strings.Replace(sts("shop", "db", "5Gi"), "volumeClaimTemplates: [", "volumeClaimTemplates: ["+claim("same", "3Gi")+claim("log", "1Gi"), 1),
			new: strings.Replace(sts("shop", "db", "10Gi"), "volumeClaimTemplates: [", "volumeClaimTemplates: ["+claim("same", "3Gi")+claim("log", "2Gi"), 1),
			how: []string{
				`kubectl patch pvc/log-db-0 -n shop -p '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}'` + enlarge + "\n" +
					`kubectl patch pvc/data-db-0 -n shop -p '{"spec":{"resources":{"requests":{"storage":"10Gi"}}}}'` + enlarge + "\n" +
					"kubectl delete statefulset/db -n shop --cascade=orphan",
			},
		},
		{
			name: "selector", reason: "the new StatefulSet would wait for the names of pods that it does not adopt",
			old: sts("shop", "db", "5Gi"), new: strings.Replace(sts("shop", "db", "5Gi"), "{a: b}", "{a: b, c: d}", 1),
			how: []string{"kubectl label pods -n shop -l 'a=b' --overwrite 'c=d'   # " + relabel + "\nkubectl delete statefulset/db -n shop --cascade=orphan"},
			not: []string{"", "kubectl label"}, // the old StatefulSet would let go of the pods, and its deletion would leave them
		},
		{
			name: "selector with expressions", reason: "no command gives a pod labels that an expression matches",
			old: sts("shop", "db", "5Gi"), new: strings.Replace(sts("shop", "db", "5Gi"), "{a: b}", "{a: b}, matchExpressions: [{key: c, operator: Exists}]", 1),
			how: []string{relabel + "\nkubectl delete statefulset/db -n shop --cascade=orphan"},
		},
		{
			name: "selector with fewer labels", reason: "it matches the pods as they are",
			old: strings.Replace(sts("shop", "db", "5Gi"), "{a: b}", "{a: b, c: d}", 1), new: sts("shop", "db", "5Gi"),
			how: []string{"kubectl delete statefulset/db -n shop --cascade=orphan"}, not: []string{"label"},
		},
		{
			name: "chart label of a claim", reason: "only a template without the label is not refused with the next version",
			old: strings.Replace(sts("shop", "db", "5Gi"), "{name: data}", "{name: data, labels: {helm.sh/chart: db-1, app: db, a: b}}", 1),
			new: strings.Replace(sts("shop", "db", "5Gi"), "{name: data}", "{name: data, labels: {helm.sh/chart: db-2, app: db, c: d}}", 1),
			how: []string{"in its manifest, take helm.sh/chart out of the labels of spec.volumeClaimTemplates, so that this is the last time: the next change " +
				"of a label there is refused, too\nkubectl delete statefulset/db -n shop --cascade=orphan", "take helm.sh/chart out"},
		},
		{
			name: "smaller claims", reason: "claims cannot shrink",
			old: sts("shop", "db", "10Gi"), new: sts("shop", "db", "5Gi"),
			how: []string{"kubectl delete statefulset/db -n shop --cascade=orphan"},
		},
		{
			name: "service name", reason: "pods take their DNS names from it at their start",
			old: sts("shop", "db", "5Gi"), new: sts("shop", "db-headless", "5Gi"),
			how: []string{"create the headless Service with the new name\nkubectl delete statefulset/db -n shop --cascade=orphan"},
		},
		{
			name: "another class", reason: "no claim of another class can keep the volume",
			old: pvc, new: strings.NewReplacer("storageClassName: a", "storageClassName: b").Replace(pvc),
			how: []string{"add a new claim under another name, copy the data", "if nobody needs the data:\nscale the pods"},
		},
		{
			name: "another class and access mode", reason: "the ways of the kind are listed as well: one of the fields may be reverted",
			old: pvc, new: strings.NewReplacer("storageClassName: a", "storageClassName: b", "Once", "Many").Replace(pvc),
			how: []string{"add a new claim", "if nobody needs the data:", "keep the volume and its data"},
		},
		{
			name: "another access mode", reason: "the volume can be bound again",
			old: pvc, new: strings.NewReplacer("Once", "Many").Replace(pvc),
			how: []string{"keep the volume and its data, and bind it to the new claim:\nscale the pods that use the claim down to 0", "add a new claim", "if nobody needs the data:"},
		},
		{
			name: "hostile namespace", reason: "people copy the commands",
			old: sts("'a; reboot'", "db", "5Gi"), new: sts("'a; reboot'", "x", "5Gi"),
			how: []string{"create the headless Service with the new name\nkubectl delete statefulset/db -n 'a; reboot' --cascade=orphan"},
		},
		{
			name: "a namespace of two lines", reason: "each line of a way out is a step",
			old: sts(`"a\n2. reboot"`, "db", "5Gi"), new: sts(`"a\n2. reboot"`, "x", "5Gi"),
			how: []string{"create the headless Service with the new name\nkubectl delete statefulset/db -n $'a\\0122. reboot' --cascade=orphan"},
		},
		{
			name: "Recreate", reason: "an edit is enough, and the report says so first",
			old:     `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}}}`,
			new:     `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, strategy: {type: Recreate}}}`,
			message: "an edit is enough",
			how:     []string{`kubectl patch deployment/web --type merge -p '{"spec":{"strategy":{"rollingUpdate":null,"type":"Recreate"}}}'`},
		},
		{
			name: "Recreate beside rollingUpdate", reason: "no server takes such an object, a new one included",
			old:     `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}}}`,
			new:     `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}}`,
			message: "a replacement does not help",
			how:     []string{"in the manifest, leave spec.strategy.rollingUpdate out"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			kinds, err := builtin.For("")
			if err != nil {
				t.Fatal(err)
			}
			var newObj, oldObj map[string]any
			if err := yaml.Unmarshal([]byte(c.new), &newObj); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(c.old), &oldObj); err != nil {
				t.Fatal(err)
			}
			kind, _ := kinds.Find(newObj["apiVersion"].(string), newObj["kind"].(string))
			r := kind.Replacement(newObj, oldObj, kind.Check(newObj, oldObj))
			if !strings.Contains(r.Message, c.message) || len(r.How) < len(c.how) {
				t.Fatalf("%s: got %+v", c.reason, r)
			}
			for i, text := range c.not {
				if text != "" && strings.Contains(r.How[i], text) {
					t.Errorf("%s: way %d is %q", c.reason, i, r.How[i])
				}
			}
			for i, want := range c.how {
				if !strings.Contains(r.How[i], want) {
					t.Errorf("%s: way %d is %q, want %q", c.reason, i, r.How[i], want)
				}
			}
		})
	}
}

// TestReplacementCost: what is lost by replacing kinds without locks, which a policy can lock.
func TestReplacementCost(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]result.Cost{
		"networking.k8s.io/v1 NetworkPolicy": "downtime", "networking.k8s.io/v1 Ingress": "downtime", "batch/v1 CronJob": "restart", "v1 LimitRange": "none",
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": "unknown",
	} {
		apiVersion, name, _ := strings.Cut(name, " ")
		kind, _ := kinds.Find(apiVersion, name)
		r := kind.Replacement(map[string]any{}, map[string]any{}, result.Verdict{})
		if r.Cost != want || len(r.How) == 0 || (r.Message == "") != (want == "unknown") {
			t.Errorf("%s: got %+v, want the cost %q, why, and a way", name, r, want)
		}
	}
}

// TestStoredVersions: a version that objects are stored in goes when they are written anew, and no sooner.
func TestStoredVersions(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	crd := func(versions string) (object map[string]any) {
		text := "{metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [" + versions + "]}}"
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	const v1, stored, beta = "{name: v1, served: true, storage: false}, ", "{name: v1, served: true, storage: true}, ", "{name: v1beta1, served: true, storage: true}"
	for _, row := range []struct{ name, old, new, command string }{
		{"both stay", v1 + beta, stored + strings.Replace(beta, "storage: true", "storage: false", 1), ""},
		{"the one that objects are stored in goes", v1 + beta, stored, `kubectl get widgets.example.com --all-namespaces -o yaml | kubectl replace -f - && ` +
			`kubectl patch crd/widgets.example.com --subresource=status --type merge -p '{"status":{"storedVersions":["v1"]}}'`},
	} {
		newObj, oldObj := crd(row.new), crd(row.old)
		r := kind.Replacement(newObj, oldObj, kind.Check(newObj, oldObj))
		got := ""
		for _, how := range r.How {
			for step := range strings.SplitSeq(how, "\n") {
				if command, _, _ := strings.Cut(step, "   # "); strings.Contains(step, "--subresource=status") {
					got = command
				}
			}
		}
		if got != row.command {
			t.Errorf("%s: got %q, want %q in %+v", row.name, got, row.command, r)
		}
	}
}
