package kind

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Merged returns the schema by which applies merge the fields of the tree. With caution, objects keep the defaults that
// a client-side apply drops, and what a server-side apply replaces as a whole is replaced.
func (f *Field) Merged(cautious bool) *spec.Schema {
	s := &spec.Schema{}
	if f == nil {
		return s
	}
	if f.properties != nil || f.values != nil {
		s.Type = []string{"object"}
	}
	for name, p := range f.properties {
		s.SetProperty(name, *p.Merged(cautious))
	}
	if f.values != nil {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: f.values.Merged(cautious)}
	}
	if f.items != nil || len(f.Keys) > 0 || f.MergeSet {
		s.Type = []string{"array"}
		s.Items = &spec.SchemaOrArray{Schema: f.items.Merged(cautious)}
	}
	if f.Default != nil {
		s.Default = *f.Default
	}
	strategy := ""
	switch {
	case len(f.Keys) > 0:
		strategy = "merge"
		s.AddExtension(schema.KeyListType, "map")
		s.AddExtension(schema.KeyListMapKeys, f.Keys)
		s.AddExtension("x-kubernetes-patch-merge-key", f.Keys[0])
	case f.MergeSet:
		s.AddExtension(schema.KeyListType, "set")
	case f.Atomic:
		s.AddExtension(schema.KeyListType, "atomic")
		s.AddExtension(schema.KeyMapType, "atomic")
		if cautious {
			strategy = "replace"
		}
	}
	switch {
	case f.PatchSet:
		strategy = "merge"
	case f.RetainKeys && !cautious:
		strategy = "retainKeys"
	}
	if strategy != "" {
		s.AddExtension("x-kubernetes-patch-strategy", strategy)
	}
	return s
}
