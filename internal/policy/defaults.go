package policy

// Manifests leave out what the server fills in. A policy that reads such a field is run with both states that it can have.

// readsAbsent reports whether a validation reads a field that both objects leave out.
func (r *run) readsAbsent(newObj, oldObj map[string]any) bool {
	for _, text := range expressions(r.p.ValidatingAdmissionPolicy) {
		for _, read := range r.p.program.reads(text) {
			names := read.names()
			if (read.root == "object" || read.root == "oldObject") && len(names) > 0 && !free[names[0]] && !has(newObj, names) && !has(oldObj, names) {
				return true
			}
		}
	}
	return false
}

// has reports whether obj has the field; one below a list counts as there.
func has(obj map[string]any, names []string) bool {
	var v any = obj
	for _, name := range names {
		fields, ok := v.(map[string]any)
		if !ok {
			return true
		}
		if v, ok = fields[name]; !ok {
			return false
		}
	}
	return true
}

// free are the names of fields below which the server fills in nothing: maps with keys of the user's.
var free = map[string]bool{
	"metadata": true, "data": true, "binaryData": true, "stringData": true, "labels": true, "annotations": true, "matchLabels": true,
	"nodeSelector": true, "parameters": true,
}

// fill returns obj with what it leaves out and other has, except in free fields. It shares values with both.
func fill(obj, other map[string]any) map[string]any {
	filled := make(map[string]any, len(obj))
	for name, value := range other {
		if !free[name] {
			filled[name] = value
		}
	}
	for name, value := range obj {
		if !free[name] {
			value = fillValue(value, other[name])
		}
		filled[name] = value
	}
	return filled
}

func fillValue(value, other any) any {
	switch value := value.(type) {
	case map[string]any:
		if other, ok := other.(map[string]any); ok {
			return fill(value, other)
		}
	case []any:
		other, ok := other.([]any)
		if !ok || len(other) != len(value) {
			return value
		}
		filled := make([]any, len(value))
		for i := range value {
			filled[i] = fillValue(value[i], other[i])
		}
		return filled
	}
	return value
}
