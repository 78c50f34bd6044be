package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// What an apply makes of the manifest of a custom resource is not always what the manifest says.
//
// A client-side apply is a JSON merge patch, in which null removes a value. Without a patch, or with a PUT, a nullable field is null.
//
// A server-side apply removes what the last one set and this one does not. It does not count an empty list of list-type set or map, nor
// an object that has nothing but such lists: these are hollow. With {audit: {rules: [{name: a}]}} before,
//
//	{class: x, audit: {rules: []}}
//
// removes audit as a whole, the outermost hollow field. A hollow field stays if the last apply set nothing in it, even if the new manifest lacks
// it.

// applied is what a request makes of a manifest.
type applied struct {
	by      builtin.Applier
	changed bool
	taken   []fieldpath.Path // fields that the request removes, although the manifest has them
	// unset makes null absent also where it takes the place of no value. A patch does, but locks tell the two apart.
	unset bool
}

// applied returns p with the new object as its request stores it. If that object is not valid although the manifest is, applied adds the reason
// to v.
func (d *crdDefinition) applied(v *verdict, p pair) pair {
	version := d.version(p.new.APIVersion)
	if d.noDefaults || p.by == "" || p.by == builtin.ApplierReplace || !mayDiffer(p) {
		return p
	}
	oldObj, err := d.prepare(version, p.old, storageversion.Through(d.crd.CRD, version)...)
	if err != nil {
		return p // check reports it
	}
	asWritten := p.new
	request := func(a *applied) *manifest.Object {
		sent := *asWritten
		sent.Stored = jsonvalue.Clone(asWritten.Value()).(map[string]any)
		a.apply(version.Schema, sent.Stored, side{p.old.Value(), oldObj}, nil)
		return &sent
	}
	a := &applied{by: p.by}
	if sent := request(a); a.changed {
		p.new = sent
	}
	valid := p.new
	if p.by == builtin.ApplierClientSide {
		a = &applied{by: p.by, unset: true}
		valid = request(a)
	}
	if len(a.taken) == 0 {
		return p
	}
	written, err := d.prepare(version, asWritten)
	if err != nil {
		return p
	}
	stored, err := d.prepare(version, valid)
	validator := d.laws[version].validity()
	if err != nil || validator == nil {
		return p
	}
	mistakes, known := validator(stored), slices.Concat(validator(written), validator(oldObj))
	if i := slices.IndexFunc(mistakes, func(m string) bool { return !slices.Contains(known, m) }); i >= 0 {
		at, path := a.taken[0], a.taken[0].String()
		message, edit := "server-side apply is refused: it removes %s, in which nothing but empty lists is left, and then %s", "keep a value in "+path
		if p.by == builtin.ApplierClientSide {
			message, edit = "client-side apply is refused: null removes %s, and then %s", "set "+path+" to a value, not to null"
		}
		v.addServerSide(at, fmt.Sprintf(message, path, mistakes[i]), edit)
	}
	return p
}

// newValidity returns a function that lists what the server finds wrong with a new object, nil if the schema cannot be used. Rules
// that read the status are left out: it is the cluster's.
func newValidity(s *spec.Schema) func(obj map[string]any) []string {
	converted, err := celrun.Convert(s)
	if err != nil {
		return nil
	}
	validator, _, err := validation.NewSchemaValidator(converted)
	if err != nil {
		return nil
	}
	rules := celrun.New(s, func(r celrun.Rule) bool { return !celrun.Transition(r) && !readsStatus(r) })
	return func(obj map[string]any) (mistakes []string) {
		for _, e := range validation.ValidateCustomResource(nil, obj, validator) {
			mistakes = append(mistakes, strings.TrimSuffix(fmt.Sprintf("%s: %v: %s", e.Field, e.Type, e.Detail), ": ")) // without the value
		}
		broken, err := rules.ValidateUpdate(obj, nil)
		if err != nil {
			return nil
		}
		for _, b := range broken {
			mistakes = append(mistakes, strings.TrimPrefix(b.Path+": "+b.Message, ": "))
		}
		return mistakes
	}
}

// mayDiffer reports whether requests may store different objects for the manifests of a pair: they have null or something empty, other
// than in the metadata.
func mayDiffer(p pair) bool { return leavesEmpty(p.new) || leavesEmpty(p.old) }

func leavesEmpty(o *manifest.Object) bool {
	for name, member := range o.Value() {
		if name != "metadata" && hasEmpty(member) {
			return true
		}
	}
	return false
}

func hasEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if hasEmpty(member) {
				return true
			}
		}
		return len(v) == 0
	case []any:
		return len(v) == 0 || slices.ContainsFunc(v, hasEmpty)
	}
	return v == nil
}

// apply changes the value v of a copy of the manifest into what the request makes of it.
func (a *applied) apply(s *spec.Schema, v any, old side, at fieldpath.Path) {
	marks := marksOf(s)
	switch v := v.(type) {
	case map[string]any:
		if a.isServerSide() && marks.MapType == schema.MapAtomic {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, known := append(slices.Clip(at), name), schema.Below(s, name)
			switch {
			case len(at) == 0 && name == "metadata":
			case !a.removes(s, name, v[name], old):
				a.apply(known, v[name], old.at(name), below)
			default:
				delete(v, name)
				a.changed, a.taken = true, append(a.taken, below)
			}
		}
		if a.isServerSide() && s != nil {
			a.keep(s, v, old)
		}
	case []any:
		if a.isServerSide() && marks.ListType != schema.ListMap || !a.isServerSide() && jsonvalue.Equal(v, old.written) {
			return // it is replaced as a whole, or not sent
		}
		for i := range v {
			var was side // a patch has the whole list
			if a.isServerSide() {
				written, _ := oldItem(s, v, old.written, i)
				prepared, _ := oldItem(s, v, old.prepared, i)
				was = side{written.v, prepared.v}
			}
			a.apply(schema.Below(s, i), v[i], was, append(slices.Clip(at), i))
		}
	}
}

// keep adds the hollow fields of an old object that the new one does not have.
func (a *applied) keep(s *spec.Schema, v map[string]any, old side) {
	members, _ := old.prepared.(map[string]any)
	for name, was := range members {
		if property, ok := s.Properties[name]; ok && !child(v, name).ok && hollow(&property, was) {
			v[name], a.changed = jsonvalue.Clone(was), true
		}
	}
}

func (a *applied) isServerSide() bool {
	return a.by == builtin.ApplierServerSide || a.by == builtin.ApplierFlux
}

// removes reports whether the request removes a member that an object of the manifest has. Old is the old object.
func (a *applied) removes(s *spec.Schema, name string, member any, old side) bool {
	written := child(old.written, name)
	if a.by == builtin.ApplierClientSide { // kubectl sends no null that stays
		return member == nil && (a.unset || child(old.prepared, name).ok) && !(written.ok && written.v == nil)
	}
	if s == nil {
		return false
	}
	property, ok := s.Properties[name]
	is, was := member, old.at(name).prepared
	if !ok || !written.ok || hollow(&property, written.v) || !remains(&property, is, was) {
		return false
	}
	return hollowed(&property, is, was)
}

// hollowed reports whether a new value leaves nothing but hollow fields, its own or those of the old value, which stay.
func hollowed(s *spec.Schema, is, was any) bool {
	members, isObject := is.(map[string]any)
	if !isObject || len(members) == 0 {
		return hollow(s, is) || isObject && hollowBelow(s, was)
	}
	for name, member := range members {
		if property, ok := s.Properties[name]; !ok || !hollowed(&property, member, child(was, name).v) {
			return false
		}
	}
	return marksOf(s).MapType != schema.MapAtomic
}

// remains reports whether an old value has a field that is not hollow and that stays when a hollow or empty new value is merged into it.
func remains(s *spec.Schema, is, was any) bool {
	members, isObject := was.(map[string]any)
	if !isObject {
		return was != nil && !hollow(s, was)
	}
	for name, member := range members {
		property, ok := s.Properties[name]
		newMember := child(is, name)
		if !ok || newMember.ok && remains(&property, newMember.v, member) || !newMember.ok && !hollow(&property, member) {
			return true
		}
	}
	return false
}

// hollow reports whether a server-side apply of a value sets nothing.
func hollow(s *spec.Schema, v any) bool {
	marks := marksOf(s)
	switch v := v.(type) {
	case []any:
		return len(v) == 0 && (marks.ListType == schema.ListSet || marks.ListType == schema.ListMap)
	case map[string]any:
		for name, member := range v {
			if property, ok := s.Properties[name]; !ok || !hollow(&property, member) {
				return false
			}
		}
		return len(v) > 0 && marks.MapType != schema.MapAtomic
	}
	return false
}

// hollowBelow reports whether an object has a hollow field, which stays when all others are removed.
func hollowBelow(s *spec.Schema, v any) bool {
	members, _ := v.(map[string]any)
	for name, member := range members {
		if property, ok := s.Properties[name]; ok && hollow(&property, member) {
			return true
		}
	}
	return false
}

func marksOf(s *spec.Schema) schema.Marks {
	if s == nil {
		return schema.Marks{}
	}
	marks, _ := schema.ReadMarks(s.Extensions)
	return marks
}
