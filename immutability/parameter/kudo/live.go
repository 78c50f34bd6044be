package kudo

import (
	"fmt"
	"strings"
)

// FindLive returns the live object of a rendered one, or nil: both have the same group,
// kind, namespace and name. A rendered object without a namespace means any, since KUDO fills in the Instance's. The
// error says that several live objects fit.
func FindLive(object map[string]any, live []map[string]any) (map[string]any, error) {
	var found map[string]any
	for _, candidate := range live {
		namespace := metadataOf(object, "namespace")
		if groupKind(object) != groupKind(candidate) || metadataOf(object, "name") != metadataOf(candidate, "name") ||
			namespace != "" && namespace != metadataOf(candidate, "namespace") {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("several live objects have the kind %v and the name %q: give the manifest a namespace", object["kind"], metadataOf(object, "name"))
		}
		found = candidate
	}
	return found, nil
}

// groupKind returns the kind and its group, which an object keeps in all versions of the API.
func groupKind(object map[string]any) [2]string {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	return [2]string{group, kind}
}

func metadataOf(object map[string]any, field string) string {
	metadata, _ := object["metadata"].(map[string]any)
	text, _ := metadata[field].(string)
	return text
}
