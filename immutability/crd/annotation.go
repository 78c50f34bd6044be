package crd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// AnnotationKey is the annotation of a CRD that carries its marks through a stock API server, which drops the x- keys
// that it does not know. Its value is JSON: version → schema path → extension keys as they stand on that node, as in
//
//	{"v1": {"/properties/spec/properties/class": {"x-kubernetes-immutable": true}}}
const AnnotationKey = "fieldlock.dev/locks"

// maxAnnotation is how many bytes the API server allows all annotations of an object together.
const maxAnnotation = 256 << 10

// carrier is the value of the annotation, decoded: version → schema path → key → value.
type carrier map[string]map[string]map[string]any

// Annotation returns the value of AnnotationKey that carries every mark of the CRD's schemas, in a form that depends
// on the marks only; "" when there is no mark. Topology (list types, map keys) is left out: an API server keeps it.
// It is an error when the value is larger than an annotation may be.
func (c *CRD) Annotation() (string, error) {
	marks := make(carrier)
	for _, v := range c.Versions {
		walk(v.Schema, "", func(path string, s *spec.Schema) bool {
			for _, key := range extension.Own() {
				value, ok := s.Extensions[key]
				if !ok {
					continue
				}
				if marks[v.Name] == nil {
					marks[v.Name] = make(map[string]map[string]any)
				}
				if marks[v.Name][path] == nil {
					marks[v.Name][path] = make(map[string]any)
				}
				marks[v.Name][path][key] = value
			}
			return false
		})
	}
	if len(marks) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(marks); err != nil {
		return "", fmt.Errorf("%s: the annotation %s cannot be written: %w", c.subject(), AnnotationKey, err)
	}
	value := strings.TrimSuffix(b.String(), "\n")
	if len(value) > maxAnnotation {
		return "", fmt.Errorf("%s: the annotation %s would take %d bytes; an object has room for %d in all its annotations: lock parents instead of each field",
			c.subject(), AnnotationKey, len(value), maxAnnotation)
	}
	return value, nil
}

// mergeAnnotation adds the marks of the annotation to the schemas. A mark that the schema has too has to be the same.
func (c *CRD) mergeAnnotation() error {
	steps := []any{"metadata", "annotations", AnnotationKey}
	r := reader{d: c.document}
	text := r.text(steps...)
	if r.err != nil || text == "" {
		return r.asError()
	}
	marks, err := decodeCarrier(text)
	if err != nil {
		r.fail(steps, "%v", err)
		return r.asError()
	}
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		v := c.Version(name)
		if v == nil {
			r.fail(steps, "there is no version %q; the versions are %s", name, c.versionNames())
			break
		}
		if err := v.merge(marks[name]); err != nil {
			r.fail(steps, "version %q, %v", name, err)
			break
		}
	}
	return r.asError()
}

// asError is r.err without the trap of a typed nil.
func (r *reader) asError() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// versionNames lists the versions for a message.
func (c *CRD) versionNames() string {
	names := make([]string, len(c.Versions))
	for i, v := range c.Versions {
		names[i] = v.Name
	}
	return strings.Join(names, ", ")
}

// decodeCarrier reads the annotation's value.
func decodeCarrier(text string) (carrier, error) {
	const right = `{"VERSION": {"SCHEMA PATH": {"x-kubernetes-immutable": true}}}`
	value, err := yamldoc.ReadJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%w; it has to be JSON like %s", err, right)
	}
	wrongForm := func(where string, value any) error {
		return fmt.Errorf("%s is %s; it has to be an object, as in %s", where, yamldoc.Describe(value), right)
	}
	versions, ok := value.(map[string]any)
	if !ok {
		return nil, wrongForm("the value", value)
	}
	marks := make(carrier, len(versions))
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		paths, ok := versions[version].(map[string]any)
		if !ok {
			return nil, wrongForm(fmt.Sprintf("version %q", version), versions[version])
		}
		marks[version] = make(map[string]map[string]any, len(paths))
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			keys, ok := paths[path].(map[string]any)
			if !ok {
				return nil, wrongForm(fmt.Sprintf("version %q, schema path %q", version, path), paths[path])
			}
			marks[version][path] = keys
		}
	}
	return marks, nil
}

// merge adds marks, by schema path, to the schema.
func (v *Version) merge(marks map[string]map[string]any) error {
	seen := make(map[string]bool, len(marks))
	var failed error
	walk(v.Schema, "", func(path string, s *spec.Schema) bool {
		keys, ok := marks[path]
		if !ok || failed != nil {
			return false
		}
		seen[path] = true
		if failed = mergeKeys(s, keys); failed != nil {
			failed = fmt.Errorf("schema path %q: %w", path, failed)
		}
		return true
	})
	if failed != nil {
		return failed
	}
	for _, path := range slices.Sorted(maps.Keys(marks)) {
		if !seen[path] {
			return fmt.Errorf(`schema path %q: the schema has no such node; a path looks like "/properties/spec/properties/class", and the nearest node is %q`,
				path, v.nearest(path))
		}
	}
	return nil
}

// nearest returns the longest part of a schema path that exists.
func (v *Version) nearest(path string) string {
	found := make(map[string]bool)
	walk(v.Schema, "", func(path string, _ *spec.Schema) bool {
		found[path] = true
		return false
	})
	for path != "" && !found[path] {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return path
}

// mergeKeys adds the keys of one node of the annotation to the node of the schema.
func mergeKeys(s *spec.Schema, keys map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(extension.Own(), key) {
			return fmt.Errorf("the key %q is not known; the keys are %s", key, strings.Join(extension.Own(), ", "))
		}
		if other, ok := s.Extensions[key]; ok && !sameMark(key, keys[key], other) {
			return fmt.Errorf("%s is %s here and %s in the schema; make them equal, or remove one", key, encode(keys[key]), encode(other))
		}
		if rival := rivalLock(s.Extensions, key, keys); rival != "" {
			return fmt.Errorf("%s stands here and %s on the same node of the schema, and a node has one of them; remove one", key, rival)
		}
	}
	for key, value := range keys {
		if _, ok := s.Extensions[key]; ok {
			continue
		}
		if s.Extensions == nil {
			s.Extensions = make(spec.Extensions)
		}
		s.Extensions[key] = value
	}
	return nil
}

// rivalLock returns the lock in ext that excludes the lock key of the annotation, unless the annotation has it too:
// then the compiler reports it.
func rivalLock(ext map[string]any, key string, keys map[string]any) string {
	exclusive := []string{extension.Immutable, extension.ImmutableKeys, extension.AdditionOnly, extension.DeletionOnly}
	for _, rival := range append(exclusive, extension.Update) {
		_, inSchema := ext[rival]
		_, here := keys[rival]
		if !inSchema || here || rival == key {
			continue
		}
		bothExclusive := slices.Contains(exclusive, key) && slices.Contains(exclusive, rival)
		besideImmutable := key == extension.Immutable && rival == extension.Update || key == extension.Update && rival == extension.Immutable
		if bothExclusive || besideImmutable {
			return rival
		}
	}
	return ""
}

// sameMark reports whether two values of one key say the same: true and "true" do, and so do the words of
// x-fieldlock-update in another order.
func sameMark(key string, a, b any) bool {
	marksA, problemsA := extension.Read(map[string]any{key: a})
	marksB, problemsB := extension.Read(map[string]any{key: b})
	if len(problemsA) > 0 || len(problemsB) > 0 {
		return reflect.DeepEqual(a, b)
	}
	return reflect.DeepEqual(marksA, marksB)
}

// encode writes a value as JSON for a message.
func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
