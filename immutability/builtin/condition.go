package builtin

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// update is a change of an object.
type update struct {
	by              Applier        // "" where it is not known
	newObj, oldObj  map[string]any // as the manifests have them
	applied, stored map[string]any // as the server has them
	live            bool           // oldObj was read from the cluster, so that its status counts
	unmerged        bool           // the request fails, and one for oldObj does not
}

// condition reports whether something holds of an update; value is what the row's text names, or "".
type condition func(u *update) (value string, holds bool)

// conditions returns the checks and exceptions that neither a word nor CEL can express, by the names that the data
// gives them. A check is broken when its condition holds.
func conditions() map[string]condition {
	return map[string]condition{
		"storageClassUpgrade": storageClassUpgrade,
		"storedVersions":      storedVersions,
		"servedVersions":      servedVersions,
		"topologyUpgrade":     topologyUpgrade,
		"emptyRanges":         emptyRanges,
		"emptyData":           emptyMap("data"),
		"emptyBinaryData":     emptyMap("binaryData"),
		"emptyParameters":     emptyMap("parameters"),
		"removedByNull":       removedByNull,
		"oneFamily":           oneFamily,
		"namedUID":            namedUID,
		"manualSelectorOff":   manualSelectorOff,
		"liveObject":          func(u *update) (string, bool) { return "", u.live },
		"liveSize":            liveSize,
		"liveUnbound":         liveUnbound,
		"unboundSize":         unboundChange("resources", "requests"),
		"unboundAttributes":   unboundChange("volumeAttributesClassName"),
		"belowCapacity":       belowCapacity,
		"sourceElsewhere":     sourceElsewhere,
		"sourceHere": func(u *update) (string, bool) {
			_, elsewhere := sourceElsewhere(u)
			return "",
				!elsewhere
		},

		"labelsOutsideSelector": labelsOutsideSelector,
	}
}

// storageClassUpgrade reports whether a claim moves its class from the beta annotation to storageClassName.
func storageClassUpgrade(u *update) (string, bool) {
	const beta = "volume.beta.kubernetes.io/storage-class"
	was, annotated := fieldpath.Object(u.stored, "metadata", "annotations")[beta].(string)
	is, still := fieldpath.Object(u.applied, "metadata", "annotations")[beta].(string)
	_, named := fieldpath.Object(u.stored, "spec")["storageClassName"]
	return was, annotated && !named && fieldpath.Text(u.applied, "spec", "storageClassName") == was &&
		(!still || is == was)
}

// liveUnbound reports whether the status of a claim in the cluster says that it has no volume.
func liveUnbound(u *update) (string, bool) {
	phase := fieldpath.Text(u.oldObj, "status", "phase")
	return "", u.live && phase != "" && phase != "Bound"
}

// sourceElsewhere reports whether a claim has no source in its own namespace, before and after the update. The server
// drops a reference to another namespace from a claim without a source, unless the alpha feature
// CrossNamespaceVolumeDataSource is on.
func sourceElsewhere(u *update) (string, bool) {
	for _, obj := range []map[string]any{u.applied, u.stored} {
		if ref, ok := fieldpath.Object(obj, "spec")["dataSourceRef"].(map[string]any); ok &&
			fieldpath.Text(ref, "namespace") == "" {
			return "", false
		}
	}
	return "", true
}

// unboundChange reports whether a field of a claim without a volume changes.
func unboundChange(names ...string) condition {
	return func(u *update) (string, bool) {
		_, unbound := liveUnbound(u)
		steps := fieldpath.Parse("spec." + strings.Join(names, "."))
		is, has := steps.In(u.applied)
		was, had := steps.In(u.stored)
		return "", unbound && (has != had || !jsonvalue.Equal(is, was))
	}
}

// claimSizes returns the sizes that a claim asks for, and the size of its volume.
func claimSizes(u *update) (is, was, volume resource.Quantity) {
	size := func(obj map[string]any, names ...string) resource.Quantity {
		q, err := canonical.ParseQuantity(fieldpath.Text(obj, append(names, "storage")...))
		if err != nil {
			return resource.Quantity{}
		}
		return q
	}
	return size(u.applied, "spec", "resources", "requests"), size(u.stored, "spec", "resources", "requests"),
		size(u.oldObj, "status", "capacity")
}

// belowCapacity reports whether a claim in the cluster would shrink to the size of its volume or less. It may shrink to
// more, after an expansion that failed.
func belowCapacity(u *update) (string, bool) {
	_, unbound := liveUnbound(u)
	is, was, volume := claimSizes(u)
	return "", u.live && !unbound && is.Cmp(was) < 0 && is.Cmp(volume) <= 0
}

// liveSize reports whether the status of a claim decides whether its size may change. The class of a bound claim that
// grows has to allow it.
func liveSize(u *update) (string, bool) {
	_, unbound := liveUnbound(u)
	is, was, _ := claimSizes(u)
	return "", unbound || u.live && is.Cmp(was) < 0
}

// topologyUpgrade reports whether a volume's affinity changes in nothing but labels that get their present names.
func topologyUpgrade(u *update) (string, bool) {
	present := map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   "topology.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
		"beta.kubernetes.io/os":                    "kubernetes.io/os",
		"beta.kubernetes.io/arch":                  "kubernetes.io/arch",
		"beta.kubernetes.io/instance-type":         "node.kubernetes.io/instance-type",
	}
	terms := func(obj map[string]any) []map[string]any {
		return fieldpath.Objects(fieldpath.Object(obj, "spec", "nodeAffinity", "required")["nodeSelectorTerms"])
	}
	was, _ := jsonvalue.Clone(u.stored).(map[string]any)
	is, olds := terms(u.applied), terms(was)
	for i := range min(len(is), len(olds)) {
		newExpressions, oldExpressions := fieldpath.Objects(is[i]["matchExpressions"]), fieldpath.Objects(olds[i]["matchExpressions"])
		for j := range min(len(newExpressions), len(oldExpressions)) {
			if name, ok := present[fieldpath.Text(oldExpressions[j], "key")]; ok &&
				fieldpath.Text(newExpressions[j], "key") == name {
				oldExpressions[j]["key"] = name
			}
		}
	}
	return "", reflect.DeepEqual(fieldpath.Object(u.applied, "spec", "nodeAffinity"),
		fieldpath.Object(was, "spec", "nodeAffinity"))
}

// emptyRanges reports whether a Node that has ranges gets an explicit empty list.
func emptyRanges(u *update) (string, bool) {
	list, named := fieldpath.Object(u.newObj, "spec")["podCIDRs"].([]any)
	_, had := fieldpath.Object(u.stored, "spec")["podCIDRs"]
	return "", named && len(list) == 0 && had && !reflect.DeepEqual(u.newObj, u.oldObj)
}

// storedVersions returns the version that a CRD stored objects in, when the CRD drops it.
func storedVersions(u *update) (string, bool) {
	return droppedVersion(u, func(was map[string]any) bool { return was["storage"] == true })
}

// servedVersions returns a version that a CRD served and did not store objects in, when the CRD drops it. Of a live
// object, the status tells which versions were stored, and the server has answered.
func servedVersions(u *update) (string, bool) {
	if u.live {
		return "", false
	}
	return droppedVersion(u, func(was map[string]any) bool { return was["storage"] != true && was["served"] == true })
}

// droppedVersion returns the first version of a CRD that counts and that the CRD drops.
func droppedVersion(u *update, counts func(was map[string]any) bool) (string, bool) {
	for _, was := range fieldpath.Objects(fieldpath.Object(u.stored, "spec")["versions"]) {
		kept := !counts(was)
		for _, is := range fieldpath.Objects(fieldpath.Object(u.applied, "spec")["versions"]) {
			kept = kept || jsonvalue.Equal(is["name"], was["name"])
		}
		if !kept {
			return fieldpath.Text(was, "name"), true
		}
	}
	return "", false
}

// manualSelectorOff reports whether a Job leaves its selector to the server from now on, and its pods do not have the
// labels that the server would have given them: they are made at creation only.
func manualSelectorOff(u *update) (string, bool) {
	is, was := fieldpath.Object(u.applied, "spec"), fieldpath.Object(u.stored, "spec")
	labels := fieldpath.Object(is, "template", "metadata", "labels")
	return "", was["manualSelector"] == true && is["manualSelector"] != true &&
		fieldpath.Text(labels, "controller-uid") == ""
}

// labelsOutsideSelector reports whether the labels of a ReplicationController's template do not match its selector.
func labelsOutsideSelector(u *update) (string, bool) {
	labels := fieldpath.Object(u.applied, "spec", "template", "metadata", "labels")
	for name, value := range fieldpath.Object(u.applied, "spec", "selector") {
		if label, ok := labels[name]; !ok || !jsonvalue.Equal(label, value) {
			return "", true
		}
	}
	return "", false
}

// emptyMap reports whether a changed manifest has an empty map where the server has none: storage drops empty maps, and
// some comparisons tell the two apart.
func emptyMap(name string) condition {
	return func(u *update) (string, bool) {
		is, there := u.newObj[name].(map[string]any)
		_, stored := u.stored[name]
		return "", there && len(is) == 0 && !stored && !reflect.DeepEqual(u.newObj, u.oldObj)
	}
}

// namedUID reports whether a Job names a uid that it did not name before.
func namedUID(u *update) (string, bool) {
	was := map[string]bool{}
	for _, labels := range jobLabels(u.oldObj) {
		for _, name := range uidLabels {
			was[fieldpath.Text(labels, name)] = true
		}
	}
	for _, labels := range jobLabels(u.newObj) {
		for _, name := range uidLabels {
			if uid := fieldpath.Text(labels, name); uid != "" && !was[uid] &&
				fieldpath.Object(u.applied, "spec")["manualSelector"] != true {
				return uid, true
			}
		}
	}
	return "", false
}

// oneFamily reports whether a changed manifest names one address family for a headless Service that was made without a
// selector: the server gave it two families, even in a cluster with one family, unless its policy was SingleStack. Only
// that policy releases the second one.
func oneFamily(u *update) (string, bool) {
	const policy, single, outside = "ipFamilyPolicy", "SingleStack", "ExternalName"
	is, was := fieldpath.Object(u.applied, "spec"), fieldpath.Object(u.stored, "spec")
	families, _ := is["ipFamilies"].([]any)
	_, selects := was["selector"]
	return "", len(families) == 1 && fieldpath.Text(was, "clusterIP") == "None" && !selects &&
		fieldpath.Text(was, policy) != single &&
		fieldpath.Text(is, policy) != single &&
		fieldpath.Text(is, "type") != outside && fieldpath.Text(was, "type") != outside &&
		!reflect.DeepEqual(u.newObj, u.oldObj)
}

// removedByNull reports whether a manifest removes the parameters of a rolling update with null, and it is not known
// whether its applier sends null.
func removedByNull(u *update) (string, bool) {
	if u.by != "" {
		return "", false
	}
	for _, name := range []string{"strategy", "updateStrategy"} {
		const parameters = "rollingUpdate"
		strategy := fieldpath.Object(u.newObj, "spec", name)
		value, named := strategy[parameters]
		_, was := fieldpath.Object(u.stored, "spec", name)[parameters]
		_, owned := fieldpath.Object(u.oldObj, "spec", name)[parameters]
		if _, is := fieldpath.Object(u.applied, "spec", name)[parameters]; named && value == nil &&
			was && !owned && !is {
			return "", true
		}
	}
	return "", false
}

// parents holds the objects that a Go struct always has: a lock below spec compares a missing spec with one that is
// there.
func parents(f *kind.Field, t reflect.Type) {
	if t == nil {
		if spec := f.Properties()["spec"]; spec != nil {
			spec.Held = true
		}
		return
	}
	var types structTypes
	known := types.fields(t).types
	for name, p := range f.Properties() {
		ft := known[name]
		if ft == nil || len(p.Properties()) == 0 || ft.Kind() != reflect.Struct || name == "metadata" {
			descend(p, ft)
			continue
		}
		p.Held = true
		parents(p, ft)
	}
}

// descend looks for structs below pointers, lists and maps.
func descend(f *kind.Field, t reflect.Type) {
	for t != nil {
		switch {
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case t.Kind() == reflect.Slice && f.Items() != nil:
			f, t = f.Items(), t.Elem()
		case t.Kind() == reflect.Struct && len(f.Properties()) > 0:
			parents(f, t)
			return
		default:
			return
		}
	}
}
