package builtin

import (
	"maps"
	"slices"
	"strings"
)

// podSpec returns the rule for the pod spec at a path such as "spec.template.spec".
func podSpec(path string) preparation {
	names := strings.Split(path, ".")
	return func(obj map[string]any) {
		spec := obj
		for _, name := range names {
			spec = child(spec, name)
		}
		serviceAccount(spec)
		for _, container := range containersOf(spec) {
			pullPolicy(container, "image", "imagePullPolicy")
		}
		for _, volume := range objects(spec["volumes"]) {
			if len(volume) == 1 && volume["name"] != nil {
				volume["emptyDir"] = map[string]any{}
			}
			if image, ok := volume["image"].(map[string]any); ok {
				pullPolicy(image, "reference", "pullPolicy")
			}
		}
	}
}

// containersOf returns the containers and initContainers of a pod spec.
func containersOf(spec map[string]any) []map[string]any {
	return slices.Concat(objects(spec["containers"]), objects(spec["initContainers"]))
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
	name, digest, hasDigest := strings.Cut(text(of, image), "@")
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
	spec := object(obj, "spec")
	for _, container := range containersOf(spec) {
		if limits := object(container, "resources", "limits"); limits != nil {
			requests := child(object(container, "resources"), "requests")
			for _, name := range slices.Sorted(maps.Keys(limits)) {
				initial(requests, name, limits[name])
			}
		}
		if spec["hostNetwork"] == true {
			for _, port := range objects(container["ports"]) {
				initial(port, "hostPort", port["containerPort"])
			}
		}
	}
}

// tolerationSeconds drops how long a Pod tolerates a taint: that may change.
func tolerationSeconds(obj map[string]any) {
	for _, toleration := range objects(object(obj, "spec")["tolerations"]) {
		delete(toleration, "tolerationSeconds")
	}
}
