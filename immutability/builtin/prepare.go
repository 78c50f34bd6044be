package builtin

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// preparations returns the rules by the names that the data gives them. podSpec is made for the kind's pod spec.
func preparations() map[string]preparation {
	return map[string]preparation{
		"controllerSelector":  controllerSelector,
		"deploymentStrategy":  deploymentStrategy,
		"statefulSetStrategy": statefulSetStrategy,
		"claimTemplates":      claimTemplates,
		"jobDefaults":         jobDefaults,
		"jobSelector":         jobSelector,
		"jobUID":              jobUID,
		"serviceAddresses":    serviceAddresses,
		"podAccount":          podAccount,
		"podRequests":         podRequests,
		"tolerationSeconds":   tolerationSeconds,
		"configMapData":       configMapData,
		"secretData":          secretData,
		"claimSource":         claimSource,
		"podRanges":           podRanges,
		"uniqueScopes":        uniqueScopes,
		"policyTypes":         policyTypes,
		"claimRequests":       func(obj map[string]any) { deviceCounts(fieldpath.Object(obj, "spec", "devices")) },
		"claimTemplateRequests": func(obj map[string]any) {
			deviceCounts(fieldpath.Object(obj, "spec", "spec", "devices"))
		},
	}
}

// controllerSelector makes the selector of a ReplicationController of its template's labels.
func controllerSelector(obj map[string]any) {
	s := child(obj, "spec")
	labels := fieldpath.Object(s, "template", "metadata", "labels")
	if selector, ok := s["selector"].(map[string]any); len(labels) > 0 && len(selector) == 0 &&
		(ok || s["selector"] == nil) {
		s["selector"] = jsonvalue.Clone(labels)
	}
}

// deploymentStrategy fills in the parameters of a rolling update.
func deploymentStrategy(obj map[string]any) {
	strategy := child(child(obj, "spec"), "strategy")
	initial(strategy, "type", "RollingUpdate")
	if strategy["type"] == "RollingUpdate" {
		rolling := child(strategy, "rollingUpdate")
		initial(rolling, "maxUnavailable", "25%")
		initial(rolling, "maxSurge", "25%")
	}
}

// statefulSetStrategy fills in the parameters of a rolling update: all of them only where no type is given.
func statefulSetStrategy(obj map[string]any) {
	strategy := child(child(obj, "spec"), "updateStrategy")
	if _, ok := strategy["type"]; !ok {
		strategy["type"] = "RollingUpdate"
		child(strategy, "rollingUpdate")
	}
	if rolling, ok := strategy["rollingUpdate"].(map[string]any); ok && strategy["type"] == "RollingUpdate" {
		initial(rolling, "partition", int64(0))
	}
}

// claimTemplates drops the type of volume claim templates: the server does not keep it.
func claimTemplates(obj map[string]any) {
	for _, template := range fieldpath.Objects(fieldpath.Object(obj, "spec")["volumeClaimTemplates"]) {
		delete(template, "apiVersion")
		delete(template, "kind")
	}
}

// jobDefaults fills in how many pods a Job runs.
func jobDefaults(obj map[string]any) {
	spec := child(obj, "spec")
	if _, ok := spec["parallelism"]; !ok {
		initial(spec, "completions", int64(1))
		spec["parallelism"] = int64(1)
	}
}

// chosen represents a value that the server made up.
const chosen = "(chosen by the server)"

// jobSelector fills in the labels and the selector by which a Job finds its pods.
func jobSelector(obj map[string]any) {
	spec := child(obj, "spec")
	if spec["manualSelector"] == true {
		return
	}
	labels := child(child(child(spec, "template"), "metadata"), "labels")
	for _, name := range []string{"job-name", "batch.kubernetes.io/job-name"} {
		initial(labels, name, fieldpath.Text(obj, "metadata", "name"))
	}
	for _, name := range uidLabels {
		initial(labels, name, chosen)
	}
	initial(child(child(spec, "selector"), "matchLabels"), "batch.kubernetes.io/controller-uid", chosen)
}

// uidLabels are the labels by which a Job finds its pods: their value is the Job's uid.
var uidLabels = [...]string{"controller-uid", "batch.kubernetes.io/controller-uid"}

// jobUID replaces the uid that a manifest exported from a cluster names: the server refuses any but the Job's own.
func jobUID(obj map[string]any) {
	spec := fieldpath.Object(obj, "spec")
	if spec["manualSelector"] == true {
		return
	}
	for _, labels := range jobLabels(obj) {
		for _, name := range uidLabels {
			if _, ok := labels[name]; ok {
				labels[name] = chosen
			}
		}
	}
}

// jobLabels returns the labels of a Job's pods, and those that its selector asks for.
func jobLabels(obj map[string]any) []map[string]any {
	return []map[string]any{fieldpath.Object(obj, "spec", "template", "metadata", "labels"),
		fieldpath.Object(obj, "spec", "selector", "matchLabels")}
}

// serviceAddresses copies clusterIP to clusterIPs.
func serviceAddresses(obj map[string]any) {
	spec := child(obj, "spec")
	if address := fieldpath.Text(spec, "clusterIP"); address != "" {
		initial(spec, "clusterIPs", []any{address})
	}
}

// configMapData makes absent data empty.
func configMapData(obj map[string]any) { child(obj, "data") }

// secretData merges stringData into data.
func secretData(obj map[string]any) {
	if plain, ok := obj["stringData"].(map[string]any); ok {
		data := child(obj, "data")
		for key, value := range plain {
			if s, ok := value.(string); ok {
				data[key] = base64.StdEncoding.EncodeToString([]byte(s))
			}
		}
	}
	delete(obj, "stringData")
}

// podRanges makes podCIDR the first of podCIDRs. Where they differ, podCIDR counts.
func podRanges(obj map[string]any) {
	spec := fieldpath.Object(obj, "spec")
	ranges, _ := spec["podCIDRs"].([]any)
	if one := fieldpath.Text(spec, "podCIDR"); one != "" && (len(ranges) == 0 || ranges[0] != one) {
		ranges = []any{one}
		spec["podCIDRs"] = ranges
	}
	if len(ranges) > 0 {
		spec["podCIDR"] = ranges[0]
	}
}

// uniqueScopes drops the repeated scopes of a quota.
func uniqueScopes(obj map[string]any) {
	spec := fieldpath.Object(obj, "spec")
	if scopes, ok := spec["scopes"].([]any); ok {
		seen := map[string]bool{}
		spec["scopes"] = slices.DeleteFunc(scopes, func(scope any) bool {
			name, ok := scope.(string)
			again := ok && seen[name]
			seen[name] = true
			return again
		})
	}
}

// claimSource copies dataSource to dataSourceRef and back. A dataSource that is neither a claim nor a snapshot is
// dropped from a claim without a source, see keepClaimSource.
func claimSource(obj map[string]any) {
	spec := fieldpath.Object(obj, "spec")
	source, hasSource := spec["dataSource"].(map[string]any)
	ref, hasRef := spec["dataSourceRef"].(map[string]any)
	known := source["kind"] == "PersistentVolumeClaim" && fieldpath.Text(source, "apiGroup") == "" ||
		source["kind"] == "VolumeSnapshot" && fieldpath.Text(source, "apiGroup") == "snapshot.storage.k8s.io"
	switch {
	case hasSource && !hasRef && !known:
		delete(spec, "dataSource")
	case hasSource && !hasRef:
		spec["dataSourceRef"] = jsonvalue.Clone(source)
	case hasRef && !hasSource && fieldpath.Text(ref, "namespace") == "":
		spec["dataSource"] = jsonvalue.Clone(ref)
		delete(fieldpath.Object(spec, "dataSource"), "namespace")
	}
}

// keepClaimSource copies dataSource to dataSourceRef where the stored claim has a source: the server drops none then.
// An apply that leaves out the dataSourceRef of before changes nothing, since the server has made a dataSource of it.
func keepClaimSource(applied, stored map[string]any) map[string]any {
	spec, was := fieldpath.Object(applied, "spec"), fieldpath.Object(stored, "spec")
	source, ok := spec["dataSource"].(map[string]any)
	if !ok || spec["dataSourceRef"] != nil || was["dataSource"] == nil && was["dataSourceRef"] == nil {
		return applied
	}
	spec, applied = maps.Clone(spec), maps.Clone(applied)
	spec["dataSourceRef"], applied["spec"] = jsonvalue.Clone(source), spec
	return applied
}

// policyTypes fills in what a NetworkPolicy applies to.
func policyTypes(obj map[string]any) {
	spec := child(obj, "spec")
	if types, _ := spec["policyTypes"].([]any); len(types) > 0 {
		return
	}
	types := []any{"Ingress"}
	if egress, _ := spec["egress"].([]any); len(egress) > 0 {
		types = append(types, "Egress")
	}
	spec["policyTypes"] = types
}

// deviceCounts fills in how many devices a request asks for.
func deviceCounts(devices map[string]any) {
	count := func(request map[string]any) {
		initial(request, "allocationMode", "ExactCount")
		if request["allocationMode"] == "ExactCount" {
			initial(request, "count", int64(1))
		}
	}
	for _, request := range fieldpath.Objects(devices["requests"]) {
		if exactly, ok := request["exactly"].(map[string]any); ok {
			count(exactly)
		} else if _, ok := request["deviceClassName"]; ok { // v1beta1
			count(request)
		}
		for _, sub := range fieldpath.Objects(request["firstAvailable"]) {
			count(sub)
		}
	}
}

// preparation is one rule of how an API server stores an object, beyond the canonical form of each field and the
// defaults in the data. It changes obj.
type preparation func(obj map[string]any)

// retention is a rule of what an update keeps of the stored object. It returns the applied object with it, and changes
// neither.
type retention func(applied, stored map[string]any) map[string]any

// retentions returns the rules by the names that the data gives them.
func retentions() map[string]retention { return map[string]retention{"claimSource": keepClaimSource} }

// child returns the object under a name, and makes it if it is missing.
func child(of map[string]any, name string) map[string]any {
	if of == nil {
		return map[string]any{}
	}
	if c, ok := of[name].(map[string]any); ok {
		return c
	}
	c := map[string]any{}
	if _, taken := of[name]; !taken {
		of[name] = c
	}
	return c
}

// initial sets a member that is absent.
func initial(of map[string]any, name string, value any) {
	if _, ok := of[name]; !ok && of != nil {
		of[name] = value
	}
}

// podSpec returns the rule for the pod spec at a path such as "spec.template.spec".
func podSpec(path string) preparation {
	names := strings.Split(path, ".")
	metadata := append(names[:len(names)-1:len(names)-1], "metadata")
	return func(obj map[string]any) {
		initContainerAnnotations(fieldpath.Object(obj, metadata...))
		spec := obj
		for _, name := range names {
			spec = child(spec, name)
		}
		serviceAccount(spec)
		for _, container := range containersOf(spec) {
			pullPolicy(container, "image", "imagePullPolicy")
		}
		for _, volume := range fieldpath.Objects(spec["volumes"]) {
			if len(volume) == 1 && volume["name"] != nil {
				volume["emptyDir"] = map[string]any{}
			}
			if image, ok := volume["image"].(map[string]any); ok {
				pullPolicy(image, "reference", "pullPolicy")
			}
		}
	}
}

// initContainerAnnotations drops the annotations that held the init containers of a Pod before initContainers did.
func initContainerAnnotations(metadata map[string]any) {
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		return
	}
	for _, stage := range [...]string{"alpha", "beta"} {
		for _, name := range [...]string{"init-containers", "init-container-statuses"} {
			delete(annotations, "pod."+stage+".kubernetes.io/"+name)
		}
	}
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// containersOf returns the containers and initContainers of a pod spec.
func containersOf(spec map[string]any) []map[string]any {
	return slices.Concat(fieldpath.Objects(spec["containers"]), fieldpath.Objects(spec["initContainers"]))
}

// serviceAccount fills in the deprecated name of serviceAccountName, and the other way round.
func serviceAccount(spec map[string]any) {
	if name, ok := spec["serviceAccount"]; ok {
		initial(spec, "serviceAccountName", name)
	}
	if name, ok := spec["serviceAccountName"]; ok {
		spec["serviceAccount"] = name
	}
}

// podAccount fills in the service account of a Pod, as the admission plugin ServiceAccount does.
func podAccount(obj map[string]any) {
	spec := child(obj, "spec")
	if _, ok := spec["serviceAccount"]; !ok {
		initial(spec, "serviceAccountName", "default")
	}
}

// pullPolicy fills in whether an image is pulled each time: when its tag is "latest", or missing without a digest.
func pullPolicy(of map[string]any, image, policy string) {
	name, digest, hasDigest := strings.Cut(fieldpath.Text(of, image), "@")
	tag := ""
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		tag = name[colon+1:]
	}
	if tag == "latest" || tag == "" && !(hasDigest && digest != "") {
		initial(of, policy, "Always")
	} else {
		initial(of, policy, "IfNotPresent")
	}
}

// podRequests fills in what the server defaults in Pods, not in templates: requests from limits, and the host's ports
// of a Pod in the host's network.
func podRequests(obj map[string]any) {
	spec := fieldpath.Object(obj, "spec")
	for _, container := range containersOf(spec) {
		if limits := fieldpath.Object(container, "resources", "limits"); limits != nil {
			requests := child(fieldpath.Object(container, "resources"), "requests")
			for _, name := range slices.Sorted(maps.Keys(limits)) {
				initial(requests, name, limits[name])
			}
		}
		if spec["hostNetwork"] == true {
			for _, port := range fieldpath.Objects(container["ports"]) {
				initial(port, "hostPort", port["containerPort"])
			}
		}
	}
}

// tolerationSeconds drops how long a Pod tolerates a taint: that may change.
func tolerationSeconds(obj map[string]any) {
	for _, toleration := range fieldpath.Objects(fieldpath.Object(obj, "spec")["tolerations"]) {
		delete(toleration, "tolerationSeconds")
	}
}
