package kind

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Field is a node in the tree of what a comparison needs to know about the fields of a kind. It stores objects as the
// server or the operator does, and it is the schema below and above a lock. A nil Field knows nothing.
//
//	fields  spec.mode: {default: fast}
//	        spec.size: {type: quantity}
//	        spec:      {normalize: zero}
//	object  {spec: {size: 1024Mi, note: ""}}
//	stored  {spec: {size: "1073741824", mode: fast}}
type Field struct {
	FieldData
	// Held is set for an object that a Go struct always has, since a lock is below it: absent, it counts as an empty
	// one, unless Normalize is none.
	Held bool

	properties map[string]*Field
	items      *Field
	values     *Field // the values of a map
}

// jsonTypes are the values of FieldData.Type.
var jsonTypes = []string{"", "quantity", "duration", "base64", "string", "boolean", "integer",
	"number", "object", "array"}

// NewField makes the tree of a kind. types are those that the fields name.
func NewField(fields map[string]FieldData, types GoTypes) (*Field, error) {
	root := &Field{}
	for path, f := range fields {
		if err := root.At(fieldpath.Parse(path)).typed(f, types); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for path, f := range fields {
		if f.Normalize != "" && !slices.Contains([]string{"zero", "scalars", "undefined", "none", "unknown"},
			f.Normalize) {
			return nil, fmt.Errorf("%s: unknown value of normalize: %q", path, f.Normalize)
		}
		if !slices.Contains(jsonTypes, f.Type) {
			return nil, fmt.Errorf("%s: unknown type %q", path, f.Type)
		}
		if f.Default != nil {
			value := canonical.Whole(jsonvalue.Clone(*f.Default))
			f.Default = &value
		}
		root.At(fieldpath.Parse(path)).add(f)
	}
	return root, nil
}

// At returns the node at the end of steps and makes those that are missing.
func (f *Field) At(steps fieldpath.Path) *Field {
	for _, step := range steps {
		next := &f.items
		switch step {
		case fieldpath.EachItem:
		case fieldpath.EachValue:
			next = &f.values
		default:
			if f.properties == nil {
				f.properties = map[string]*Field{}
			}
			name := fieldpath.Name(step)
			if f.properties[name] == nil {
				f.properties[name] = &Field{}
			}
			f = f.properties[name]
			continue
		}
		if *next == nil {
			*next = &Field{}
		}
		f = *next
	}
	return f
}

// Hold marks the objects on the way to a locked field as held. Lists and maps can be absent, and nothing below them is
// held.
func (f *Field) Hold(steps fieldpath.Path) {
	for i, step := range steps[:len(steps)-1] {
		if next := steps[i+1]; next == fieldpath.EachItem || next == fieldpath.EachValue {
			return
		}
		f = f.At(fieldpath.Path{step})
		f.Held = true
	}
}

// Properties returns the nodes of the named properties. Nobody may change the map.
func (f *Field) Properties() map[string]*Field {
	if f == nil {
		return nil
	}
	return f.properties
}

// Items returns the node of the items of a list, or nil.
func (f *Field) Items() *Field {
	if f == nil {
		return nil
	}
	return f.items
}

// IsLeaf reports whether nothing is known below f: neither a list, nor a map, nor a property.
func (f *Field) IsLeaf() bool {
	return f.items == nil && f.values == nil && f.properties == nil && !f.Set && len(f.Keys) == 0
}

// Property returns the node of a property; nil for an unknown one.
func (f *Field) Property(name string) *Field {
	if f == nil {
		return nil
	}
	if p := f.properties[name]; p != nil {
		return p
	}
	return f.values
}

// Stored returns a copy of obj as it is compared: without null and what counts as absent, with defaults, and with
// amounts and durations in one form. The object is applied over before, which is nil for one that is created: a field
// that is removed gets no default that is filled in only once. The items of a list keep such defaults, unless the list
// is atomic and changes.
func (f *Field) Stored(obj, before map[string]any) map[string]any {
	return f.applied(obj, before, true)
}

// Rewritten is Stored for an apply that writes each list anew that changes, as a client-side apply of a custom resource
// does.
func (f *Field) Rewritten(obj, before map[string]any) map[string]any {
	return f.applied(obj, before, false)
}

func (f *Field) applied(obj, before map[string]any, mergesLists bool) map[string]any {
	out, _ := f.in(canonicalForm, obj, "").(map[string]any)
	was := f.in(canonicalForm, before, "")
	f.fill(filling{value: out, before: was, written: obj, wasWritten: before, mergesLists: mergesLists}, out)
	return out
}

// Prepare is Stored as a Preparer.
func (f *Field) Prepare(obj, before map[string]any) (map[string]any, error) {
	return f.Stored(obj, before), nil
}

// form is a form of values: which members an object has in it, and how a scalar is written. mode is the object's.
type form struct {
	keeps  func(f *Field, member any, mode string) bool
	scalar func(f *Field, v any) any
}

// canonicalForm is the form in which equal values are equal.
var canonicalForm = form{(*Field).keeps, (*Field).canonicalScalar}

// strippedForm is a canonical value without the zero values that may count as absent.
var strippedForm = form{
	func(f *Field, member any, mode string) bool { return decides(f.mode(mode)) || !isZero(member) },
	func(_ *Field, v any) any { return v },
}

// in returns a copy of a value in a form; mode says which values count as absent above f.
func (f *Field) in(to form, v any, mode string) any {
	mode = f.mode(mode)
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			p := f.Property(name)
			if member = p.in(to, member, mode); to.keeps(p, member, mode) {
				out[name] = member
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = f.Items().in(to, item, mode)
		}
		return out
	}
	return to.scalar(f, v)
}

func (f *Field) canonicalScalar(v any) any {
	v = canonical.Whole(v)
	if f == nil {
		return v
	}
	switch f.Type {
	case "quantity":
		return canonical.Quantity(v)
	case "duration":
		return canonical.Duration(v)
	case "base64":
		return canonical.Base64(v)
	}
	return v
}

// keeps reports whether a canonical member of an object does not count as absent; mode is the object's. Below
// a field with undefined, an empty object counts as absent only where its own field says so: a Go pointer keeps it.
func (f *Field) keeps(member any, mode string) bool {
	if member == nil {
		return f != nil && f.Nullable
	}
	_, isObject := member.(map[string]any)
	if ownMode := f.mode(""); isObject && mode == "undefined" {
		return !countsAsAbsent(member, ownMode)
	}
	return !countsAsAbsent(member, f.mode(mode))
}

// mode returns which values count as absent at f and below; above is what its parent says, and "" means that nobody
// knows.
func (f *Field) mode(above string) string {
	switch {
	case f == nil || f.Normalize == "":
		return above
	case f.Normalize == "unknown":
		return ""
	}
	return f.Normalize
}

// decides reports whether a mode tells for each value whether it counts as absent: what is left in a canonical value
// then differs from an absent one.
func decides(mode string) bool { return mode == "none" || mode == "scalars" }

// countsAsAbsent reports whether a canonical value counts as absent in a mode.
func countsAsAbsent(v any, mode string) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0 && mode != "" && !decides(mode)
	case []any:
		return len(v) == 0 && mode != "" && !decides(mode)
	}
	return (mode == "zero" || mode == "scalars") && isZero(v)
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

// Fill sets the defaults of what is absent in an object that is created. It changes obj.
func (f *Field) Fill(obj map[string]any) { f.fill(filling{value: obj, written: obj}, obj) }

// filling is a value whose defaults are filled in, and what was there before.
type filling struct {
	value, before       any // as they are compared
	written, wasWritten any // as the manifests have them
	mergesLists         bool
	isAnew              bool // the list that the value is in is written anew
}

// at returns the filling of a member of an object, or of an item of a list.
func (in filling) at(step any) filling {
	for _, value := range []*any{&in.value, &in.before, &in.written, &in.wasWritten} {
		*value, _ = fieldpath.Get(*value, step)
	}
	return in
}

// fill sets the defaults of what is absent in a value and below. It changes the value.
func (f *Field) fill(in filling, root map[string]any) {
	if f == nil {
		return
	}
	switch value := in.value.(type) {
	case map[string]any:
		was, _ := in.before.(map[string]any)
		for name, p := range f.properties {
			isLost := p.Once && (was[name] != nil || in.isAnew)
			if _, ok := value[name]; !ok && !isLost {
				p.initial(value, name, root)
			}
			if value[name] != nil && !p.IsLeaf() {
				p.fill(in.at(name), root)
			}
		}
		if f.values != nil {
			for name := range value {
				f.values.fill(in.at(name), root)
			}
		}
	case []any:
		isReplaced := in.wasWritten != nil && (f.Atomic || !in.mergesLists)
		in.isAnew = in.isAnew || isReplaced && !jsonvalue.Equal(in.written, in.wasWritten)
		for i := range value {
			f.items.fill(in.at(i), root)
		}
	}
}

// alwaysThere reports whether f is an object that a Go struct always has. A lock below it needs it on both sides.
func (f *Field) alwaysThere() bool { return f != nil && f.Held && f.Normalize != "none" }

// initial sets a member that is absent to what is filled in.
func (f *Field) initial(in map[string]any, name string, root map[string]any) {
	switch {
	case f.Default != nil:
		in[name] = jsonvalue.Clone(*f.Default)
	case f.DefaultFrom != "":
		if from, ok := fieldpath.At(root, f.DefaultFrom); ok {
			in[name] = jsonvalue.Clone(from)
		}
	case f.alwaysThere():
		in[name] = map[string]any{}
	}
}

// without returns value without what steps lead to. An object that held nothing else counts as absent, unless it is
// always there, or its own field says that an empty one differs from none. Items of lists stay.
func (f *Field) without(steps fieldpath.Path, value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := maps.Clone(value)
		for name, member := range value {
			switch {
			case steps[0] != fieldpath.EachValue && steps[0] != name:
				continue
			case len(steps) == 1:
				delete(out, name)
				continue
			}
			p := f.Property(name)
			out[name] = p.without(steps[1:], member)
			emptied, isObject := out[name].(map[string]any)
			if isObject && len(emptied) == 0 && !p.alwaysThere() && !decides(p.mode("")) {
				delete(out, name)
			}
		}
		return out
	case []any:
		if steps[0] != fieldpath.EachItem || len(steps) == 1 {
			return value
		}
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = f.Items().without(steps[1:], item)
		}
		return out
	}
	return value
}

// Mark is a lock at the end of a path: extension keys of its schema.
type Mark struct {
	At   fieldpath.Path
	Keys map[string]any
}

// Schema returns the OpenAPI schema of the tree with marks. It has what the locks need: the way to them, and what is
// known below them.
func (f *Field) Schema(marks ...Mark) *spec.Schema { return f.schema(marks, false) }

func (f *Field) schema(marks []Mark, isLocked bool) *spec.Schema {
	if f == nil {
		f = &Field{}
	}
	s := &spec.Schema{}
	below := map[any][]Mark{} // by the next step
	for _, m := range marks {
		if len(m.At) > 0 {
			below[m.At[0]] = append(below[m.At[0]], Mark{m.At[1:], m.Keys})
			continue
		}
		isLocked = true
		for key, value := range m.Keys {
			s.AddExtension(key, value)
		}
	}
	if isLocked {
		f.describe(s)
	}
	for step, marks := range below {
		switch step {
		case fieldpath.EachItem:
			f.List(s, f.items.schema(marks, isLocked))
		case fieldpath.EachValue:
			s.Type = []string{"object"}
			s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: f.values.schema(marks, isLocked)}
		default:
			s.Type = []string{"object"}
			name := fieldpath.Name(step)
			s.SetProperty(name, *f.Property(name).schema(marks, isLocked))
		}
	}
	return s
}

// describe adds what is known at and below f to its schema.
func (f *Field) describe(s *spec.Schema) {
	switch {
	case f == nil:
	case f.items != nil || f.Set || len(f.Keys) > 0:
		item := &spec.Schema{}
		f.items.describe(item)
		f.List(s, item)
	case f.values != nil:
		value := &spec.Schema{}
		f.values.describe(value)
		s.Type, s.AdditionalProperties = []string{"object"}, &spec.SchemaOrBool{Allows: true, Schema: value}
	case f.properties != nil:
		s.Type = []string{"object"}
		s.AddExtension(schema.KeyPreserveUnknown, true)
		for name, p := range f.properties {
			below := spec.Schema{}
			p.describe(&below)
			s.SetProperty(name, below)
		}
	case slices.Contains([]string{"quantity", "duration", "base64", ""}, f.Type):
	default:
		s.Type = []string{f.Type}
	}
}

// List makes s the schema of a list with those items.
func (f *Field) List(s, item *spec.Schema) {
	s.Type, s.Items = []string{"array"}, &spec.SchemaOrArray{Schema: item}
	switch {
	case f == nil:
	case len(f.Keys) > 0:
		keys := make([]any, len(f.Keys))
		item.Type = []string{"object"}
		item.AddExtension(schema.KeyPreserveUnknown, true)
		for i, key := range f.Keys {
			keys[i] = key
			property := item.Properties[key]
			if len(property.Type) == 0 {
				property.Type = []string{"string"} // a lock compares keys with their types, whatever the schema says
			}
			item.SetProperty(key, property)
		}
		s.AddExtension(schema.KeyListType, "map")
		s.AddExtension(schema.KeyListMapKeys, keys)
	case f.Set:
		s.AddExtension(schema.KeyListType, "set")
	}
}

// leavesOpen reports whether two canonical values at a path differ only in what may count as absent, so that it is not
// known whether they are equal.
func (f *Field) leavesOpen(at fieldpath.Path, newVal, oldVal any) bool {
	f, mode := f.below(at)
	mode = f.mode(mode)
	newVal, oldVal = f.in(strippedForm, newVal, mode), f.in(strippedForm, oldVal, mode)
	return jsonvalue.Equal(newVal, oldVal) || !decides(mode) && isZero(newVal) && isZero(oldVal)
}

// below returns the node at the end of steps, nil for an unknown one, and which values count as absent above it.
func (f *Field) below(steps fieldpath.Path) (at *Field, mode string) {
	for _, step := range steps {
		if f == nil {
			return nil, mode
		}
		mode = f.mode(mode)
		switch step := step.(type) {
		case int:
			f = f.items
		case string:
			f = f.Property(step)
		}
	}
	return f, mode
}
