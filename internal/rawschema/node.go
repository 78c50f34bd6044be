// Package rawschema finds the nodes of OpenAPI schemas as they are decoded from a document, before any type drops the keys
// that it does not know, and reads and writes the annotation that carries fieldlock's keys through an API server.
package rawschema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// The keywords of a schema that hold other schemas.
var (
	holdsSchema  = [...]string{"additionalProperties", "items", "not", "additionalItems"}
	holdsSchemas = [...]string{"properties", "patternProperties", "definitions", "dependencies"} // by name
	holdsList    = [...]string{"allOf", "anyOf", "oneOf", "items"}
)

// Walk calls visit for schema and every schema below it, parents first and in a fixed order, each with its schema path:
// a JSON pointer such as "/properties/spec/properties/class", "" for schema itself. What is not a schema is skipped.
func Walk(schema map[string]any, visit func(path string, node map[string]any)) {
	walk(schema, "", visit)
}

func walk(value any, path string, visit func(path string, node map[string]any)) {
	node, ok := value.(map[string]any)
	if !ok {
		return
	}
	visit(path, node)
	for _, keyword := range slices.Sorted(maps.Keys(node)) {
		below := path + "/" + pointer.Escape(keyword)
		switch held := node[keyword].(type) {
		case map[string]any:
			if slices.Contains(holdsSchema[:], keyword) {
				walk(held, below, visit)
			} else if slices.Contains(holdsSchemas[:], keyword) {
				for _, name := range slices.Sorted(maps.Keys(held)) {
					walk(held[name], below+"/"+pointer.Escape(name), visit)
				}
			}
		case []any:
			for i, item := range held {
				if slices.Contains(holdsList[:], keyword) {
					walk(item, below+"/"+strconv.Itoa(i), visit)
				}
			}
		}
	}
}

// Node returns the schema at a schema path. If there is none it returns nil, and the longest part of the path that leads
// to a schema.
func Node(schema map[string]any, path string) (node map[string]any, nearest string) {
	node = schema
	for names := pointer.Names(path); len(names) > 0; {
		next, n := child(node, names)
		if next == nil {
			return nil, nearest
		}
		for _, name := range names[:n] {
			nearest += "/" + pointer.Escape(name)
		}
		node, names = next, names[n:]
	}
	return node, path
}

// child returns the schema one step below node, and how many names of a schema path lead to it.
func child(node map[string]any, names []string) (map[string]any, int) {
	keyword := names[0]
	held := node[keyword]
	if below, ok := held.(map[string]any); ok && slices.Contains(holdsSchema[:], keyword) {
		return below, 1
	}
	if len(names) < 2 {
		return nil, 0
	}
	switch held := held.(type) {
	case map[string]any:
		if below, ok := held[names[1]].(map[string]any); ok && slices.Contains(holdsSchemas[:], keyword) {
			return below, 2
		}
	case []any:
		if i, err := strconv.Atoi(names[1]); err == nil && i >= 0 && i < len(held) && slices.Contains(holdsList[:], keyword) {
			below, _ := held[i].(map[string]any)
			return below, 2
		}
	}
	return nil, 0
}
