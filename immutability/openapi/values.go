package openapi

import "maps"

// MergeValues returns the values of a Helm chart as its templates see them: values over the defaults of values.yaml.
// Objects merge member by member, lists and scalars are replaced, and null removes a default, as helm does it. Neither
// argument is changed; the result shares what it does not merge.
func MergeValues(values, defaults map[string]any) map[string]any {
	merged := maps.Clone(defaults)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range values {
		object, isObject := value.(map[string]any)
		standard, hasDefault := merged[name].(map[string]any)
		switch {
		case value == nil:
			delete(merged, name)
		case isObject && hasDefault:
			merged[name] = MergeValues(object, standard)
		case isObject:
			merged[name] = MergeValues(object, nil)
		default:
			merged[name] = value
		}
	}
	return merged
}
