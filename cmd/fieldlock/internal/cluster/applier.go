package cluster

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// applier is who applies an object. It decides which fields an apply removes: those that it applied last time and that the
// manifest leaves out. A field that only the server, a controller or another applier has set stays.
type applier struct {
	manager  string // of server-side apply
	updates  bool   // the manager wrote the object without apply so far, as Helm 3 does
	original []byte // of client-side apply: the manifest that was applied last, otherwise nil
}

const (
	// newManager applies an object that nobody has applied yet.
	newManager = "fieldlock"
	// helmManager is the name under which Helm writes: Helm 3 by updates, Helm 4 by server-side apply.
	helmManager = "helm"
	// lastApplied is the annotation of client-side apply.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// applierOf returns who has applied most of the fields that the manifest has. Server-side apply goes before client-side
// apply, of which the annotation may be a leftover.
func applierOf(live, manifest *unstructured.Unstructured) applier {
	best, most := applier{manager: newManager}, 0
	helm := false
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		if entry.Operation != metav1.ManagedFieldsOperationApply {
			helm = helm || entry.Manager == helmManager
			continue
		}
		n := common(decoded(entry.FieldsV1.Raw), manifest.Object, "f:")
		if n > most || n == most && n > 0 && entry.Manager < best.manager {
			best, most = applier{manager: entry.Manager}, n
		}
	}
	if text := live.GetAnnotations()[lastApplied]; text != "" {
		if n := common(decoded([]byte(text)), manifest.Object, ""); n > most {
			best, most = applier{original: []byte(text)}, n
		}
	}
	if most == 0 && helm {
		return applier{manager: helmManager, updates: true}
	}
	return best
}

// decoded returns an object of JSON; nil for a text that is something else.
func decoded(text []byte) map[string]any {
	var object map[string]any
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	return object
}

// common counts the members of object that set has under prefix and the name, at any depth but not below lists. What
// identifies an object does not count.
func common(set, object map[string]any, prefix string) int {
	n := 0
	for name, value := range object {
		if name == "apiVersion" || name == "kind" || name == "name" || name == "namespace" {
			continue
		}
		other, ok := set[prefix+name]
		if !ok {
			continue
		}
		n++
		otherObject, _ := other.(map[string]any)
		valueObject, _ := value.(map[string]any)
		n += common(otherObject, valueObject, prefix)
	}
	return n
}
