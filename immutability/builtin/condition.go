package builtin

import "reflect"

// conditions returns the checks and exceptions that neither a word nor CEL can express, by the names that the data
// gives them. Each gets prepared objects.
func conditions() map[string]func(newObj, oldObj map[string]any) bool {
	return map[string]func(newObj, oldObj map[string]any) bool{
		"storageClassUpgrade": storageClassUpgrade,
		"storedVersions":      storedVersions,
	}
}

// storageClassUpgrade reports whether a claim moves its class from the beta annotation to storageClassName.
func storageClassUpgrade(newObj, oldObj map[string]any) bool {
	const beta = "volume.beta.kubernetes.io/storage-class"
	was, annotated := object(oldObj, "metadata", "annotations")[beta].(string)
	is, still := object(newObj, "metadata", "annotations")[beta].(string)
	_, named := object(oldObj, "spec")["storageClassName"]
	return annotated && !named && text(newObj, "spec", "storageClassName") == was && (!still || is == was)
}

// storedVersions reports whether a CRD keeps the version that it stored objects in.
func storedVersions(newObj, oldObj map[string]any) bool {
	for _, was := range objects(object(oldObj, "spec")["versions"]) {
		if was["storage"] != true {
			continue
		}
		kept := false
		for _, is := range objects(object(newObj, "spec")["versions"]) {
			kept = kept || is["name"] == was["name"]
		}
		if !kept {
			return false
		}
	}
	return true
}

// parents gives defaults to the objects that a Go struct always has: a lock below spec compares a missing spec with one
// that is there.
func parents(f *field, t reflect.Type) {
	if t == nil {
		if spec := f.properties["spec"]; spec != nil && !spec.hasDefault {
			spec.value, spec.hasDefault = map[string]any{}, true
		}
		return
	}
	var types canonicalizer
	known := types.fields(t)
	for name, p := range f.properties {
		ft := known[name]
		if ft == nil || len(p.properties) == 0 || ft.Kind() != reflect.Struct || name == "metadata" {
			descend(p, ft)
			continue
		}
		if !p.hasDefault {
			p.value, p.hasDefault = map[string]any{}, true
		}
		parents(p, ft)
	}
}

// descend looks for structs below pointers, lists and maps.
func descend(f *field, t reflect.Type) {
	for t != nil {
		switch {
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case t.Kind() == reflect.Slice && f.items != nil:
			f, t = f.items, t.Elem()
		case t.Kind() == reflect.Struct && len(f.properties) > 0:
			parents(f, t)
			return
		default:
			return
		}
	}
}
