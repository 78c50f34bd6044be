package crdfacts

import (
	"cmp"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
)

// Verdict is what the rules of a CRD say about an update.
type Verdict struct {
	Refused []Finding
	// Unknown are changes of fields that a rule reads which equals no lock: the CRD decides.
	Unknown []Finding
}

// Finding is a change of a field that has a row.
type Finding struct {
	immutability.Violation
	Row *Row
}

// Check judges an update by the rows of the kind. Both objects are decoded manifests in a version of the kind, as written, and
// stay as they are. The error is about the data, which is part of the program.
//
// Cost: O(object); the first call compiles the rows.
func (k *Kind) Check(newObj, oldObj map[string]any) (Verdict, error) {
	var v Verdict
	if len(k.Rows) == 0 {
		return v, nil
	}
	k.once.Do(func() { k.compiled, k.err = compile(k) })
	if k.err != nil {
		return v, k.err
	}
	for _, part := range []struct {
		rules *ruled
		into  *[]Finding
	}{{k.compiled.locks, &v.Refused}, {k.compiled.open, &v.Unknown}} {
		if part.rules == nil {
			continue
		}
		is, _ := part.rules.tree.stored(newObj).(map[string]any)
		was, _ := part.rules.tree.stored(oldObj).(map[string]any)
		for _, found := range part.rules.validator.Check(is, was).Violations {
			*part.into = append(*part.into, Finding{found, part.rules.bySchema[found.SchemaPath]})
		}
	}
	return v, nil
}

// compiled are the rows of a kind: those that are locks, and those of which only the fields are known. Either may be nil.
type compiled struct{ locks, open *ruled }

// ruled are rows, as one schema.
type ruled struct {
	tree      *field
	validator *immutability.Validator
	bySchema  map[string]*Row
}

func compile(k *Kind) (*compiled, error) {
	var rows [2][]*Row
	for i := range k.Rows {
		kind := 0
		if k.Rows[i].Unknown {
			kind = 1
		}
		rows[kind] = append(rows[kind], &k.Rows[i])
	}
	locks, err := newRuled(k, rows[0])
	if err != nil {
		return nil, err
	}
	open, err := newRuled(k, rows[1])
	return &compiled{locks, open}, err
}

func newRuled(k *Kind, rows []*Row) (*ruled, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	r := &ruled{tree: &field{}, bySchema: map[string]*Row{}}
	for path, f := range k.Fields {
		r.tree.at(fieldpath.Parse(path)).Field = f
	}
	for _, row := range rows {
		path := fieldpath.Parse(row.Path)
		if row.Unknown {
			r.tree.hold(path)
		}
		at := r.tree.at(path)
		at.row = row
		r.bySchema[schemaPath(path)] = row
	}
	var err error
	r.validator, err = immutability.Compile(r.tree.schema())
	return r, err
}

// schemaPath returns the JSON pointer of a path in the schema of a tree.
func schemaPath(path fieldpath.Path) string {
	var at *lockschema.Path
	for _, step := range path {
		switch step {
		case fieldpath.EachItem:
			at = at.Items()
		case fieldpath.EachValue:
			at = at.Values()
		default:
			at = at.Property(fieldpath.Name(step))
		}
	}
	return at.Pointer()
}

// field is a node in the tree of the fields of a kind that rows or Kind.Fields name.
type field struct {
	Field
	row        *Row
	parent     bool // of a row that is unknown: an absent object counts as an empty one, since rules above it see what it loses
	properties map[string]*field
	items      *field
	values     *field
}

// at returns the node at the end of a path and makes those that are missing.
func (f *field) at(path fieldpath.Path) *field {
	for _, step := range path {
		switch step {
		case fieldpath.EachItem:
			f.items = cmp.Or(f.items, &field{})
			f = f.items
		case fieldpath.EachValue:
			f.values = cmp.Or(f.values, &field{})
			f = f.values
		default:
			name := fieldpath.Name(step)
			if f.properties == nil {
				f.properties = map[string]*field{}
			}
			f.properties[name] = cmp.Or(f.properties[name], &field{})
			f = f.properties[name]
		}
	}
	return f
}

// hold marks the objects on the way to a row as parents, except those that are lists or maps.
func (f *field) hold(path fieldpath.Path) {
	for i := 1; i < len(path); i++ {
		if path[i] != fieldpath.EachItem && path[i] != fieldpath.EachValue {
			f.at(path[:i]).parent = true
		}
	}
}

// stored returns a copy of a value as the API server compares it: without null where the schema does not allow it, and with
// defaults. What no field is known of loses its nulls.
func (f *field) stored(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if p := f.member(name); member != nil || p != nil && p.Nullable {
				out[name] = p.stored(member)
			}
		}
		if f == nil {
			return out
		}
		for name, p := range f.properties {
			_, has := out[name]
			switch {
			case has:
			case p.Default != nil:
				out[name] = p.stored(jsonvalue.Clone(*p.Default))
			case p.parent:
				out[name] = p.stored(map[string]any{})
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			if f == nil {
				out[i] = (*field)(nil).stored(item)
			} else {
				out[i] = f.items.stored(item)
			}
		}
		return out
	}
	return v
}

// member returns the node of a member of an object; nil for one of which nothing is known.
func (f *field) member(name string) *field {
	if f == nil {
		return nil
	}
	if p := f.properties[name]; p != nil {
		return p
	}
	return f.values
}

// schema returns the OpenAPI schema of the tree, with the locks of its rows.
func (f *field) schema() *spec.Schema {
	s := &spec.Schema{}
	if f.Type != "" {
		s.Type = []string{f.Type}
	}
	if f.row != nil {
		f.row.mark(s)
	}
	switch {
	case f.items != nil || f.Set || len(f.Keys) > 0:
		item := &spec.Schema{}
		if f.items != nil {
			item = f.items.schema()
		}
		f.list(s, item)
	case f.values != nil:
		s.Type, s.AdditionalProperties = []string{"object"}, &spec.SchemaOrBool{Allows: true, Schema: f.values.schema()}
	case f.properties != nil:
		s.Type = []string{"object"}
		s.AddExtension(lockschema.KeyPreserveUnknown, true)
		for name, p := range f.properties {
			s.SetProperty(name, *p.schema())
		}
	case f.row != nil && f.row.Lock != "" && f.row.Lock != string(immutability.LockImmutable) || f.row != nil && slices.ContainsFunc(f.row.Update, ofKeys):
		s.Type, s.AdditionalProperties = []string{"object"}, &spec.SchemaOrBool{Allows: true, Schema: &spec.Schema{}}
	}
	return s
}

// ofKeys reports whether a word is about the keys of a map or list.
func ofKeys(word string) bool {
	return word == string(immutability.LockNoAddItem) || word == string(immutability.LockNoRemoveItem)
}

// list makes s the schema of a list with those items.
func (f *field) list(s, item *spec.Schema) {
	s.Type, s.Items = []string{"array"}, &spec.SchemaOrArray{Schema: item}
	switch {
	case len(f.Keys) > 0:
		keys := make([]any, len(f.Keys))
		item.Type = []string{"object"}
		item.AddExtension(lockschema.KeyPreserveUnknown, true)
		for i, key := range f.Keys {
			keys[i] = key
			property := item.Properties[key]
			if len(property.Type) == 0 {
				property.Type = []string{"string"} // a lock compares keys with their types, whatever the schema says
			}
			item.SetProperty(key, property)
		}
		s.AddExtension(lockschema.KeyListType, "map")
		s.AddExtension(lockschema.KeyListMapKeys, keys)
	case f.Set:
		s.AddExtension(lockschema.KeyListType, "set")
	}
}

// mark adds the locks of a row to a schema. An unknown row locks all, so that every change of the field is found.
func (r *Row) mark(s *spec.Schema) {
	switch {
	case r.Unknown:
		s.AddExtension(lockschema.KeyImmutable, true)
	case r.Lock != "":
		s.AddExtension("x-kubernetes-"+r.Lock, true)
	default:
		words := make([]any, len(r.Update))
		for i, word := range r.Update {
			words[i] = word
		}
		s.AddExtension(lockschema.KeyUpdate, words)
	}
	if r.Normalize != "" {
		s.AddExtension(lockschema.KeyNormalize, r.Normalize)
	}
	modify := r.Unknown || r.Lock == string(immutability.LockImmutable) || slices.Contains(r.Update, string(immutability.LockNoModify))
	if modify && !r.Ordered {
		s.AddExtension(lockschema.KeyMapListOrder, lockschema.OrderIgnored)
	}
}
