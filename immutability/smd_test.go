package immutability_test

import (
	"fmt"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/typed"

	"github.com/fieldlock/fieldlock/immutability"
)

// keyedTypes is the schema of keyedSchema in the terms of structured-merge-diff.
const keyedTypes = `types:
- name: root
  map:
    fields:
    - name: list
      type:
        list:
          elementRelationship: associative
          keys: [name, port]
          elementType:
            map:
              fields:
              - {name: name, type: {scalar: string}}
              - {name: port, type: {scalar: numeric}, default: 80}
              - {name: x, type: {scalar: string}}
    - name: set
      type: {list: {elementRelationship: associative, elementType: {scalar: string}}}
    - name: map
      type: {map: {elementType: {scalar: string}}}
`

func keyedSchema() *spec.Schema {
	key := func(t string, def any) spec.Schema {
		return *mark(&spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{t}, Default: def}}, "x-kubernetes-immutable", true)
	}
	item := object(map[string]spec.Schema{"name": key("string", nil), "port": key("integer", int64(80)), "x": {}})
	scalar := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
	values := object(nil)
	values.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: scalar}
	words := []any{"NoAddItem", "NoRemoveItem"}
	return object(map[string]spec.Schema{
		"list": *mark(list(item), "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", []any{"name", "port"}, "x-fieldlock-update", words),
		"set":  *mark(list(scalar), "x-kubernetes-list-type", "set", "x-fieldlock-update", words),
		"map":  *mark(values, "x-fieldlock-update", words),
	})
}

// FuzzKeys compares the keys and items that locks see added and removed with those of structured-merge-diff.
func FuzzKeys(f *testing.F) {
	seeds(f)
	parser, err := typed.NewParser(keyedTypes)
	if err != nil {
		f.Fatal(err)
	}
	v := immutability.MustCompile(keyedSchema())
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &choices{data}
		old := c.keyed()
		new := c.keyed()
		newSet, oldSet := fields(parser, new), fields(parser, old)
		if newSet == nil || oldSet == nil {
			t.Skip() // it refuses duplicates
		}
		want := map[string]int{}
		count := func(set *fieldpath.Set, lock immutability.Lock) {
			set.Iterate(func(p fieldpath.Path) {
				if len(p) == 2 && (p[1].FieldName == nil || *p[0].FieldName == "map") {
					want[fmt.Sprintf("%s %s", *p[0].FieldName, lock)]++
				}
			})
		}
		count(newSet.Difference(oldSet), immutability.LockNoAddItem)
		count(oldSet.Difference(newSet), immutability.LockNoRemoveItem)
		got := map[string]int{}
		for _, violation := range v.Check(new, old).Violations {
			if violation.Lock == immutability.LockImmutable {
				continue // of a key field that is written out on one side and defaulted on the other
			}
			got[fmt.Sprintf("%s %s", violation.Path.Root(), violation.Lock)]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("old %s\nnew %s\ngot  %v\nwant %v", text(old), text(new), got, want)
		}
	})
}

// fields returns the field set of an object, nil where structured-merge-diff refuses it.
func fields(parser *typed.Parser, obj map[string]any) *fieldpath.Set {
	value, err := parser.Type("root").FromUnstructured(obj)
	if err != nil {
		return nil
	}
	set, err := value.ToFieldSet()
	if err != nil {
		return nil
	}
	return set
}

// keyed chooses an object of keyedSchema.
func (c *choices) keyed() map[string]any {
	var items, members []any
	values := map[string]any{}
	for range c.n(4) {
		item := map[string]any{"name": []any{"a", "b", ""}[c.n(3)]}
		if c.n(2) == 1 {
			item["port"] = []any{int64(80), int64(81), 80.0, 80.5}[c.n(4)]
		}
		if c.n(2) == 1 {
			item["x"] = "x"
		}
		items = append(items, item)
	}
	for range c.n(4) {
		members = append(members, []any{"a", "b", "c", ""}[c.n(4)])
	}
	for range c.n(4) {
		values[[]string{"a", "b", "a.b", ""}[c.n(4)]] = "v"
	}
	return map[string]any{"list": append([]any{}, items...), "set": append([]any{}, members...), "map": values}
}
