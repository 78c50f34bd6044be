package builtin

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// fromYAML reads a value as manifests are read.
func fromYAML(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return canonical.Whole(value)
}

func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	o, _ := fromYAML(t, text).(map[string]any)
	return o
}

// TestPreparations: what an API server fills in, copies and drops, one rule at a time.
func TestPreparations(t *testing.T) {
	for _, row := range []struct{ rule, reason, in, want string }{
		{"controllerSelector", "the labels of the template", "{spec: {template: {metadata: {labels: {a: b}}}}}", "{spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}}}}"},
		{"controllerSelector", "an empty selector counts as absent", "{spec: {selector: {}, template: {metadata: {labels: {a: b}}}}}", "{spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}}}}"},
		{"controllerSelector", "what is given stays", "{spec: {selector: {c: d}, template: {metadata: {labels: {a: b}}}}}", "{spec: {selector: {c: d}, template: {metadata: {labels: {a: b}}}}}"},
		{"controllerSelector", "what is malformed stays", "{spec: {selector: x, template: {metadata: {labels: {a: b}}}}}", "{spec: {selector: x, template: {metadata: {labels: {a: b}}}}}"},
		{"controllerSelector", "no labels", "{spec: {template: {}}}", "{spec: {template: {}}}"},
		{"deploymentStrategy", "both defaults", "{}", "{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 25%, maxSurge: 25%}}}}"},
		{"deploymentStrategy", "another type has no parameters", "{spec: {strategy: {type: Recreate}}}", "{spec: {strategy: {type: Recreate}}}"},
		{"deploymentStrategy", "what is given stays", "{spec: {strategy: {rollingUpdate: {maxSurge: 1}}}}", "{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 25%, maxSurge: 1}}}}"},
		{"statefulSetStrategy", "all parameters without a type", "{}", "{spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}}"},
		{"statefulSetStrategy", "none with it", "{spec: {updateStrategy: {type: RollingUpdate}}}", "{spec: {updateStrategy: {type: RollingUpdate}}}"},
		{"statefulSetStrategy", "the others with one of them", "{spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}}", "{spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, partition: 0}}}}"},
		{"statefulSetStrategy", "not of another type", "{spec: {updateStrategy: {type: OnDelete, rollingUpdate: {}}}}", "{spec: {updateStrategy: {type: OnDelete, rollingUpdate: {}}}}"},
		{"claimTemplates", "each loses its type", "{spec: {volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, a: b}, {kind: X}]}}", "{spec: {volumeClaimTemplates: [{a: b}, {}]}}"},
		{"jobDefaults", "one pod", "{}", "{spec: {completions: 1, parallelism: 1}}"},
		{"jobDefaults", "a work queue has no completions", "{spec: {parallelism: 2}}", "{spec: {parallelism: 2}}"},
		{"jobDefaults", "completions alone run one at a time", "{spec: {completions: 3}}", "{spec: {completions: 3, parallelism: 1}}"},
		{"serviceAddresses", "the list has the address", "{spec: {clusterIP: 10.0.0.1}}", "{spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}}"},
		{"serviceAddresses", "what is given stays", "{spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, x]}}", "{spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, x]}}"},
		{"serviceAddresses", "no address", "{spec: {}}", "{spec: {}}"},
		{"secretData", "every text is encoded, and wins", "{data: {a: eA==, c: eg==}, stringData: {a: w, b: x}}", "{data: {a: dw==, b: eA==, c: eg==}}"},
		{"secretData", "the server makes data of it", "{stringData: {a: x}}", "{data: {a: eA==}}"},
		{"configMapData", "absent is empty", "{}", "{data: {}}"},
		{"podRanges", "the list has the range", "{spec: {podCIDR: a}}", "{spec: {podCIDR: a, podCIDRs: [a]}}"},
		{"podRanges", "the first of the list is the range", "{spec: {podCIDRs: [a, b]}}", "{spec: {podCIDR: a, podCIDRs: [a, b]}}"},
		{"podRanges", "where they differ, the range counts", "{spec: {podCIDR: c, podCIDRs: [a, b]}}", "{spec: {podCIDR: c, podCIDRs: [c]}}"},
		{"podRanges", "where they agree, both stay", "{spec: {podCIDR: a, podCIDRs: [a, b]}}", "{spec: {podCIDR: a, podCIDRs: [a, b]}}"},
		{"uniqueScopes", "each once, in order", "{spec: {scopes: [b, a, b, 1, 1]}}", "{spec: {scopes: [b, a, 1, 1]}}"},
		{"claimSource", "a claim is copied", "{spec: {dataSource: {kind: PersistentVolumeClaim, name: a}}}", "{spec: {dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: a}}}"},
		{"claimSource", "a snapshot is copied", "{spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a}}}",
			"{spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a}, dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a}}}"},
		{"claimSource", "another kind is dropped", "{spec: {dataSource: {apiGroup: example.com, kind: X, name: a}}}", "{spec: {}}"},
		{"claimSource", "a snapshot of another group is dropped", "{spec: {dataSource: {apiGroup: example.com, kind: VolumeSnapshot, name: a}}}", "{spec: {}}"},
		{"claimSource", "another kind in the same group is dropped", "{spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: X, name: a}}}", "{spec: {}}"},
		{"claimSource", "a claim of a group is dropped", "{spec: {dataSource: {apiGroup: x, kind: PersistentVolumeClaim, name: a}}}", "{spec: {}}"},
		{"claimSource", "a reference is copied back", "{spec: {dataSourceRef: {kind: X, name: a}}}", "{spec: {dataSource: {kind: X, name: a}, dataSourceRef: {kind: X, name: a}}}"},
		{"claimSource", "not into another namespace", "{spec: {dataSourceRef: {kind: X, name: a, namespace: b}}}", "{spec: {dataSourceRef: {kind: X, name: a, namespace: b}}}"},
		{"claimSource", "an empty namespace counts as absent", "{spec: {dataSourceRef: {kind: X, name: a, namespace: ''}}}", "{spec: {dataSource: {kind: X, name: a}, dataSourceRef: {kind: X, name: a, namespace: ''}}}"},
		{"policyTypes", "ingress always", "{}", "{spec: {policyTypes: [Ingress]}}"},
		{"policyTypes", "egress with rules", "{spec: {egress: [{}]}}", "{spec: {egress: [{}], policyTypes: [Ingress, Egress]}}"},
		{"policyTypes", "what is given stays", "{spec: {egress: [{}], policyTypes: [Egress]}}", "{spec: {egress: [{}], policyTypes: [Egress]}}"},
		{"claimRequests", "one device", "{spec: {devices: {requests: [{exactly: {}}, {deviceClassName: a}, {firstAvailable: [{}, {}]}]}}}",
			"{spec: {devices: {requests: [{exactly: {allocationMode: ExactCount, count: 1}}, {deviceClassName: a, allocationMode: ExactCount, count: 1}, {firstAvailable: [{allocationMode: ExactCount, count: 1}, {allocationMode: ExactCount, count: 1}]}]}}}"},
		{"claimRequests", "all devices have no count", "{spec: {devices: {requests: [{exactly: {allocationMode: All}}]}}}", "{spec: {devices: {requests: [{exactly: {allocationMode: All}}]}}}"},
		{"claimTemplateRequests", "the same in a template", "{spec: {spec: {devices: {requests: [{exactly: {count: 2}}]}}}}", "{spec: {spec: {devices: {requests: [{exactly: {allocationMode: ExactCount, count: 2}}]}}}}"},
		{"podAccount", "the account is named default", "{}", "{spec: {serviceAccountName: default}}"},
		{"podAccount", "unless the old name has one", "{spec: {serviceAccount: a}}", "{spec: {serviceAccount: a}}"},
		{"podRequests", "requests are the limits", "{spec: {containers: [{resources: {limits: {cpu: 1, memory: 2}, requests: {cpu: 0}}}], initContainers: [{resources: {limits: {cpu: 3}}}]}}",
			"{spec: {containers: [{resources: {limits: {cpu: 1, memory: 2}, requests: {cpu: 0, memory: 2}}}], initContainers: [{resources: {limits: {cpu: 3}, requests: {cpu: 3}}}]}}"},
		{"podRequests", "every port of the host's network is one of the host", "{spec: {hostNetwork: true, containers: [{ports: [{containerPort: 80}, {containerPort: 81}, {containerPort: 82, hostPort: 83}]}]}}",
			"{spec: {hostNetwork: true, containers: [{ports: [{containerPort: 80, hostPort: 80}, {containerPort: 81, hostPort: 81}, {containerPort: 82, hostPort: 83}]}]}}"},
		{"podRequests", "no port of the Pod's own network is", "{spec: {containers: [{ports: [{containerPort: 80}]}]}}", "{spec: {containers: [{ports: [{containerPort: 80}]}]}}"},
		{"tolerationSeconds", "they may change", "{spec: {tolerations: [{key: a, tolerationSeconds: 1}, {tolerationSeconds: 2}]}}", "{spec: {tolerations: [{key: a}, {}]}}"},
		{"jobUID", "a uid is the server's", "{spec: {selector: {matchLabels: {controller-uid: a, b: c}}, template: {metadata: {labels: {batch.kubernetes.io/controller-uid: a}}}}}",
			"{spec: {selector: {matchLabels: {controller-uid: (chosen by the server), b: c}}, template: {metadata: {labels: {batch.kubernetes.io/controller-uid: (chosen by the server)}}}}}"},
		{"jobUID", "unless the selector is the user's", "{spec: {manualSelector: true, selector: {matchLabels: {controller-uid: a}}}}", "{spec: {manualSelector: true, selector: {matchLabels: {controller-uid: a}}}}"},
		{"podSpec", "deprecated and new name are one", "{serviceAccountName: a}", "{serviceAccountName: a, serviceAccount: a}"},
		{"podSpec", "the new name counts", "{serviceAccountName: a, serviceAccount: b}", "{serviceAccountName: a, serviceAccount: a}"},
		{"podSpec", "a volume of nothing is an empty directory", "{volumes: [{name: a}, {name: b, hostPath: {}}]}", "{volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {}}]}"},
		{"podSpec", "an image volume is pulled as an image", "{volumes: [{name: a, image: {reference: b}}]}", "{volumes: [{name: a, image: {reference: b, pullPolicy: Always}}]}"},
		{"podSpec", "the tag decides how often an image is pulled", "{containers: [{image: a}, {image: 'a:latest'}, {image: 'a:1'}, {image: 'r:80/a'}, {image: 'a@sha256:x'}, {image: 'a@'}], initContainers: [{image: 'a:latest@sha256:x'}, {image: a, imagePullPolicy: Never}]}",
			"{containers: [{image: a, imagePullPolicy: Always}, {image: 'a:latest', imagePullPolicy: Always}, {image: 'a:1', imagePullPolicy: IfNotPresent}, {image: 'r:80/a', imagePullPolicy: Always}, {image: 'a@sha256:x', imagePullPolicy: IfNotPresent}, {image: 'a@', imagePullPolicy: Always}], initContainers: [{image: 'a:latest@sha256:x', imagePullPolicy: Always}, {image: a, imagePullPolicy: Never}]}"},
	} {
		rule := preparations()[row.rule]
		obj, want := objectOf(t, row.in), objectOf(t, row.want)
		if row.rule == "podSpec" {
			rule = podSpec("spec.template.spec")
			wrap := func(spec map[string]any) map[string]any {
				return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": spec}}}
			}
			obj, want = wrap(obj), wrap(want)
		}
		rule(obj)
		if !reflect.DeepEqual(obj, want) {
			t.Errorf("%s: %s: got %v, want %v", row.rule, row.reason, obj, want)
		}
	}
}

// TestKeptSources: a real API server of 1.36 gave these answers, to a server-side and to a client-side apply.
func TestKeptSources(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	const elsewhere = "{apiGroup: example.com, kind: Populator, name: a, namespace: b}"
	const populator, other, claim = "{apiGroup: example.com, kind: Populator, name: a}", "{apiGroup: example.com, kind: Populator, name: b}", "{kind: PersistentVolumeClaim, name: a}"
	for _, row := range []struct {
		reason, old, new string
		refused          bool
	}{
		{"the server has made a dataSource of it", "dataSourceRef: " + populator, "", false},
		{"the same as a dataSource", "dataSourceRef: " + populator, "dataSource: " + populator, false},
		{"another one as a dataSource is not dropped from a claim that has one", "dataSourceRef: " + populator, "dataSource: " + other, true},
		{"a dataSource that the server drops", "", "dataSource: " + populator, false},
		{"a source for a claim without", "", "dataSourceRef: " + populator, true},
		{"a claim whose dataSource goes keeps the reference that the server has made of it", "dataSource: " + claim, "", false},
		{"both go", "dataSource: " + claim + ", dataSourceRef: " + claim, "", true},
		{"a reference to another namespace, which the server drops", "", "dataSourceRef: " + elsewhere, false},
		{"one that was dropped goes", "dataSourceRef: " + elsewhere, "", false},
		{"one that was dropped has another namespace", "dataSourceRef: " + elsewhere, "dataSourceRef: " + strings.Replace(elsewhere, "namespace: b", "namespace: c", 1), false},
		{"one that was dropped comes into the own namespace", "dataSourceRef: " + elsewhere, "dataSourceRef: " + populator, true},
		{"one into another namespace is not dropped from a claim that has one", "dataSourceRef: " + populator, "dataSourceRef: " + elsewhere, true},
	} {
		object := func(source string) map[string]any {
			return objectOf(t, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, "+source+"}}")
		}
		newObj, oldObj := object(row.new), object(row.old)
		kind, _ := kinds.Find("v1", "PersistentVolumeClaim")
		for _, by := range []Applier{ApplierServerSide, ApplierClientSide} {
			got := kind.CheckBy(by, newObj, oldObj)
			if dropped := !row.refused && strings.Contains(row.old+row.new, elsewhere); len(got.Violations) > 0 != row.refused || len(got.Unknown) > 0 != dropped {
				t.Errorf("%s, %s: %+v, unknown %+v", row.reason, by, got.Violations, got.Unknown)
			}
		}
		if !reflect.DeepEqual(newObj, object(row.new)) || !reflect.DeepEqual(oldObj, object(row.old)) {
			t.Errorf("%s: an input has changed", row.reason)
		}
	}
}

// TestNamedSelector: a real API server of 1.36 gave these answers to a ReplicationController whose selector was made of
// its labels.
func TestNamedSelector(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	object := func(selector, labels string) map[string]any {
		return objectOf(t, "{apiVersion: v1, kind: ReplicationController, metadata: {name: a}, spec: {"+selector+"template: {metadata: {labels: "+labels+"}, spec: {containers: [{name: a, image: a}]}}}}")
	}
	kind, _ := kinds.Find("v1", "ReplicationController")
	for _, row := range []struct {
		reason, selector, labels string
		by                       Applier
		refused                  bool
	}{
		{"the patch adds a label to the selector", "selector: {b: x}, ", "{b: x}", ApplierClientSide, true},
		{"the whole selector is replaced", "selector: {b: x}, ", "{b: x}", ApplierServerSide, false},
		{"the whole object is replaced", "selector: {b: x}, ", "{b: x}", ApplierReplace, false},
		{"the template has both labels", "selector: {b: x}, ", "{a: x, b: x}", ApplierClientSide, false},
		{"the label has another value", "selector: {a: z}, ", "{a: z}", ApplierClientSide, false},
	} {
		if got := kind.CheckBy(row.by, object(row.selector, row.labels), object("", "{a: x}")); len(got.Violations) > 0 != row.refused {
			t.Errorf("%s, %s: %+v", row.reason, row.by, got.Violations)
		}
	}
}

// TestInitContainerAnnotations: a real API server of 1.36 accepted these updates of a Job. Other annotations of its
// template may not change.
func TestInitContainerAnnotations(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	job := func(metadata string) map[string]any {
		return objectOf(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {metadata: "+metadata+", spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}")
	}
	for _, row := range []struct {
		reason, old, new string
		refused          bool
	}{
		{"one of several goes", "{annotations: {a: b, pod.beta.kubernetes.io/init-containers: '[]'}}", "{annotations: {a: b}}", false},
		{"the only one goes", "{annotations: {pod.alpha.kubernetes.io/init-containers: '[]'}}", "{}", false},
		{"both statuses go", "{annotations: {pod.beta.kubernetes.io/init-container-statuses: x, pod.alpha.kubernetes.io/init-container-statuses: y}}", "{}", false},
		{"one comes", "{}", "{annotations: {pod.beta.kubernetes.io/init-containers: '[]'}}", false},
		{"another one goes too", "{annotations: {a: b, pod.beta.kubernetes.io/init-containers: '[]'}}", "{}", true},
	} {
		kind, _ := kinds.Find("batch/v1", "Job")
		newObj, oldObj := job(row.new), job(row.old)
		if got := kind.Check(newObj, oldObj); len(got.Violations) > 0 != row.refused {
			t.Errorf("%s: %+v", row.reason, got.Violations)
		}
		if !reflect.DeepEqual(newObj, job(row.new)) || !reflect.DeepEqual(oldObj, job(row.old)) {
			t.Errorf("%s: an input has changed", row.reason)
		}
	}
}

// TestCanonical: values that the server's comparison holds equal have one form.
func TestCanonical(t *testing.T) {
	container, pod, volume := reflect.TypeFor[corev1.Container](), reflect.TypeFor[corev1.PodSpec](), reflect.TypeFor[corev1.Volume]()
	for _, row := range []struct {
		reason   string
		t        reflect.Type
		in, want string
	}{
		{"null is absent", container, "{image: null, env: [{name: a, value: null}]}", "{env: [{name: a}]}"},
		{"zero is absent", container, "{image: '', tty: false, env: [], resources: {}, livenessProbe: {periodSeconds: 0}}", "{livenessProbe: {}}"},
		{"zero behind a pointer is there", pod, "{terminationGracePeriodSeconds: 0, hostUsers: false, priority: 0}", "{terminationGracePeriodSeconds: 0, hostUsers: false, priority: 0}"},
		{"a number or text is there when it is zero", reflect.TypeFor[corev1.HTTPGetAction](), "{port: 0, path: ''}", "{port: 0}"},
		{"a whole number has one form", pod, "{priority: 5.0}", "{priority: 5}"},
		{"fields of an inlined struct", volume, "{name: a, emptyDir: {sizeLimit: 1024Mi}}", "{name: a, emptyDir: {sizeLimit: '1073741824'}}"},
		{"quantities are numbers", container, "{resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 1000m, memory: 1024Mi}}}", "{resources: {limits: {cpu: '1', memory: '1073741824'}, requests: {cpu: '1', memory: '1073741824'}}}"},
		{"unquoted quantities, too", container, "{resources: {limits: {cpu: 1.5}}}", "{resources: {limits: {cpu: '1.5'}}}"},
		{"amounts of a list are whole thousandths", container, "{resources: {limits: {cpu: 100u, memory: 1500u}}}", "{resources: {limits: {cpu: '0.001', memory: '0.002'}}}"},
		{"a quantity of nothing is there in a list", container, "{resources: {limits: {cpu: 0}}}", "{resources: {limits: {cpu: '0'}}}"},
		{"a text that is not a quantity stays as it is", container, "{resources: {limits: {cpu: many}}}", "{resources: {limits: {cpu: many}}}"},
		{"times have one zone", reflect.TypeFor[metav1.ObjectMeta](), "{deletionTimestamp: '2026-01-02T03:04:05+01:00', creationTimestamp: x}", "{deletionTimestamp: '2026-01-02T02:04:05Z', creationTimestamp: x}"},
		{"times with microseconds", reflect.TypeFor[struct {
			At metav1.MicroTime `json:"at"`
		}](), "{at: '2026-01-02T03:04:05.5Z'}", "{at: '2026-01-02T03:04:05.500000Z'}"},
		{"durations have one form", reflect.TypeFor[struct {
			D metav1.Duration `json:"d"`
		}](), "{d: 60m}", "{d: 1h0m0s}"},
		{"bytes have one form", reflect.TypeFor[corev1.Secret](), `{data: {a: "eA=\n=", b: "no base64"}}`, `{data: {a: eA==, b: "no base64"}}`},
		{"fields that the type does not have stay", container, "{later: {a: null, b: 1.0, c: [{d: null}]}}", "{later: {b: 1, c: [{}]}}"},
		{"a value of another kind stays", container, "{env: {a: null, b: 1}, resources: [null]}", "{env: {b: 1}, resources: [null]}"},
		{"a type with a form of its own", reflect.TypeFor[networkingv1.NetworkPolicyPort](), "{port: http, protocol: null}", "{port: http}"},
	} {
		c := canonicalizer{types: new(structTypes)}
		in := fromYAML(t, strings.ReplaceAll(row.in, "\n", "\\n"))
		before := fromYAML(t, strings.ReplaceAll(row.in, "\n", "\\n"))
		if got, want := c.value(in, row.t), fromYAML(t, row.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", row.reason, got, want)
		}
		if !reflect.DeepEqual(in, before) {
			t.Errorf("%s: the input has changed to %v", row.reason, in)
		}
	}
}

// TestUnknownFields: fields that the minor lacks do not change what the server stores, and a remark names them if they
// change. A later minor may have them.
func TestUnknownFields(t *testing.T) {
	job := func(volume string) string {
		return "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}], volumes: [{name: b, emptyDir: {}}, " + volume + "]}}}}"
	}
	scheduled := func(policy string) string {
		return strings.Replace(job("{name: a}"), "spec: {", "spec: {scheduling: {schedulingPolicy: "+policy+"}, ", 1)
	}
	for _, row := range []struct {
		reason, minor string
		by            Applier
		old, new      string
		refused       bool
		unknown, note string // the path
	}{
		{"a field of no minor", "1.37", "", job("{name: a, emptyDir: {}}"), job("{name: a, emptyDir: {colour: red}}"), false, "spec.template.spec.volumes[1].emptyDir.colour", ""},
		{"in another item", "1.37", "", job("{name: a, emptyDir: {colour: red}}"), "{apiVersion: batch/v1, kind: Job, metadata: {name: j, labels: {a: b}}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}], volumes: [{name: a, emptyDir: {colour: red}}]}}}}", true, "", ""},
		{"unchanged", "1.37", "", job("{name: a, emptyDir: {colour: red}}"), job("{name: a, emptyDir: {colour: red}}"), false, "", ""},
		{"dropped", "1.37", "", job("{name: a, colour: red}"), job("{name: a}"), false, "", ""},
		{"below a map", "1.37", "", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, 'x.y': {b: [1]}}}", false, `metadata["x.y"]`, ""},
		{"a kind without locks", "1.37", "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: [{verb: get}]}", false, "rules[0].verb", ""},
		{"Flux drops it", "1.37", fluxApply, job("{name: a, emptyDir: {}}"), job("{name: a, emptyDir: {colour: red}}"), false, "", "spec.template.spec.volumes[1].emptyDir.colour"},
		{"Flux applies a Role as it is", "1.37", fluxApply, "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: [{verb: get}]}", false, "rules[0].verb", ""},
		{"before it was a field", "1.36", "", job("{name: a, emptyDir: {}}"), job("{name: a, emptyDir: {mode: 511}}"), false, "spec.template.spec.volumes[1].emptyDir.mode", ""},
		{"since it is a field of a feature", "1.37", "", job("{name: a, emptyDir: {}}"), job("{name: a, emptyDir: {mode: 511}}"), false, "spec.template", ""},
		{"beside another change", "1.37", "", job("{name: a, emptyDir: {}}"), job("{name: a, emptyDir: {mode: 511, medium: Memory}}"), true, "", ""},
		{"a locked feature", "1.37", "", scheduled("{basic: {}}"), scheduled("{gang: {minCount: 2}}"), false, "spec.scheduling.schedulingPolicy.basicspec.scheduling.schedulingPolicy.gang", ""},
		{"a feature dropped", "1.37", "", scheduled("{basic: {}}"), job("{name: a}"), false, "spec.scheduling", ""},
		{"what a feature lets change", "1.37", "", scheduled("{gang: {minCount: 1}}"), scheduled("{gang: {minCount: 2}}"), false, "", ""},
		{"after it was a field", "1.36", "", job("{name: a, emptyDir: {}}"), strings.Replace(job("{name: a, emptyDir: {}}"), "restartPolicy", "workloadRef: {name: a}, restartPolicy", 1), false, "spec.template.spec.workloadRef", ""},
		{"while it was a field", "1.35", "", job("{name: a, emptyDir: {}}"), strings.Replace(job("{name: a, emptyDir: {}}"), "restartPolicy", "workloadRef: {name: a}, restartPolicy", 1), false, "spec.template", ""},
		{"another version has other fields", "1.37", "", "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a}}", "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {targetCPUUtilizationPercentage: 5}}", false, "", ""},
		{"keys of a schema are lint's", "1.37", "", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {colour: red}}", false, "", ""},
		{"a status is not applied", "1.37", "", "{apiVersion: v1, kind: Pod, metadata: {name: a}}", "{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {colour: red}}", false, "", ""},
	} {
		kinds, err := For(row.minor)
		if err != nil {
			t.Fatal(err)
		}
		newObj, oldObj := fromYAML(t, row.new).(map[string]any), fromYAML(t, row.old).(map[string]any)
		kind, _ := kinds.Find(fieldpath.Text(newObj, "apiVersion"), fieldpath.Text(newObj, "kind"))
		v := kind.CheckBy(row.by, newObj, oldObj)
		var unknown, note string
		for _, r := range v.Unknown {
			unknown += r.Path
		}
		for _, r := range v.Notes {
			note += r.Path
		}
		if len(v.Violations) > 0 != row.refused || unknown != row.unknown || note != row.note {
			t.Errorf("%s: %+v, unknown %q, note %q", row.reason, v.Violations, unknown, note)
		}
	}

	kinds, err := For("1.37")
	if err != nil {
		t.Fatal(err)
	}
	known, _ := kinds.Find("batch/v1", "Job")
	newObj, oldObj := fromYAML(t, scheduled("{gang: {minCount: 2}}")).(map[string]any), fromYAML(t, scheduled("{basic: {}}")).(map[string]any)
	if v := known.CheckBy(liveApply, newObj, oldObj); len(v.Violations) == 0 {
		t.Errorf("a cluster that has stored the field of a feature has it on: %+v", v)
	}
}
