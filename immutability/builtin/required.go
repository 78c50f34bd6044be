package builtin

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Missing returns the path of a field that obj lacks and without which no API server stores an object of the kind, such as
// the selector of a Deployment; "" if there is none. So it tells a patch from an object. Of versions that are gone, whose
// fields had other defaults, it returns "".
func (k *Kind) Missing(obj map[string]any) string {
	gv, err := schema.ParseGroupVersion(text(obj, "apiVersion"))
	if err != nil || gv.Group != k.Group || !slices.Contains(k.Versions, gv.Version) {
		return ""
	}
	for _, path := range k.source.Required {
		if lacks(obj, stepsOf(path)) {
			return path
		}
	}
	return ""
}

// lacks reports whether value lacks what steps lead to: it is absent, null or empty text, or an empty list.
func lacks(value any, steps []step) bool {
	if len(steps) == 0 {
		list, isList := value.([]any)
		return value == nil || value == "" || isList && len(list) == 0
	}
	if steps[0] == eachItem {
		items, _ := value.([]any)
		return slices.ContainsFunc(items, func(item any) bool { return lacks(item, steps[1:]) })
	}
	object, _ := value.(map[string]any)
	return lacks(object[string(steps[0])], steps[1:])
}
