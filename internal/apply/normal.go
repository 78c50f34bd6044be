package apply

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Flux sends the objects of built-in kinds as their Go types have them: without null and most empty values, with the
// empty objects that Go types always have, such as the metadata of a Job's template, and with the texts of a Secret as
// data (fluxcd/pkg/ssa v0.76.2, normalize/normalize.go: UnstructuredWithScheme). Flux has applied those objects, so an
// apply without them takes away their fields.

// Normalized returns a manifest as Flux applies it. Typed is an empty object of its Go type, nil if there is no such
// type. The manifest stays as it is, and is returned if it does not fit the type, or has an amount whose digits would
// fill the memory; roles, too, which Flux leaves alone.
func Normalized(manifest map[string]any, typed any) map[string]any {
	kind := manifest["kind"]
	if isRole := kind == "Role" || kind == "ClusterRole"; typed == nil || isRole || canonical.Vast(manifest) != "" {
		return manifest
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(jsonvalue.Clone(manifest).(map[string]any), typed) != nil {
		return manifest
	}
	if secret, ok := typed.(*corev1.Secret); ok {
		for name, text := range secret.StringData {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[name] = []byte(text)
		}
		secret.StringData = nil
	}
	normal, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return manifest
	}
	delete(normal, "status")
	return normal
}

// IsNormal reports whether Flux applies a value of a manifest as it is written, but for empty objects that it adds:
// nothing in it is null or a zero value, which the Go type of a kind can leave out, and nothing is called stringData.
func IsNormal(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if name == "stringData" || !IsNormal(member) {
				return false
			}
		}
		return len(v) > 0
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(item any) bool { return !IsNormal(item) })
	case string:
		return v != ""
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	}
	return v != nil
}

// HasEmpty reports whether a value is null, {} or [], or has one of them somewhere. Without them, all appliers store
// what a manifest says, beside the defaults of the server.
func HasEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if HasEmpty(member) {
				return true
			}
		}
		return len(v) == 0
	case []any:
		return len(v) == 0 || slices.ContainsFunc(v, HasEmpty)
	}
	return v == nil
}
