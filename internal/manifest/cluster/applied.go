package cluster

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// asManifest returns a live object as the manifest that it was last applied from would have it, as far as a comparison
// with the new manifest needs that: the fields that the new manifest sets too, and the fields that a client has applied.
// A field that only the server or a controller has set is left out: an apply that does not name it keeps it.
func asManifest(live *unstructured.Unstructured, newObj map[string]any) *unstructured.Unstructured {
	applied := appliedFields(live)
	out := project(live.Object, newObj, applied).(map[string]any)
	out["apiVersion"], out["kind"] = live.GetAPIVersion(), live.GetKind()
	metadata := map[string]any{"name": live.GetName()}
	if live.GetNamespace() != "" {
		metadata["namespace"] = live.GetNamespace()
	}
	if projected, ok := out["metadata"].(map[string]any); ok && projected["annotations"] != nil {
		metadata["annotations"] = projected["annotations"]
	}
	if managed, ok, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields"); ok {
		metadata["managedFields"] = managed // for who last set a field
	}
	out["metadata"] = metadata
	delete(out, "status")
	return &unstructured.Unstructured{Object: out}
}

// fields is a set of fields: what is below each key. A nil value is a leaf.
type fields map[string]fields

// appliedFields returns the fields that clients have applied: those of managers that apply on the server, and those of
// the annotation that kubectl apply writes.
func appliedFields(live *unstructured.Unstructured) fields {
	all := fields{}
	for _, entry := range live.GetManagedFields() {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var set map[string]any
		if json.Unmarshal(entry.FieldsV1.Raw, &set) == nil {
			all.addManaged(set)
		}
	}
	var last map[string]any
	if json.Unmarshal([]byte(live.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]), &last) == nil {
		all.addObject(last)
	}
	return all
}

// addManaged adds a set in the form of managedFields: "f:NAME" is a field, "k:{...}" and "v:..." are items of lists.
func (f fields) addManaged(set map[string]any) {
	for key, below := range set {
		name := key
		switch {
		case key == ".":
			continue
		case len(key) > 2 && key[:2] == "f:":
			name = key[2:]
		case len(key) > 2 && key[:2] == "k:":
			name = itemName(key[2:])
		}
		if f[name] == nil {
			f[name] = fields{}
		}
		if object, ok := below.(map[string]any); ok {
			f[name].addManaged(object)
		}
	}
}

// itemName returns the key of an item in fields: its name where it has one, otherwise its keys as JSON.
func itemName(keys string) string {
	var object map[string]any
	if json.Unmarshal([]byte(keys), &object) == nil {
		if name, ok := object["name"].(string); ok {
			return "[" + name + "]"
		}
	}
	return "[" + keys + "]"
}

// addObject adds all fields of a manifest.
func (f fields) addObject(object map[string]any) {
	for name, v := range object {
		if f[name] == nil {
			f[name] = fields{}
		}
		f[name].addValue(v)
	}
}

func (f fields) addValue(v any) {
	switch v := v.(type) {
	case map[string]any:
		f.addObject(v)
	case []any:
		for _, item := range v {
			if name := nameOf(item); name != "" {
				f.addObject(map[string]any{"[" + name + "]": item})
			}
		}
	}
}

// nameOf returns the name of a list item, "" for one without.
func nameOf(item any) string {
	object, _ := item.(map[string]any)
	name, _ := object["name"].(string)
	return name
}

// project returns what is in live and also in newVal or applied. Lists of named items are projected item by item; other
// lists are kept whole, as an apply replaces them.
func project(live, newVal any, applied fields) any {
	switch live := live.(type) {
	case map[string]any:
		newObj, isObject := newVal.(map[string]any)
		if !isObject && len(applied) == 0 {
			return live // applied as a whole
		}
		out := map[string]any{}
		for name, v := range live {
			below, isApplied := applied[name]
			newMember, isNew := newObj[name]
			if isNew || isApplied {
				out[name] = project(v, newMember, below)
			}
		}
		return out
	case []any:
		return projectList(live, newVal, applied)
	}
	return live
}

func projectList(live []any, newVal any, applied fields) any {
	news := map[string]any{}
	newList, _ := newVal.([]any)
	for _, item := range newList {
		news[nameOf(item)] = item
	}
	out := []any{}
	for _, item := range live {
		name := nameOf(item)
		if name == "" {
			return live
		}
		below, isApplied := applied["["+name+"]"]
		newItem, isNew := news[name]
		if isNew || isApplied {
			out = append(out, project(item, newItem, below))
		}
	}
	return out
}
