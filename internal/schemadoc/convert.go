package schemadoc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// converter turns schemas of any dialect into OpenAPI schemas, which package rawschema reads. It copies what it
// changes. The first mistake ends it.
type converter struct {
	err error
}

func (c *converter) fail(path, format string, args ...any) any {
	if c.err == nil {
		c.err = fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
	}
	return map[string]any{}
}

// schema converts the schema at a path of the document.
func (c *converter) schema(value any, path string) any {
	switch value := value.(type) {
	case bool:
		if value {
			return map[string]any{}
		}
		return map[string]any{"not": map[string]any{}}
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, keyword := range slices.Sorted(maps.Keys(value)) {
			c.keyword(out, keyword, value[keyword], path+"/"+pointer.Escape(keyword))
		}
		return out
	}
	return value // rawschema reports it
}

// keyword converts one keyword into out.
func (c *converter) keyword(out map[string]any, keyword string, value any, path string) {
	switch keyword {
	case "type":
		setType(out, value)
	case "$ref":
		if out[keyword] = value; value == "#" || value == "" {
			out[keyword] = "#" + rootAnchor
		}
	case "$id", "id", "$schema", "$comment", "$anchor", "$vocabulary", "definitions", "$defs":
		// References lead there by their place in the document.
	case "exclusiveMinimum", "exclusiveMaximum":
		if _, isFlag := value.(bool); isFlag { // a number since draft 6
			out[keyword] = value
		}
	case "properties", "patternProperties", "allOf", "anyOf", "oneOf":
		out[keyword] = c.each(value, path, c.schema)
	case "dependencies":
		out[keyword] = c.each(value, path, func(value any, path string) any {
			if _, isNames := value.([]any); isNames {
				return value
			}
			return c.schema(value, path)
		})
	case "items":
		if _, isList := value.([]any); isList {
			out[keyword] = c.each(value, path, c.schema)
			return
		}
		out[keyword] = c.schema(value, path)
	case "not":
		out[keyword] = c.schema(value, path)
	case "additionalProperties", "additionalItems":
		if out[keyword] = value; !isBool(value) {
			out[keyword] = c.schema(value, path)
		}
	case "$dynamicRef", "$recursiveRef":
		c.fail(path, "%s is not supported; write a $ref", keyword)
	case "if", "then", "else", "contains", "propertyNames", "prefixItems", "dependentSchemas", "unevaluatedItems",
		"unevaluatedProperties", "contentSchema":
		c.refuseLocks(value, path)
		if keys := extensionsIn(value, nil); len(keys) > 0 {
			dropped, _ := out[schema.KeyDropped].([]any)
			out[schema.KeyDropped] = append(dropped, keys...)
		}
	default:
		out[keyword] = value
	}
}

// extensionsIn adds the extension keys below a value to keys. An alias can make any of them a lock.
func extensionsIn(value any, keys []any) []any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if len(key) > 2 && (key[0] == 'x' || key[0] == 'X') && key[1] == '-' {
				keys = append(keys, key)
			}
			keys = extensionsIn(value[key], keys)
		}
	case []any:
		for _, item := range value {
			keys = extensionsIn(item, keys)
		}
	}
	return keys
}

// setType sets the type of a schema. Of a list of types, null makes it nullable, and several others leave it open.
func setType(out map[string]any, value any) {
	list, isList := value.([]any)
	if !isList {
		out["type"] = value
		return
	}
	var others []any
	for _, item := range list {
		if item == "null" {
			out["nullable"] = true
			continue
		}
		others = append(others, item)
	}
	if len(others) == 1 {
		out["type"] = others[0]
	}
}

func isBool(value any) bool {
	_, ok := value.(bool)
	return ok
}

// each converts the schemas of an object or list.
func (c *converter) each(value any, path string, convert func(value any, path string) any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out[name] = convert(value[name], path+"/"+pointer.Escape(name))
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = convert(item, path+"/"+strconv.Itoa(i))
		}
		return out
	}
	return value
}

// refuseLocks reports a lock below a keyword that decides nothing about the fields of an object.
func (c *converter) refuseLocks(value any, path string) {
	switch value := value.(type) {
	case map[string]any:
		if schema.HasLock(value) {
			c.fail(path, "a lock below a keyword that only validates has no effect; put it on the property itself")
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			c.refuseLocks(value[key], path+"/"+pointer.Escape(key))
		}
	case []any:
		for i, item := range value {
			c.refuseLocks(item, path+"/"+strconv.Itoa(i))
		}
	}
}

// rootAnchor stands for the document as a whole in the schemas that Resolve returns: spec.Ref does not tell a reference
// to "#" from none. No anchor begins with a colon.
const rootAnchor = ":root"
