package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
)

type obj = map[string]any

// changes makes random changes of objects of one version of a CRD.
type changes struct {
	*rand.Rand
	schema *spec.Schema
	random []*randomupdates.Random
	ruled  bool // the version has transition rules
}

// newChanges returns changes that concern fields with transition rules more than others.
func newChanges(r *rand.Rand, v *crd.Version) *changes {
	c := &changes{Rand: r, schema: v.Schema}
	var ruled, others []string
	for _, rule := range celrun.New(v.Schema, celrun.Transition).Rules() {
		ruled = append(ruled, rule.SchemaPath)
	}
	for path := range schema.Nodes(v.Schema) {
		if path != "" && !strings.HasPrefix(path, "/properties/status") &&
			!strings.HasPrefix(path, "/properties/metadata") {
			others = append(others, path)
		}
	}
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	c.ruled = len(ruled) > 0
	c.random = []*randomupdates.Random{
		randomupdates.New(v.Schema, ruled, r.Uint64()),
		randomupdates.New(v.Schema, append(ruled, others[:min(len(others), 30)]...), r.Uint64()),
	}
	return c
}

// of returns a copy of an object with one to three changes.
func (c *changes) of(object obj) obj {
	made := jsonvalue.Clone(object).(obj)
	for range 1 + c.IntN(3) {
		if c.IntN(5) < 2 {
			made = c.random[c.IntN(len(c.random))].Change(made)
			continue
		}
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			delete(made, name)
		}
		c.disturb(made)
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		made[name] = object[name]
	}
	delete(made, "status")
	return kindcase.Clone(made).(obj)
}

// place is a value in an object, what replaces it, and what removes it.
type place struct {
	value  any
	schema *spec.Schema
	put    func(v any)
	remove func()
}

// places returns the places below v.
func places(s *spec.Schema, v any) (list []place) {
	switch v := v.(type) {
	case obj:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := schema.Below(s, name)
			list = append(list, place{v[name], below, func(x any) { v[name] = x }, func() { delete(v, name) }})
			list = append(list, places(below, v[name])...)
		}
	case []any:
		for i := range v {
			below := schema.Below(s, i)
			put := func(x any) { v[i] = x }
			list = append(list, place{v[i], below, put, func() { put(nil) }})
			list = append(list, places(below, v[i])...)
		}
	}
	return list
}

// disturb changes a value somewhere in an object, often to one that the schema does not ask for.
func (c *changes) disturb(object obj) {
	all := places(c.schema, object)
	if len(all) == 0 {
		return
	}
	p := all[c.IntN(len(all))]
	switch c.IntN(8) {
	case 0, 1:
		p.remove()
	case 2:
		p.put(nil)
	case 3:
		p.put(empty(p.value))
	default:
		p.put(c.other(p.schema, p.value))
	}
}

// empty returns the empty value of v's kind.
func empty(v any) any {
	switch v.(type) {
	case obj:
		return obj{}
	case []any:
		return []any{}
	case string:
		return ""
	case bool:
		return false
	}
	return int64(0)
}

// other returns a value that looks like v.
func (c *changes) other(s *spec.Schema, v any) any {
	switch v := v.(type) {
	case obj:
		return c.otherObject(s, v)
	case []any:
		return c.otherList(v)
	case string:
		return []any{v + "x", strings.ToUpper(v), int64(1)}[c.IntN(3)]
	case bool:
		return !v
	case int64:
		return []any{v + 1, v - 1, fmt.Sprint(v)}[c.IntN(3)]
	}
	return "x"
}

// otherObject removes, renames or adds a member.
func (c *changes) otherObject(s *spec.Schema, v obj) obj {
	var absent []string
	if s != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if _, ok := v[name]; !ok {
				absent = append(absent, name)
			}
		}
	}
	names := slices.Sorted(maps.Keys(v))
	switch way := c.IntN(4); {
	case way == 0 || len(names)+len(absent) == 0:
		v["unknownField"] = "x"
	case way < 3 && len(absent) > 0:
		v[absent[c.IntN(len(absent))]] = []any{nil, obj{}, []any{}, "", int64(0), false}[c.IntN(6)]
	case len(names) > 0:
		name := names[c.IntN(len(names))]
		if way == 3 {
			v[name+"b"] = v[name]
		}
		delete(v, name)
	}
	return v
}

// otherList reorders a list, or removes an item, or adds one that looks like another one.
func (c *changes) otherList(v []any) []any {
	if len(v) == 0 {
		return append(v, "x")
	}
	i := c.IntN(len(v))
	switch c.IntN(4) {
	case 0, 1:
		c.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
		if c.IntN(2) == 0 {
			v[i] = c.other(nil, v[i])
		}
	case 2:
		return slices.Delete(v, i, i+1)
	default:
		item := jsonvalue.Clone(v[i])
		if members, ok := item.(obj); ok {
			for _, name := range slices.Sorted(maps.Keys(members)) {
				if text, ok := members[name].(string); ok && c.IntN(2) == 0 {
					members[name] = text + "2"
				}
			}
		} else {
			item = c.other(nil, item)
		}
		return slices.Insert(v, c.IntN(len(v)+1), item)
	}
	return v
}

// loosened returns a copy of a CRD that allows more: it has no rules and no limits, and some values may be of any type
// or have other defaults. Lists keep their list-type: nobody owns the items of one that had none when it was stored,
// and what a server-side apply makes of them differs.
func loosened(r *rand.Rand, document obj) obj {
	document = jsonvalue.Clone(document).(obj)
	versions, _ := document["spec"].(obj)["versions"].([]any)
	for _, v := range versions {
		if s, ok := fieldpath.Get(v, "schema", "openAPIV3Schema"); ok {
			loosen(r, s.(obj), true, false)
		}
	}
	return document
}

// otherDefault drops or changes the default of a value at times, or adds one.
func otherDefault(r *rand.Rand, s obj) {
	_, defaulted := s["default"]
	switch way := r.IntN(12); {
	case defaulted && way < 2:
		delete(s, "default")
	case s["type"] == "string" && s["format"] == nil && (defaulted && way < 6 || way == 6):
		s["default"] = "other"
	case s["type"] == "boolean" && (defaulted && way < 6 || way == 6):
		s["default"] = r.IntN(2) == 0
	case s["type"] == "object" && s["properties"] != nil && s["x-kubernetes-embedded-resource"] == nil && way == 6:
		s["default"] = obj{}
	}
}

func loosen(r *rand.Rand, s obj, isRoot, keyed bool) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch name {
		case "type", "properties", "items", "additionalProperties", "default", "nullable",
			"x-kubernetes-preserve-unknown-fields",
			"x-kubernetes-int-or-string", "x-kubernetes-embedded-resource",
			"x-kubernetes-map-type", "x-kubernetes-list-type", "x-kubernetes-list-map-keys":
		case "required":
			if !keyed {
				delete(s, name)
			}
		default:
			delete(s, name)
		}
	}
	properties, _ := s["properties"].(obj)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		below, _ := properties[name].(obj)
		switch {
		case (isRoot || s["x-kubernetes-embedded-resource"] != nil) &&
			(name == "apiVersion" || name == "kind" || name == "metadata" || name == "status"):
		case keyed && below["type"] != "object":
		case r.IntN(12) == 0 && below["x-kubernetes-embedded-resource"] == nil &&
			!strings.Contains(fmt.Sprint(below), "x-kubernetes-list-"):
			properties[name] = obj{"x-kubernetes-preserve-unknown-fields": true}
		default:
			loosen(r, below, false, false)
			if r.IntN(12) == 0 {
				below["nullable"] = true
			}
			if !keyed {
				otherDefault(r, below)
			}
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if below, ok := s[name].(obj); ok {
			loosen(r, below, false, s["x-kubernetes-list-map-keys"] != nil)
		}
	}
}
