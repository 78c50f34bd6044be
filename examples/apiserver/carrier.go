package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// marks are the keys of the schemas of a CRD that the API types have no room for: version → schema path → key → value.
type marks map[string]map[string]map[string]any

// stow moves the keys of a CRD document, which it changes, into the annotation. What the schemas say replaces what the
// annotation says: a client that reads both and edits the schema has not to know the annotation. A document without any
// key in its schemas keeps its annotation: it comes from a client that does not know the keys. ignored tells that the
// annotation said something else.
func stow(document map[string]any) (ignored bool, err error) {
	found := marks{}
	for name, schema := range schemas(document) {
		for path, node := range nodes(schema) {
			keys, err := take(node)
			if err != nil {
				return false, fmt.Errorf("version %q, schema path %q: %w", name, path, err)
			}
			found.add(name, path, keys)
		}
	}
	if len(found) == 0 {
		return false, nil
	}
	text, err := json.Marshal(found)
	if err != nil {
		return false, err
	}
	before := annotation(document)
	setAnnotation(document, string(text))
	if before == "" {
		return false, nil
	}
	old, err := decodeMarks(before)
	if err != nil {
		return true, nil
	}
	again, err := json.Marshal(old)
	return err != nil || string(again) != string(text), nil
}

// unpack adds the keys of the annotation to the schemas of a CRD document, which it changes. An annotation that cannot
// be read, and what points nowhere, stays in the annotation alone.
func unpack(document map[string]any) {
	found, err := decodeMarks(annotation(document))
	if err != nil {
		return
	}
	for name, schema := range schemas(document) {
		found.restore(name, schema)
	}
}

// restore adds the keys of a version to its schema.
func (m marks) restore(version string, schema map[string]any) {
	if len(m[version]) == 0 {
		return
	}
	for path, node := range nodes(schema) {
		maps.Copy(node, m[version][path])
	}
}

func (m marks) add(version, path string, keys map[string]any) {
	if len(keys) == 0 {
		return
	}
	if m[version] == nil {
		m[version] = map[string]map[string]any{}
	}
	m[version][path] = keys
}

func decodeMarks(text string) (marks, error) {
	if text == "" {
		return nil, nil
	}
	var m marks
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, err
	}
	return m, nil
}

// take removes fieldlock's keys from a schema node and returns them. A key in another letter case would be dropped by
// the API types without a trace, and its lock with it: that is an error.
func take(node map[string]any) (map[string]any, error) {
	var taken map[string]any
	for _, key := range slices.Sorted(maps.Keys(node)) {
		for _, own := range schema.OwnKeys() {
			if !strings.EqualFold(key, own) {
				continue
			}
			if key != own {
				return nil, fmt.Errorf("%q is not read: the key is spelled %q", key, own)
			}
			if taken == nil {
				taken = map[string]any{}
			}
			taken[key] = node[key]
			delete(node, key)
		}
	}
	return taken, nil
}

// schemas returns the schema of each version of a CRD document, also of a partial one.
func schemas(document map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	spec, _ := document["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		validation, _ := version["schema"].(map[string]any)
		if schema, ok := validation["openAPIV3Schema"].(map[string]any); ok {
			found[name] = schema
		}
	}
	return found
}

// nodes returns the nodes of a schema by schema path. Names of properties and values such as defaults and examples are
// no nodes, whatever they look like.
func nodes(schema map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	var walk func(path string, node any)
	walk = func(path string, node any) {
		object, ok := node.(map[string]any)
		if !ok {
			return
		}
		found[path] = object
		for _, keyword := range []string{"items", "additionalProperties", "additionalItems", "not"} {
			walk(path+"/"+keyword, object[keyword]) // a list of items, or a boolean, is not a schema
		}
		for _, keyword := range []string{"properties", "patternProperties", "definitions", "dependencies"} {
			children, _ := object[keyword].(map[string]any)
			for name, child := range children {
				walk(path+"/"+keyword+"/"+pointer.Escape(name), child)
			}
		}
		for _, keyword := range []string{"allOf", "anyOf", "oneOf", "items"} {
			children, _ := object[keyword].([]any)
			for i, child := range children {
				walk(path+"/"+keyword+"/"+strconv.Itoa(i), child)
			}
		}
	}
	walk("", schema)
	return found
}

func annotation(document map[string]any) string {
	metadata, _ := document["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations[crd.AnnotationKey].(string)
	return text
}

func setAnnotation(document map[string]any, text string) {
	child := func(parent map[string]any, name string) map[string]any {
		object, ok := parent[name].(map[string]any)
		if !ok {
			object = map[string]any{}
			parent[name] = object
		}
		return object
	}
	child(child(document, "metadata"), "annotations")[crd.AnnotationKey] = text
}

// hideAnnotation removes the annotation from a document whose schemas have its keys.
func hideAnnotation(document map[string]any) {
	metadata, _ := document["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, crd.AnnotationKey)
}
