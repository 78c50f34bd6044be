// Package openapigen puts marks that were read from Go source onto the definitions of openapi-gen, so that an
// aggregated API server publishes and checks them.
//
// Go source is there when code is generated and gone when the server runs. So the marks travel as JSON: `fieldlock
// markers --definitions FILE PACKAGE...` writes them, go:embed takes them into the server, and Apply puts them onto
// what GetOpenAPIDefinitions returns. This package imports nothing of the Go tools.
package openapigen

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Marks are extension keys by definition and schema path: a JSON pointer such as /properties/class, "" for none. A
// definition has the name that openapi-gen gives it, "example.com/api/v1.Widget". Nil Marks mark nothing.
type Marks map[string]map[string]map[string]any

// Parse reads marks from the JSON that Marks encode to.
func Parse(data []byte) (Marks, error) {
	var m Marks
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("marks are JSON, definition → schema path → key → value: %w", err)
	}
	return m, nil
}

// Apply returns defs with the marks as extensions. Definitions without marks are shared with defs, which is not
// changed. A definition is found under its Go name and under the name that it is published with
// ("com.example.api.v1.Widget"). It is an error where a definition or a schema path is not there, or where the key has
// another value there: a mark that is dropped would not lock. Nil marks return a copy of the map. Cost: the paths that
// change are copied.
func (m Marks) Apply(defs map[string]common.OpenAPIDefinition) (map[string]common.OpenAPIDefinition, error) {
	out := maps.Clone(defs)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		key := name
		def, ok := out[key]
		if !ok {
			key = util.ToRESTFriendlyName(name)
			def, ok = out[key]
		}
		if !ok {
			return nil, fmt.Errorf("there is no definition %s: run openapi-gen on its package, or write the marks anew",
				name)
		}
		changes := map[string]func(spec.Extensions) error{}
		for path, keys := range m[name] {
			changes[path] = func(e spec.Extensions) error { return add(e, keys) }
		}
		marked, err := schema.Edit(&def.Schema, changes)
		if err != nil {
			return nil, fmt.Errorf("definition %s, %w: run openapi-gen again, or write the marks anew", name, err)
		}
		def.Schema = *marked
		out[key] = def
	}
	return out, nil
}

// add adds keys to the extensions of a schema.
func add(extensions spec.Extensions, keys map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, there := extensions[key]
		if there && !same(was, keys[key]) {
			return fmt.Errorf("%s is %v there and %v in the marks; make the two agree", key, was, keys[key])
		}
		if !there {
			extensions[key] = asJSON(keys[key])
		}
	}
	return nil
}

// same compares values as they read from JSON; openapi-gen writes true as "true".
func same(a, b any) bool {
	if b == true && a == "true" {
		return true
	}
	return reflect.DeepEqual(asJSON(a), asJSON(b))
}

// asJSON returns a []string as the list that JSON decodes to, which is what the getters of spec.Extensions read.
func asJSON(value any) any {
	words, ok := value.([]string)
	if !ok {
		return value
	}
	list := make([]any, len(words))
	for i, word := range words {
		list[i] = word
	}
	return list
}
