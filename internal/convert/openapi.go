package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// openAPISchemas are the schemas of an OpenAPI document by name.
type openAPISchemas map[string]*spec.Schema

// readOpenAPI reads an OpenAPI document, v2 or v3, YAML or JSON.
func readOpenAPI(name string, data []byte) (openAPISchemas, error) {
	raw, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var document struct {
		Definitions openAPISchemas `json:"definitions"`
		Components  struct {
			Schemas openAPISchemas `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("%s: it is no OpenAPI document: %w", name, err)
	}
	all := document.Definitions
	if all == nil {
		all = document.Components.Schemas
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: it has neither definitions nor components.schemas; give an OpenAPI document, v2 or v3", name)
	}
	return all, nil
}

func (d openAPISchemas) names() []string { return slices.Sorted(maps.Keys(d)) }

// is reports whether the schema says that it is of this kind.
func (d openAPISchemas) is(name, group, version, kind string) bool {
	kinds, _ := d[name].Extensions["x-kubernetes-group-version-kind"].([]any)
	return slices.ContainsFunc(kinds, func(k any) bool {
		fields, _ := k.(map[string]any)
		g, _ := fields["group"].(string)
		return g == group && fields["version"] == version && fields["kind"] == kind
	})
}

// inline returns the schema with every $ref replaced by what it refers to. A $ref back to a schema that it stands in
// ends there; a lock in such a schema is an error, as it has no end.
func (d openAPISchemas) inline(name string) (*spec.Schema, error) {
	return (&inliner{d, nil}).ref("#/definitions/" + name)
}

type inliner struct {
	openAPISchemas
	inside []string
}

func (in *inliner) ref(ref string) (*spec.Schema, error) {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	target := in.openAPISchemas[name]
	switch {
	case target == nil:
		return nil, fmt.Errorf("there is no schema for the $ref %q", ref)
	case slices.Contains(in.inside, name):
		if in.locked(target, map[*spec.Schema]bool{}) {
			return nil, fmt.Errorf("the schema %s holds itself and has locks, which a policy cannot say at every depth", name)
		}
		return &spec.Schema{}, nil
	}
	in.inside = append(in.inside, name)
	defer func() { in.inside = in.inside[:len(in.inside)-1] }()
	return in.schema(target)
}

// schema returns s with every $ref in it replaced.
func (in *inliner) schema(s *spec.Schema) (*spec.Schema, error) {
	if ref, wrapped := schema.RefOf(s); ref != "" {
		target, err := in.ref(ref)
		if err != nil {
			return nil, err
		}
		out := *target
		out.Extensions = spec.Extensions{}
		maps.Copy(out.Extensions, target.Extensions)
		if wrapped != nil {
			maps.Copy(out.Extensions, wrapped.Extensions)
		}
		maps.Copy(out.Extensions, s.Extensions)
		if s.Default != nil {
			out.Default = s.Default
		}
		return &out, nil
	}
	out := *s
	out.Properties = maps.Clone(s.Properties)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		inlined, err := in.schema(&property)
		if err != nil {
			return nil, err
		}
		out.Properties[name] = *inlined
	}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		values, err := in.schema(ap.Schema)
		if err != nil {
			return nil, err
		}
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: ap.Allows, Schema: values}
	}
	if s.Items != nil && s.Items.Schema != nil {
		items, err := in.schema(s.Items.Schema)
		if err != nil {
			return nil, err
		}
		out.Items = &spec.SchemaOrArray{Schema: items}
	}
	return &out, nil
}

// locked reports whether a lock stands in s or in what it refers to.
func (in *inliner) locked(s *spec.Schema, seen map[*spec.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if schema.HasLock(s.Extensions) {
		return true
	}
	for _, ref := range append([]spec.Schema{*s}, s.AllOf...) {
		if text := ref.Ref.String(); text != "" && in.locked(in.openAPISchemas[text[strings.LastIndexByte(text, '/')+1:]], seen) {
			return true
		}
	}
	for name := range s.Properties {
		property := s.Properties[name]
		if in.locked(&property, seen) {
			return true
		}
	}
	return s.AdditionalProperties != nil && in.locked(s.AdditionalProperties.Schema, seen) || s.Items != nil && in.locked(s.Items.Schema, seen)
}
