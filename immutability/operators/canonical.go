package operators

import (
	"encoding/json"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
)

// field is a node in the tree of what a comparison needs to know about a kind's fields.
type field struct {
	properties map[string]*field
	items      *field
	values     *field // the values of a map

	source fieldSource
	parent bool // a lock is below it: an absent object is an empty one, unless normalize is none
}

// fieldsOf makes the tree of a kind.
func fieldsOf(source *kindSource) (*field, error) {
	root := &field{}
	for path, f := range source.Fields {
		switch {
		case f.Normalize != "" && !slices.Contains([]string{"zero", "undefined", "none", "unknown"}, f.Normalize):
			return nil, errorf("%s: unknown value of normalize: %q", path, f.Normalize)
		case f.Type != "" && f.Type != "quantity" && f.Type != "duration" && f.Type != "base64":
			return nil, errorf("%s: unknown type %q", path, f.Type)
		}
		if f.Default != nil {
			value := jsonvalue.Clone(whole(*f.Default))
			f.Default = &value
		}
		root.at(fieldpath.Parse(path)).source = f
	}
	return root, nil
}

// at returns the node at the end of steps and makes those that are missing.
func (f *field) at(steps fieldpath.Path) *field {
	for _, s := range steps {
		next := &f.items
		switch s {
		case fieldpath.EachItem:
		case fieldpath.EachValue:
			next = &f.values
		default:
			if f.properties == nil {
				f.properties = map[string]*field{}
			}
			name := fieldpath.Name(s)
			if f.properties[name] == nil {
				f.properties[name] = &field{}
			}
			f = f.properties[name]
			continue
		}
		if *next == nil {
			*next = &field{}
		}
		f = *next
	}
	return f
}

// hold marks the objects on the way to a locked field: a Go struct has them always. Lists and maps can be absent.
func (f *field) hold(steps fieldpath.Path) {
	for i, s := range steps[:len(steps)-1] {
		if next := steps[i+1]; next == fieldpath.EachItem || next == fieldpath.EachValue {
			return
		}
		f = f.at(fieldpath.Path{s})
		f.parent = true
	}
}

// property returns the node of a property; nil for an unknown one.
func (f *field) property(name string) *field {
	if f == nil {
		return nil
	}
	if p := f.properties[name]; p != nil {
		return p
	}
	return f.values
}

// stored returns a copy of obj as the operator's webhook compares it: without null and what counts as absent, with defaults,
// and with quantities and durations in one form. The object is applied over before, which is nil for one that is created: a
// field that is removed gets no default that the operator fills in only once.
func (f *field) stored(obj, before map[string]any) map[string]any {
	out, _ := f.canonical(obj, "").(map[string]any)
	f.fill(out, out, f.canonical(before, ""))
	return out
}

// canonical returns the one form of a value; mode says which values count as absent.
func (f *field) canonical(v any, mode string) any {
	mode = f.mode(mode)
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			p := f.property(name)
			member = p.canonical(member, mode)
			if member != nil && !countsAsAbsent(member, p.mode(mode)) {
				out[name] = member
			}
		}
		return out
	case []any:
		var items *field
		if f != nil {
			items = f.items
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = items.canonical(item, mode)
		}
		return out
	}
	v = whole(v)
	if f == nil {
		return v
	}
	switch f.source.Type {
	case "quantity":
		return canonical.Quantity(v)
	case "duration":
		return canonical.Duration(v)
	case "base64":
		return canonical.Base64(v)
	}
	return v
}

// mode returns which values count as absent at f and below; above is what its parent says, and "" means that nobody knows.
func (f *field) mode(above string) string {
	switch {
	case f == nil || f.source.Normalize == "":
		return above
	case f.source.Normalize == "unknown":
		return ""
	}
	return f.source.Normalize
}

// countsAsAbsent reports whether a canonical value counts as absent in a mode.
func countsAsAbsent(v any, mode string) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0 && mode != "" && mode != "none"
	case []any:
		return len(v) == 0 && mode != "" && mode != "none"
	}
	return mode == "zero" && isZero(v)
}

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// fill sets the defaults of what is absent in value and below. It changes value. before is what was there.
func (f *field) fill(value any, root map[string]any, before any) {
	if f == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		for name, p := range f.properties {
			if _, ok := value[name]; !ok && (!p.source.Once || was[name] == nil) {
				p.initial(value, name, root)
			}
			p.fill(value[name], root, was[name])
		}
		if f.values != nil {
			for name, member := range value {
				f.values.fill(member, root, was[name])
			}
		}
	case []any:
		for _, item := range value {
			f.items.fill(item, root, nil)
		}
	}
}

// initial sets a member that is absent to what the operator fills in.
func (f *field) initial(in map[string]any, name string, root map[string]any) {
	switch {
	case f.source.Default != nil:
		in[name] = jsonvalue.Clone(*f.source.Default)
	case f.source.DefaultFrom != "":
		if from, ok := fieldpath.At(root, f.source.DefaultFrom); ok {
			in[name] = jsonvalue.Clone(from)
		}
	case f.parent && f.source.Normalize != "none":
		in[name] = map[string]any{}
	}
}

// schema returns the OpenAPI schema of the tree with marks at the end of steps.
func (f *field) schema(steps fieldpath.Path, marks map[string]any) *spec.Schema {
	if f == nil {
		f = &field{}
	}
	s := &spec.Schema{}
	if len(steps) == 0 {
		f.describe(s)
		for key, value := range marks {
			s.AddExtension(key, value)
		}
		return s
	}
	switch next := steps[0]; next {
	case fieldpath.EachItem:
		f.list(s, f.items.schema(steps[1:], marks))
	case fieldpath.EachValue:
		s.Type = []string{"object"}
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: f.values.schema(steps[1:], marks)}
	default:
		s.Type = []string{"object"}
		name := fieldpath.Name(next)
		s.SetProperty(name, *f.property(name).schema(steps[1:], marks))
	}
	return s
}

// describe adds what is known below f to its schema.
func (f *field) describe(s *spec.Schema) {
	switch {
	case f == nil:
	case f.items != nil || f.source.Set || len(f.source.Keys) > 0:
		item := &spec.Schema{}
		f.items.describe(item)
		f.list(s, item)
	case f.values != nil:
		value := &spec.Schema{}
		f.values.describe(value)
		s.Type, s.AdditionalProperties = []string{"object"}, &spec.SchemaOrBool{Allows: true, Schema: value}
	case f.properties != nil:
		s.Type = []string{"object"}
		s.AddExtension(lockschema.KeyPreserveUnknown, true)
		for name, p := range f.properties {
			below := spec.Schema{}
			p.describe(&below)
			s.SetProperty(name, below)
		}
	}
}

// list makes s the schema of a list with those items.
func (f *field) list(s, item *spec.Schema) {
	s.Type, s.Items = []string{"array"}, &spec.SchemaOrArray{Schema: item}
	switch {
	case len(f.source.Keys) > 0:
		keys := make([]any, len(f.source.Keys))
		item.Type = []string{"object"}
		item.AddExtension(lockschema.KeyPreserveUnknown, true)
		for i, key := range f.source.Keys {
			keys[i] = key
			if _, ok := item.Properties[key]; !ok {
				item.SetProperty(key, *spec.StringProperty())
			}
		}
		s.AddExtension(lockschema.KeyListType, "map")
		s.AddExtension(lockschema.KeyListMapKeys, keys)
	case f.source.Set:
		s.AddExtension(lockschema.KeyListType, "set")
	}
}

// below returns the node at the end of steps, nil for an unknown one, and which values count as absent there.
func (f *field) below(steps fieldpath.Path) (at *field, mode string) {
	for _, s := range steps {
		if f == nil {
			return nil, mode
		}
		mode = f.mode(mode)
		switch s := s.(type) {
		case int:
			f = f.items
		case string:
			f = f.property(s)
		}
	}
	return f, mode
}

// stripped returns a copy of v without the zero values that may count as absent: those of which nothing is said.
func (f *field) stripped(v any, mode string) any {
	mode = f.mode(mode)
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			p := f.property(name)
			if member = p.stripped(member, mode); p.mode(mode) == "none" || !isZero(member) {
				out[name] = member
			}
		}
		return out
	case []any:
		var items *field
		if f != nil {
			items = f.items
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = items.stripped(item, mode)
		}
		return out
	}
	return v
}

// same reports whether two canonical values are equal.
func same(a, b any) bool { return jsonvalue.Equal(a, b) }

// whole makes numbers without a fraction int64, as the API machinery decodes them.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case int:
		return int64(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	}
	return v
}
