package judge

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// grow sets a field that the kind's Go type has, whether or not some manifest has it. Most values are valid, since they
// have the name of the field in some manifest, or need no more than to be there.
func (c *changer) grow(manifest map[string]any) {
	object, err := legacyscheme.Scheme.New((&unstructured.Unstructured{Object: manifest}).GroupVersionKind())
	if err != nil {
		return
	}
	spec := reflect.TypeOf(object).Elem()
	for _, name := range fieldsOf(spec) {
		if name.json == "spec" {
			if in, ok := manifest["spec"].(map[string]any); ok {
				c.growIn(in, name.of)
				return
			}
		}
	}
	c.growIn(manifest, spec)
}

// growIn sets a field of an object of type t, or of what is in it.
func (c *changer) growIn(in map[string]any, t reflect.Type) {
	if t.Kind() != reflect.Struct {
		return
	}
	fields := fieldsOf(t)
	if len(fields) == 0 {
		return
	}
	f := fields[c.rand.IntN(len(fields))]
	if slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, f.json) {
		return
	}
	of := f.of
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch is := in[f.json].(type) {
	case map[string]any:
		c.growIn(is, of)
		return
	case []any:
		if item, ok := pick(c, is).(map[string]any); ok && of.Kind() == reflect.Slice {
			c.growIn(item, of.Elem())
			return
		}
	}
	if value := c.make(f.json, of, 0); value != nil {
		in[f.json] = value
	}
}

// make returns a value of type t for a field.
func (c *changer) make(name string, t reflect.Type, depth int) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if known := c.named[name]; len(known) > 0 && c.rand.IntN(4) > 0 {
		return deepCopy(pick(c, known))
	}
	switch {
	case t == reflect.TypeFor[intstr.IntOrString]():
		return int64(1)
	case t.Kind() == reflect.String:
		return []any{"a", "example.com/a", "192.0.2.1", "1Gi"}[c.rand.IntN(4)]
	case t.Kind() == reflect.Bool:
		return c.rand.IntN(2) == 0
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		return int64(1 + c.rand.IntN(3))
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.String:
		return map[string]any{"a": "b"}
	case t.Kind() == reflect.Slice && depth < 4:
		if item := c.make(name+"[]", t.Elem(), depth+1); item != nil {
			return []any{item}
		}
	case t.Kind() == reflect.Struct && depth < 4:
		out := map[string]any{}
		for _, f := range fieldsOf(t) {
			if f.always || c.rand.IntN(4) == 0 {
				if value := c.make(f.json, f.of, depth+1); value != nil {
					out[f.json] = value
				}
			}
		}
		return out
	}
	return nil
}

func pick(c *changer, list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[c.rand.IntN(len(list))]
}

// goField is a field of a struct as JSON has it.
type goField struct {
	json   string
	of     reflect.Type
	always bool // it is written when it is empty, too
}

func fieldsOf(t reflect.Type) []goField {
	var all []goField
	for _, f := range reflect.VisibleFields(t) {
		if len(f.Index) > 1 {
			continue // fieldsOf the embedded struct has it
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			all = append(all, goField{name, f.Type, !strings.Contains(options, "omit")})
		case strings.Contains(options, "inline") && f.Type.Kind() == reflect.Struct:
			all = append(all, fieldsOf(f.Type)...)
		}
	}
	return all
}
