package builtin

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// field is a node in the tree of what a comparison needs to know about a kind's fields.
type field struct {
	properties map[string]*field
	items      *field
	values     *field // the values of a map

	typ        string // "" unless CEL rules read the field
	value      any    // the default
	hasDefault bool
	keys       []string
	atomic     bool
	mergeSet   bool
	set        bool
}

// at returns the node at the end of steps and makes those that are missing.
func (f *field) at(steps []step) *field {
	for _, s := range steps {
		switch s {
		case eachItem:
			if f.items == nil {
				f.items = &field{}
			}
			f = f.items
		case eachValue:
			if f.values == nil {
				f.values = &field{}
			}
			f = f.values
		default:
			if f.properties == nil {
				f.properties = map[string]*field{}
			}
			if f.properties[string(s)] == nil {
				f.properties[string(s)] = &field{}
			}
			f = f.properties[string(s)]
		}
	}
	return f
}

// property returns the node of a property; nil for an unknown one.
func (f *field) property(name string) *field {
	if f == nil {
		return nil
	}
	if p := f.properties[name]; p != nil {
		return p
	}
	return f.values
}

// describe stores what the data says about the field.
func (f *field) describe(source fieldSource) {
	f.typ, f.keys, f.atomic, f.mergeSet, f.set = source.Type, source.Keys, source.Atomic, source.MergeSet, source.Set
	if source.Default != nil {
		f.value, f.hasDefault = whole(*source.Default), true
	}
}

// fieldsOf makes the tree of a kind.
func fieldsOf(source *kindSource) (*field, error) {
	root := &field{}
	if source.PodSpec != "" {
		shared, err := readPodFields(source.PodSpec)
		if err != nil {
			return nil, err
		}
		for path, f := range shared {
			root.at(stepsOf(path)).describe(f)
		}
	}
	for path, f := range source.Fields {
		root.at(stepsOf(path)).describe(f)
	}
	return root, nil
}

// fill sets the defaults of what is absent in value and below. It changes value.
func (f *field) fill(value any) {
	if f == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, p := range f.properties {
			if _, ok := value[name]; !ok && p.hasDefault {
				value[name] = jsonvalue.Clone(p.value)
			}
			if member, ok := value[name]; ok {
				p.fill(member)
			}
		}
		if f.values != nil {
			for _, member := range value {
				f.values.fill(member)
			}
		}
	case []any:
		for _, item := range value {
			f.items.fill(item)
		}
	}
}

// schema returns the OpenAPI schema of the tree with marks at the end of steps. It has only what a lock there needs.
func (f *field) schema(steps []step, marks map[string]any) *spec.Schema {
	s := &spec.Schema{}
	if f == nil {
		f = &field{}
	}
	if len(steps) == 0 {
		f.describeBelow(s)
		for key, value := range marks {
			s.AddExtension(key, value)
		}
		return s
	}
	switch next := steps[0]; next {
	case eachItem:
		s.Type = []string{"array"}
		s.Items = &spec.SchemaOrArray{Schema: f.items.schema(steps[1:], marks)}
		if len(f.keys) > 0 {
			s.AddExtension(immutability.KeyListType, "map")
			keys := make([]any, len(f.keys))
			for i, key := range f.keys {
				keys[i] = key
				if _, ok := s.Items.Schema.Properties[key]; !ok {
					s.Items.Schema.SetProperty(key, *spec.StringProperty())
				}
			}
			s.AddExtension(immutability.KeyListMapKeys, keys)
		}
	case eachValue:
		s.Type = []string{"object"}
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: f.values.schema(steps[1:], marks)}
	default:
		s.Type = []string{"object"}
		s.SetProperty(string(next), *f.property(string(next)).schema(steps[1:], marks))
	}
	return s
}

// describeBelow adds the sets below f to its schema: their order does not count.
func (f *field) describeBelow(s *spec.Schema) {
	if f.set {
		s.Type = []string{"array"}
		s.Items = &spec.SchemaOrArray{Schema: spec.StringProperty()}
		s.AddExtension(immutability.KeyListType, "set")
	}
	if f.values != nil {
		s.Type = []string{"object"}
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &spec.Schema{}}
	}
}
