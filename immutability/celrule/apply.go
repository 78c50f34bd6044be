package celrule

import (
	"maps"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Apply returns s with changes made. It copies only the nodes on the way to a change and leaves s as it is. Changes at
// schema paths that s does not have are ignored.
func Apply(s *spec.Schema, changes []Change) *spec.Schema {
	byPath := map[string]Change{}
	touched := map[string]bool{}
	for _, c := range changes {
		byPath[c.SchemaPath] = c
		for path := c.SchemaPath; ; path = path[:strings.LastIndexByte(path, '/')] {
			touched[path] = true
			if path == "" {
				break
			}
		}
	}
	return (&applier{byPath, touched}).schema(s, "")
}

type applier struct {
	changes map[string]Change
	touched map[string]bool // schema paths with a change at or below them
}

func (a *applier) schema(s *spec.Schema, path string) *spec.Schema {
	if !a.touched[path] {
		return s
	}
	out := *s
	if c, ok := a.changes[path]; ok {
		if out.Extensions = maps.Clone(s.Extensions); out.Extensions == nil {
			out.Extensions = spec.Extensions{}
		}
		c.Make(out.Extensions)
	}
	if a.touched[path+"/properties"] {
		out.Properties = maps.Clone(s.Properties)
		for name, property := range s.Properties {
			out.Properties[name] = *a.schema(&property, path+"/properties/"+pointer.Escape(name))
		}
	}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: ap.Allows, Schema: a.schema(ap.Schema, path+"/additionalProperties")}
	}
	if s.Items != nil && s.Items.Schema != nil {
		out.Items = &spec.SchemaOrArray{Schema: a.schema(s.Items.Schema, path+"/items")}
	}
	return &out
}
