package rawschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// AnnotationKey is the annotation of a CRD that carries its locks through a stock API server, which drops the extension
// keys that it does not know.
const AnnotationKey = "fieldlock.dev/locks"

// MaxAnnotation is how many bytes the API server allows all annotations of an object together.
const MaxAnnotation = 256 << 10

// Annotation is the value of AnnotationKey: version → schema path → extension keys as they are on that node, as in
//
//	{"v1": {"/properties/spec/properties/class": {"x-kubernetes-immutable": true}}}
type Annotation map[string]map[string]map[string]any

// Add adds the keys of fieldlock that the schema of a version has. Topology (list types, map keys) is left out: an API
// server keeps it.
func (a Annotation) Add(version string, s map[string]any) {
	Walk(s, func(path string, node map[string]any) {
		for _, key := range schema.OwnKeys() {
			value, ok := node[key]
			if !ok {
				continue
			}
			if a[version] == nil {
				a[version] = make(map[string]map[string]any)
			}
			if a[version][path] == nil {
				a[version][path] = make(map[string]any)
			}
			a[version][path][key] = value
		}
	})
}

// Encode returns the value as JSON in a form that depends on the keys only, or "". It returns an error
// if the value is larger than an annotation may be.
func (a Annotation) Encode() (string, error) {
	if len(a) == 0 {
		return "", nil
	}
	value, err := jsonvalue.Encode(a)
	if err != nil {
		return "", fmt.Errorf("the annotation %s cannot be written: %w", AnnotationKey, err)
	}
	if len(value) > MaxAnnotation {
		return "", fmt.Errorf("the annotation %s would take %d bytes; an object has room for %d in all its "+
			"annotations: lock parents instead of each field",
			AnnotationKey, len(value), MaxAnnotation)
	}
	return string(value), nil
}

// Decode reads the value of an annotation. The error says what is wrong and what would be right.
func Decode(text string) (Annotation, error) {
	const right = `{"VERSION": {"SCHEMA PATH": {"x-kubernetes-immutable": true}}}`
	value, err := yamldoc.ReadJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w; it must be JSON like %s", err, right)
	}
	var wrong error
	object := func(value any, format string, args ...any) map[string]any {
		object, ok := value.(map[string]any)
		if !ok && wrong == nil {
			wrong = fmt.Errorf("%s is %s; it must be an object, as in %s",
				fmt.Sprintf(format, args...), yamldoc.Describe(value), right)
		}
		return object
	}
	versions := object(value, "the value")
	a := make(Annotation, len(versions))
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		paths := object(versions[version], "version %q", version)
		a[version] = make(map[string]map[string]any, len(paths))
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			a[version][path] = object(paths[path], "version %q, schema path %q", version, path)
		}
	}
	return a, wrong
}

// Equal reports whether two annotations have the same keys on the same nodes, with values that mean the same.
func (a Annotation) Equal(b Annotation) bool {
	return maps.EqualFunc(a, b, func(a, b map[string]map[string]any) bool {
		return maps.EqualFunc(a, b, func(a, b map[string]any) bool {
			return len(a) == len(b) && sameKeys(a, b)
		})
	})
}

// sameKeys reports whether each key of a is in b with a value that means the same.
func sameKeys(a, b map[string]any) bool {
	for key, value := range a {
		other, ok := b[key]
		if !ok || !SameMark(key, value, other) {
			return false
		}
	}
	return true
}

// SameMark reports whether two values of one key mean the same: true and "true" do, and so do the words of
// x-fieldlock-update and the keys of a list in another order.
func SameMark(key string, a, b any) bool {
	marksA, problemsA := schema.ReadMarks(map[string]any{key: a})
	marksB, problemsB := schema.ReadMarks(map[string]any{key: b})
	if len(problemsA) > 0 || len(problemsB) > 0 {
		return reflect.DeepEqual(a, b)
	}
	marksA.ListMapKeys = slices.Sorted(slices.Values(marksA.ListMapKeys))
	marksB.ListMapKeys = slices.Sorted(slices.Values(marksB.ListMapKeys))
	return reflect.DeepEqual(marksA, marksB)
}

// Merge adds the keys of an annotation, by schema path, to the schema of a version, which it changes. A key that the
// schema has too must mean the same there, and a lock must not conflict with one that the schema has.
func Merge(s map[string]any, paths map[string]map[string]any) error {
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		node, nearest := Node(s, path)
		if node == nil {
			return fmt.Errorf(`schema path %q: the schema has no such node; a path looks like "/properties/spec/properties/class", and the nearest node is %q`,
				path, nearest)
		}
		if err := mergeKeys(node, paths[path]); err != nil {
			return fmt.Errorf("schema path %q: %w", path, err)
		}
	}
	return nil
}

// mergeKeys adds keys to one node.
func mergeKeys(node, keys map[string]any) error {
	before := maps.Clone(node)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(schema.OwnKeys(), key) {
			return fmt.Errorf("the key %q is not known; the keys are %s", key, strings.Join(schema.OwnKeys(), ", "))
		}
		value := keys[key]
		if there, ok := before[key]; ok {
			if !SameMark(key, there, value) {
				return fmt.Errorf("%s is %s here and %s in the schema; make the two agree, or remove one",
					key, encode(value), encode(there))
			}
			continue
		}
		for _, rival := range schema.OwnKeys() {
			_, inSchema := before[rival]
			_, here := keys[rival] // the compiler reports two that conflict in the annotation itself
			if inSchema && !here && schema.ConflictingKeys(key, rival) {
				return fmt.Errorf("the lock %s conflicts with %s in the schema; remove one", key, rival)
			}
		}
		node[key] = value
	}
	return nil
}

// encode writes a value as JSON for a message.
func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
