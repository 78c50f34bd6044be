package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// TestPagesAreTrue asks the checker about each field of the lists of built-in kinds. In each ordinary object, the field
// alone changes to each value that is known for it:
//
//	immutable   each change from one value to another is refused
//	restricted  some change of the field or of a part of it is not simply accepted
//	free        each change is accepted, and takes effect
//
// A restriction may hold in some minor only; the other answers are those of the newest minor.
func TestPagesAreTrue(t *testing.T) {
	cases, err := kindcase.Read("../../../../immutability/builtin/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	c, tried := newCatalogue(), 0
	for _, k := range c.kinds() {
		rows, minors := c.merge(k)
		ask := question{cases: casesOf(k, cases)}
		for _, minor := range minors {
			kind, _ := c[minor].Find(k.APIVersion, k.Kind)
			ask.kinds = append(ask.kinds, kind)
		}
		newest := question{ask.kinds[len(minors)-1:], ask.cases}
		locked, _ := sortFields(k.Kind, k.Rows())
		for _, path := range locked {
			if strings.ContainsAny(path, "[{") {
				continue // a part of a list or map, which stands in the table only
			}
			answers := newest.about(path)
			tried += answers.tried
			if answers.tried == 0 {
				t.Errorf("%s: no change of %s was tried", k.Kind, path)
			}
			for _, wrong := range answers.accepted {
				t.Errorf("%s: the page calls %s immutable, but it changes: %s", k.Kind, path, wrong)
			}
		}
		free, some := fieldsOf(k, rows)
		for _, path := range free {
			answers := newest.about(path)
			tried += answers.tried
			for _, wrong := range answers.others {
				t.Errorf("%s: the page lets %s change: %s", k.Kind, path, wrong)
			}
		}
		for _, path := range some {
			if !ask.restricts(path) {
				t.Errorf("%s: the page calls %s restricted, but each change is accepted", k.Kind, path)
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// question asks about the fields of a kind, as some minors have it.
type question struct {
	kinds []*builtin.Kind
	cases []kindcase.Case
}

// answers are the answers to changes of one field.
type answers struct {
	tried            int
	accepted, others []string // the changes from one value to another that are accepted; all that are not simply accepted
}

func casesOf(k *builtin.Kind, all []kindcase.Case) (cases []kindcase.Case) {
	for _, c := range all {
		gvk := schema.FromAPIVersionAndKind(c.Old["apiVersion"].(string), c.Old["kind"].(string))
		if gvk.Kind == k.Kind && gvk.Group == k.Group && slices.Contains(k.Versions, gvk.Version) {
			cases = append(cases, c)
		}
	}
	return cases
}

// about changes a field in each ordinary object, from each of its values to each other one. nil is an object
// without the field.
func (q question) about(path string) (found answers) {
	steps := fieldpath.Parse(path)
	values := append(q.values(steps), nil)
	for _, obj := range q.objects() {
		for _, from := range values {
			for _, to := range values {
				if !reflect.DeepEqual(from, to) {
					q.change(obj, steps, from, to, &found)
				}
			}
		}
	}
	return found
}

// change notes what each minor answers to one change.
func (q question) change(obj map[string]any, steps fieldpath.Path, from, to any, found *answers) {
	newObj, oldObj := with(obj, steps, to), with(obj, steps, from)
	for _, kind := range q.kinds {
		verdict := kind.Check(newObj, oldObj)
		found.tried++
		text := fmt.Sprintf("from %v to %v in %v: %v", from, to, obj, verdict)
		if len(verdict.Violations) == 0 && from != nil && to != nil {
			found.accepted = append(found.accepted, text)
		}
		if len(verdict.Violations)+len(verdict.Unknown)+len(verdict.Notes) > 0 {
			found.others = append(found.others, text)
		}
	}
}

// restricts reports whether some change of a field is not simply accepted: of an ordinary object, or of one of all
// cases.
func (q question) restricts(path string) bool {
	if len(q.about(path).others) > 0 {
		return true
	}
	return slices.ContainsFunc(q.cases, func(c kindcase.Case) bool {
		old, _ := at(c.Old, fieldpath.Parse(path))
		is, _ := at(c.New, fieldpath.Parse(path))
		var found answers
		for _, to := range append(q.values(fieldpath.Parse(path)), is) {
			q.change(c.Old, fieldpath.Parse(path), old, to, &found)
		}
		return len(found.others) > 0
	})
}

// objects returns the first object of each group of cases, and one of each name that a row names.
func (q question) objects() (objects []map[string]any) {
	kind, seen := q.kinds[0], map[string]bool{}
	for _, c := range q.cases {
		group := strings.Join(strings.SplitN(c.Name, "/", 3)[:2], "/")
		if !seen[group] {
			seen[group] = true
			objects = append(objects, c.Old)
		}
	}
	if len(objects) == 0 {
		objects = append(objects, map[string]any{
			"apiVersion": kind.APIVersion, "kind": kind.Kind, "metadata": map[string]any{"name": "a"},
		})
	}
	for _, row := range kind.Rows() {
		if names, ok := strings.CutPrefix(row.When, "self.metadata.name in ['"); ok {
			name, _, _ := strings.Cut(names, "'")
			objects = append(objects, with(objects[0], fieldpath.Parse("metadata.name"), name))
		}
	}
	return objects
}

// values returns some values of a field: those of the ordinary objects, and those that its Go type can hold.
func (q question) values(steps fieldpath.Path) (values []any) {
	kind := q.kinds[0]
	if kind.Kind == "PersistentVolumeClaim" && fieldpath.Name(steps[len(steps)-1]) == "dataSource" {
		claim := func(name string) any { return map[string]any{"kind": "PersistentVolumeClaim", "name": name} }
		return []any{claim("a"), claim("b")} // the server drops references to most other kinds
	}
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		panic(err) // it is the data's
	}
	in, known := scheme.Scheme.AllKnownTypes()[gv.WithKind(kind.Kind)]
	for _, obj := range q.objects() {
		if value, ok := at(obj, steps); ok {
			values = append(values, value)
		}
	}
	if known {
		for _, step := range steps {
			for in.Kind() == reflect.Pointer {
				in = in.Elem()
			}
			if in.Kind() != reflect.Struct {
				return values
			}
			for name, member := range members(in) {
				if name == fieldpath.Name(step) {
					in = member
					break
				}
			}
		}
		values = append(values, sample(in, 1, 4), sample(in, 2, 4))
	}
	return values
}

// sample returns one of two values of a type as JSON has it; depth bounds types that contain themselves.
func sample(t reflect.Type, n, depth int) any {
	switch reflect.Zero(t).Interface().(type) {
	case metav1.Time, metav1.MicroTime:
		return fmt.Sprintf("2025-01-0%dT00:00:00Z", n)
	case resource.Quantity:
		return fmt.Sprintf("%dGi", n)
	case intstr.IntOrString:
		return int64(n)
	case runtime.RawExtension:
		return map[string]any{"a": int64(n)}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return sample(t.Elem(), n, depth)
	case reflect.String:
		return string(rune('a' + n))
	case reflect.Bool:
		return n == 1
	case reflect.Map:
		return map[string]any{"a": sample(t.Elem(), n, depth-1)}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return []string{"", "YQ==", "Yg=="}[n]
		}
		return []any{sample(t.Elem(), n, depth-1)}
	case reflect.Struct:
		object := map[string]any{}
		for name, member := range members(t) {
			if depth > 0 {
				object[name] = sample(member, n, depth-1)
			}
		}
		return object
	}
	return int64(n)
}

// at returns the value of a field.
func at(obj any, steps fieldpath.Path) (value any, ok bool) {
	for _, step := range steps {
		members, _ := obj.(map[string]any)
		if obj, ok = members[fieldpath.Name(step)]; !ok {
			return nil, false
		}
	}
	return obj, true
}

// with returns a copy of an object with one field set, or removed if value is nil.
func with(obj map[string]any, steps fieldpath.Path, value any) map[string]any {
	out := kindcase.Clone(obj).(map[string]any)
	in := out
	for _, step := range steps[:len(steps)-1] {
		next, ok := in[fieldpath.Name(step)].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[fieldpath.Name(step)] = next
		}
		in = next
	}
	last := fieldpath.Name(steps[len(steps)-1])
	in[last] = kindcase.Clone(value)
	if value == nil {
		delete(in, last)
	}
	return out
}
