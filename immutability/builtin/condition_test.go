package builtin

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// TestConditions: what a row asks for that neither a word nor CEL can express. Where stored and applied are left out,
// the server has what the manifests have.
func TestConditions(t *testing.T) {
	const beta = "volume.beta.kubernetes.io/storage-class"
	terms := func(expressions string) string {
		return "{spec: {nodeAffinity: {required: {nodeSelectorTerms: [" + expressions + "]}}}}"
	}
	for _, row := range []struct {
		name, reason                    string
		oldObj, newObj, stored, applied string
		value                           string
		holds                           bool
	}{
		{"storageClassUpgrade", "the class moves into the field", "{metadata: {annotations: {" + beta + ": a}}, spec: {}}", "{spec: {storageClassName: a}}", "", "", "a", true},
		{"storageClassUpgrade", "the annotation may stay", "{metadata: {annotations: {" + beta + ": a}}, spec: {}}", "{metadata: {annotations: {" + beta + ": a}}, spec: {storageClassName: a}}", "", "", "a", true},
		{"storageClassUpgrade", "with the same class", "{metadata: {annotations: {" + beta + ": a}}, spec: {}}", "{metadata: {annotations: {" + beta + ": b}}, spec: {storageClassName: a}}", "", "", "a", false},
		{"storageClassUpgrade", "to no other class", "{metadata: {annotations: {" + beta + ": a}}, spec: {}}", "{spec: {storageClassName: b}}", "", "", "a", false},
		{"storageClassUpgrade", "the field had one already", "{metadata: {annotations: {" + beta + ": a}}, spec: {storageClassName: b}}", "{spec: {storageClassName: a}}", "", "", "a", false},
		{"storageClassUpgrade", "the old claim has no annotation", "{spec: {}}", "{spec: {storageClassName: ''}}", "", "", "", false},
		{"topologyUpgrade", "all labels of both terms get their present names", terms("{matchExpressions: [{key: beta.kubernetes.io/os}, {key: beta.kubernetes.io/arch}]}, {matchExpressions: [{key: beta.kubernetes.io/instance-type}]}"),
			terms("{matchExpressions: [{key: kubernetes.io/os}, {key: kubernetes.io/arch}]}, {matchExpressions: [{key: node.kubernetes.io/instance-type}]}"), "", "", "", true},
		{"topologyUpgrade", "zone and region", terms("{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone}, {key: failure-domain.beta.kubernetes.io/region}]}"),
			terms("{matchExpressions: [{key: topology.kubernetes.io/zone}, {key: topology.kubernetes.io/region}]}"), "", "", "", true},
		{"topologyUpgrade", "one of them may stay", terms("{matchExpressions: [{key: beta.kubernetes.io/os}, {key: beta.kubernetes.io/arch}]}"), terms("{matchExpressions: [{key: kubernetes.io/os}, {key: beta.kubernetes.io/arch}]}"), "", "", "", true},
		{"topologyUpgrade", "back to the old name", terms("{matchExpressions: [{key: kubernetes.io/os}]}"), terms("{matchExpressions: [{key: beta.kubernetes.io/os}]}"), "", "", "", false},
		{"topologyUpgrade", "to the name of another label", terms("{matchExpressions: [{key: beta.kubernetes.io/os}]}"), terms("{matchExpressions: [{key: kubernetes.io/arch}]}"), "", "", "", false},
		{"topologyUpgrade", "with another value", terms("{matchExpressions: [{key: beta.kubernetes.io/os, values: [a]}]}"), terms("{matchExpressions: [{key: kubernetes.io/os, values: [b]}]}"), "", "", "", false},
		{"topologyUpgrade", "with one more", terms("{matchExpressions: [{key: beta.kubernetes.io/os}]}"), terms("{matchExpressions: [{key: kubernetes.io/os}, {key: a}]}"), "", "", "", false},
		{"emptyRanges", "an explicit empty list", "{spec: {podCIDRs: [a]}}", "{spec: {podCIDRs: []}}", "", "", "", true},
		{"emptyRanges", "the server had none", "{spec: {}}", "{spec: {podCIDRs: []}}", "", "", "", false},
		{"emptyRanges", "nothing changes", "{spec: {podCIDRs: []}}", "{spec: {podCIDRs: []}}", "{spec: {podCIDRs: [a]}}", "", "", false},
		{"storedVersions", "the stored version goes", "{spec: {versions: [{name: v1, storage: false}, {name: v2, storage: true}]}}", "{spec: {versions: [{name: v1, storage: true}]}}", "", "", "v2", true},
		{"storedVersions", "another one goes", "{spec: {versions: [{name: v1, storage: true}, {name: v2, storage: false}]}}", "{spec: {versions: [{name: v3}, {name: v1, storage: true}, {name: v4}]}}", "", "", "", false},
		{"manualSelectorOff", "its pods lack the server's labels", "{spec: {manualSelector: true}}", "{spec: {}}", "", "", "", true},
		{"manualSelectorOff", "its pods have them", "{spec: {manualSelector: true}}", "{spec: {template: {metadata: {labels: {controller-uid: a}}}}}", "", "", "", false},
		{"manualSelectorOff", "it stays", "{spec: {manualSelector: true}}", "{spec: {manualSelector: true}}", "", "", "", false},
		{"manualSelectorOff", "it was off", "{spec: {manualSelector: false}}", "{spec: {}}", "", "", "", false},
		{"labelsOutsideSelector", "one label has another value", "{}", "{spec: {selector: {a: b, c: d, e: f}, template: {metadata: {labels: {a: b, c: d, e: x}}}}}", "", "", "", true},
		{"labelsOutsideSelector", "one label is missing", "{}", "{spec: {selector: {a: b, c: d, e: f}, template: {metadata: {labels: {a: b, c: d}}}}}", "", "", "", true},
		{"labelsOutsideSelector", "one label more", "{}", "{spec: {selector: {a: b}, template: {metadata: {labels: {a: b, c: d}}}}}", "", "", "", false},
		{"emptyData", "an empty map where the server has none", "{}", "{data: {}}", "", "", "", true},
		{"emptyData", "the server has one", "{data: {a: b}}", "{data: {}}", "", "", "", false},
		{"emptyData", "it is not empty", "{}", "{data: {a: b}}", "", "", "", false},
		{"emptyData", "it is null", "{a: b}", "{data: null}", "", "", "", false},
		{"emptyData", "nothing changes", "{data: {}}", "{data: {}}", "{}", "", "", false},
		{"emptyBinaryData", "the other map", "{}", "{binaryData: {}}", "", "", "", true},
		{"emptyParameters", "the other map", "{}", "{parameters: {}}", "", "", "", true},
		{"namedUID", "a uid that was not named", "{}", "{spec: {selector: {matchLabels: {controller-uid: a}}}}", "", "", "a", true},
		{"namedUID", "in the labels of the pods, by its new name", "{}", "{spec: {template: {metadata: {labels: {batch.kubernetes.io/controller-uid: b}}}}}", "", "", "b", true},
		{"namedUID", "it was named elsewhere", "{spec: {template: {metadata: {labels: {controller-uid: a}}}}}", "{spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: a}}}}", "", "", "", false},
		{"namedUID", "the selector is the user's", "{}", "{spec: {manualSelector: true, selector: {matchLabels: {controller-uid: a}}}}", "", "", "", false},
		{"oneFamily", "the server gave it two", "{spec: {clusterIP: None}}", "{spec: {clusterIP: None, ipFamilies: [IPv4]}}", "", "", "", true},
		{"oneFamily", "it has a selector", "{spec: {clusterIP: None, selector: {a: b}}}", "{spec: {clusterIP: None, ipFamilies: [IPv4]}}", "", "", "", false},
		{"oneFamily", "it had a policy", "{spec: {clusterIP: None, ipFamilyPolicy: SingleStack}}", "{spec: {clusterIP: None, ipFamilies: [IPv4]}}", "", "", "", false},
		{"oneFamily", "it gets a policy", "{spec: {clusterIP: None}}", "{spec: {clusterIP: None, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}}", "", "", "", false},
		{"oneFamily", "it names two", "{spec: {clusterIP: None}}", "{spec: {clusterIP: None, ipFamilies: [IPv4, IPv6]}}", "", "", "", false},
		{"oneFamily", "it is not headless", "{spec: {clusterIP: 10.0.0.1}}", "{spec: {clusterIP: 10.0.0.1, ipFamilies: [IPv4]}}", "", "", "", false},
		{"oneFamily", "it becomes a name of another", "{spec: {clusterIP: None}}", "{spec: {type: ExternalName, ipFamilies: [IPv4]}}", "", "", "", false},
		{"oneFamily", "it was a name of another", "{spec: {type: ExternalName, clusterIP: None}}", "{spec: {ipFamilies: [IPv4]}}", "", "", "", false},
		{"oneFamily", "nothing changes", "{spec: {ipFamilies: [IPv4]}}", "{spec: {ipFamilies: [IPv4]}}", "{spec: {clusterIP: None}}", "", "", false},
		{"removedByNull", "the server's parameters go", "{spec: {strategy: {type: RollingUpdate}}}", "{spec: {strategy: {type: Recreate, rollingUpdate: null}}}", "{spec: {strategy: {rollingUpdate: {}}}}", "{spec: {strategy: {type: Recreate}}}", "", true},
		{"removedByNull", "of a StatefulSet", "{}", "{spec: {updateStrategy: {rollingUpdate: null}}}", "{spec: {updateStrategy: {rollingUpdate: {}}}}", "{spec: {}}", "", true},
		{"removedByNull", "they were the manifest's", "{spec: {strategy: {rollingUpdate: {}}}}", "{spec: {strategy: {rollingUpdate: null}}}", "", "{spec: {}}", "", false},
		{"removedByNull", "the server had none", "{}", "{spec: {strategy: {rollingUpdate: null}}}", "", "{spec: {}}", "", false},
		{"removedByNull", "they are left out", "{}", "{spec: {strategy: {}}}", "{spec: {strategy: {rollingUpdate: {}}}}", "{spec: {}}", "", false},
		{"removedByNull", "they are given", "{}", "{spec: {strategy: {rollingUpdate: {}}}}", "{spec: {strategy: {rollingUpdate: {}}}}", "{spec: {}}", "", false},
		{"removedByNull", "the server fills them in again", "{}", "{spec: {strategy: {rollingUpdate: null}}}", "{spec: {strategy: {rollingUpdate: {}}}}", "{spec: {strategy: {rollingUpdate: {}}}}", "", false},
	} {
		u := &update{oldObj: objectOf(t, row.oldObj), newObj: objectOf(t, row.newObj)}
		if u.stored = u.oldObj; row.stored != "" {
			u.stored = objectOf(t, row.stored)
		}
		if u.applied = u.newObj; row.applied != "" {
			u.applied = objectOf(t, row.applied)
		}
		value, holds := conditions()[row.name](u)
		if holds != row.holds || holds && value != row.value {
			t.Errorf("%s: %s: %q, %t, want %q, %t", row.name, row.reason, value, holds, row.value, row.holds)
		}
	}
}

// TestRemovedByApplier: it is known what each applier does with null.
func TestRemovedByApplier(t *testing.T) {
	removed := objectOf(t, "{spec: {strategy: {rollingUpdate: null}}}")
	u := &update{oldObj: objectOf(t, "{spec: {}}"), newObj: removed, stored: objectOf(t, "{spec: {strategy: {rollingUpdate: {}}}}"), applied: objectOf(t, "{spec: {}}")}
	for by, want := range map[Applier]bool{"": true, ApplierServerSide: false, ApplierClientSide: false} {
		u.by = by
		if _, holds := removedByNull(u); holds != want {
			t.Errorf("%q: %t", by, holds)
		}
	}
}

// TestLiveConditions: what the status of a claim in the cluster decides. A status in a manifest decides nothing.
func TestLiveConditions(t *testing.T) {
	claim := func(size, status string) string {
		return "{spec: {resources: {requests: {storage: " + size + "}}}, status: " + status + "}"
	}
	const pending, bound = "{phase: Pending}", "{phase: Bound, capacity: {storage: 3Gi}}"
	for _, row := range []struct {
		name, reason, oldObj, newObj string
		holds                        bool
	}{
		{"liveObject", "it is in the cluster", "{}", "{}", true},
		{"liveUnbound", "the claim waits for its volume", claim("1Gi", pending), "{}", true},
		{"liveUnbound", "it has its volume", claim("1Gi", bound), "{}", false},
		{"liveUnbound", "nobody knows", claim("1Gi", "{}"), "{}", false},
		{"unboundSize", "it asks for more", claim("1Gi", pending), claim("2Gi", "{}"), true},
		{"unboundSize", "it asks for as much", claim("1Gi", pending), claim("1Gi", "{}"), false},
		{"unboundSize", "it has its volume", claim("1Gi", bound), claim("2Gi", "{}"), false},
		{"unboundSize", "it asks for nothing any more", claim("1Gi", pending), "{spec: {resources: {}}}", true},
		{"unboundAttributes", "a class is set to null", "{spec: {}, status: {phase: Pending}}", "{spec: {volumeAttributesClassName: null}}", true},
		{"unboundAttributes", "another class", "{spec: {volumeAttributesClassName: a}, status: {phase: Pending}}", "{spec: {volumeAttributesClassName: b}}", true},
		{"unboundAttributes", "the same class", "{spec: {volumeAttributesClassName: a}, status: {phase: Pending}}", "{spec: {volumeAttributesClassName: a}}", false},
		{"belowCapacity", "below its volume", claim("5Gi", bound), claim("2Gi", "{}"), true},
		{"belowCapacity", "as large as its volume", claim("5Gi", bound), claim("3Gi", "{}"), true},
		{"belowCapacity", "after an expansion that failed", claim("5Gi", bound), claim("4Gi", "{}"), false},
		{"belowCapacity", "it does not shrink", claim("2Gi", bound), claim("2Gi", "{}"), false},
		{"belowCapacity", "it grows to less than its volume", claim("1Gi", bound), claim("2Gi", "{}"), false},
		{"belowCapacity", "there is no volume", claim("5Gi", "{phase: Pending, capacity: {storage: 3Gi}}"), claim("2Gi", "{}"), false},
		{"belowCapacity", "a size that cannot be read is none", claim("x", bound), claim("-1Gi", "{}"), true},
		{"liveSize", "there is no volume yet", claim("1Gi", pending), claim("2Gi", "{}"), true},
		{"liveSize", "it shrinks", claim("5Gi", bound), claim("4Gi", "{}"), true},
		{"liveSize", "the class has to allow that it grows", claim("5Gi", bound), claim("6Gi", "{}"), false},
		{"liveSize", "nothing changes", claim("5Gi", bound), claim("5Gi", "{}"), false},
	} {
		u := &update{oldObj: objectOf(t, row.oldObj), newObj: objectOf(t, row.newObj), live: true}
		u.stored, u.applied = u.oldObj, u.newObj
		if _, holds := conditions()[row.name](u); holds != row.holds {
			t.Errorf("%s: %s: %t", row.name, row.reason, holds)
		}
		u.live = false
		if _, holds := conditions()[row.name](u); holds {
			t.Errorf("%s: %s: it holds by the status of a manifest", row.name, row.reason)
		}
	}
}

// TestCheckLive: the status of an old object counts where the object is in a cluster, and only there.
func TestCheckLive(t *testing.T) {
	kinds, err := For("")
	if err != nil {
		t.Fatal(err)
	}
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: b}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: %s}}}, status: {phase: Pending}}"
	kind, ok := kinds.Find("v1", "PersistentVolumeClaim")
	if !ok {
		t.Fatal("there is no PersistentVolumeClaim")
	}
	newObj, oldObj := objectOf(t, fmt.Sprintf(claim, "2Gi")), objectOf(t, fmt.Sprintf(claim, "1Gi"))
	if v := kind.CheckBy(liveApply, newObj, oldObj); len(v.Violations) != 1 || len(v.Unknown) != 0 {
		t.Errorf("in a cluster: %+v", v)
	}
	if v := kind.Check(newObj, oldObj); len(v.Violations) != 0 || len(v.Unknown) != 1 {
		t.Errorf("in a manifest: %+v", v)
	}
}

// TestWrittenValue: a value as the manifest has it, where that says the same as the stored one.
func TestWrittenValue(t *testing.T) {
	manifest := objectOf(t, "{size: 5Gi, none: null, map: {a: b}, list: [a], text: x}")
	filled := map[string]any{"a": "b", "filled": "in"}
	for _, row := range []struct {
		path         string
		stored, want any
	}{
		{"size", "5368709120", "5Gi"},
		{"size", "5", "5"},
		{"text", "x", "x"},
		{"text", nil, nil},
		{"none", filled, filled},
		{"none", "x", "x"},
		{"absent", filled, filled},
		{"map", filled, map[string]any{"a": "b"}},
		{"list", []any{"a", "b"}, []any{"a"}},
	} {
		if got := written(manifest, row.path, row.stored); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s, stored as %v: %v, want %v", row.path, row.stored, got, row.want)
		}
	}
}

// TestAt: the value at a field path.
func TestAt(t *testing.T) {
	obj := objectOf(t, "{spec: {list: [{a: 1}, 2], m: {x.y/z: 3, '1': 4}, none: null}}")
	for path, want := range map[string]any{
		"spec.list[0].a": int64(1), "spec.list[1]": int64(2), "spec.m[x.y/z]": int64(3), "spec.m[1]": int64(4), "spec.none": nil,
		"spec.list[2]": "absent", "spec.list[-1]": "absent", "spec.list[x]": "absent", "spec.list.0": "absent", "spec.list[1].a": "absent", "spec.no": "absent", "spec.none.a": "absent",
	} {
		got, ok := fieldpath.At(obj, path)
		if !ok {
			got = "absent"
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
