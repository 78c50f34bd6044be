package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// What an apply makes of the manifest of a custom resource is not always what the manifest says.
//
// A client-side apply is a JSON merge patch, in which null removes a value. Without a patch, or with a PUT, a nullable field is null.
//
// A server-side apply removes what the last one set and this one does not, which the API server's own code finds out here. It does not
// count an empty list of list-type set or map, nor an object that has nothing but such lists. With {audit: {rules: [{name: a}]}} before,
//
//	{class: x, audit: {rules: []}}
//
// removes audit as a whole. A default below a field stays, unless it was applied: null for the field then leaves the default.

// applied returns p with the new object as its request stores it. If that object is not valid although the manifest is, applied adds the reason
// to v.
func (d *crdDefinition) applied(v *verdict, p request) request {
	version := d.version(p.new.APIVersion)
	if d.noDefaults || p.by == "" || p.by == builtin.ApplierReplace || !d.mayDiffer(p) {
		return p
	}
	oldObj, err := d.stored(version, p.old)
	if err != nil {
		return p // check reports it
	}
	if isServerSide(p.by) {
		return d.merged(v, p, version, oldObj)
	}
	request := func(a *patched) *manifest.Object {
		sent := *p.new
		sent.Stored = jsonvalue.Clone(p.new.Value()).(map[string]any)
		a.apply(version.Schema, sent.Stored, side{p.old.Value(), oldObj}, nil)
		return &sent
	}
	a := &patched{unset: true}
	if valid := request(a); len(a.taken) > 0 {
		path := a.taken[0].String()
		d.invalid(v, p, valid, version, oldObj, a.taken[0], "client-side apply is refused: null removes "+path, "set "+path+" to a value, not to null")
	}
	a = &patched{}
	if sent := request(a); a.changed {
		p.new = sent
	}
	return p
}

// invalid adds to v the first mistake that the server finds in what a request stores, and not in the manifest.
func (d *crdDefinition) invalid(v *verdict, p request, sent *manifest.Object, version *crd.Version, oldObj map[string]any, at fieldpath.Path, message, edit string) {
	written, err := d.prepare(version, p.new)
	if err != nil {
		return
	}
	stored, err := d.prepare(version, sent)
	validator := d.laws[version].validity()
	if err != nil || validator == nil {
		return
	}
	mistakes, known := validator(stored, oldObj), validator(written, nil)
	if i := slices.IndexFunc(mistakes, func(m string) bool { return !slices.Contains(known, m) }); i >= 0 {
		v.addServerSide(at, message+", and then "+mistakes[i], edit)
	}
}

// newValidity returns a function that lists what the server finds wrong with an object, or with an update if the old one is not nil. The function
// is nil if the schema cannot be used. Transition rules are left out, and rules that read the status: it is the cluster's.
func newValidity(s *spec.Schema) func(newObj, oldObj map[string]any) []string {
	converted, err := celrun.Convert(s)
	if err != nil {
		return nil
	}
	validator, _, err := validation.NewSchemaValidator(converted)
	if err != nil {
		return nil
	}
	structural, err := structuralschema.NewStructural(converted)
	if err != nil {
		return nil
	}
	rules := celrun.New(s, func(r celrun.Rule) bool { return !celrun.Transition(r) && !readsStatus(r) })
	return func(newObj, oldObj map[string]any) (mistakes []string) {
		errs := validation.ValidateCustomResource(nil, newObj, validator)
		if oldObj != nil {
			correlated := common.NewCorrelatedObject(newObj, oldObj, &model.Structural{Structural: structural})
			errs = validation.ValidateCustomResourceUpdate(nil, newObj, oldObj, validator, validation.WithRatcheting(correlated))
		}
		if oldObj == nil || len(listtype.ValidateListSetsAndMaps(nil, structural, oldObj)) == 0 {
			errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, newObj)...)
		}
		for _, e := range errs {
			mistakes = append(mistakes, strings.TrimSuffix(fmt.Sprintf("%s: %v: %s", e.Field, e.Type, e.Detail), ": ")) // without the value
		}
		broken, err := rules.ValidateUpdate(newObj, oldObj)
		if err != nil {
			return nil
		}
		for _, b := range broken {
			mistakes = append(mistakes, strings.TrimPrefix(b.Path+": "+b.Message, ": "))
		}
		return mistakes
	}
}

// mayDiffer reports whether requests may store different objects for the manifests of a pair, or something else than what the new one says: they
// have null or something empty, other than in the metadata, or rules may see what the cluster has more than the manifest and its defaults.
func (d *crdDefinition) mayDiffer(p request) bool {
	newVersion, oldVersion := d.version(p.new.APIVersion), d.version(p.old.APIVersion)
	if leavesEmpty(p.new) || leavesEmpty(p.old) || newVersion == nil || oldVersion == nil {
		return true
	}
	more := d.before != nil || len(d.crd.Versions) > 1 || d.layered[newVersion]()
	return more && !(d.laws[newVersion].empty() && d.laws[oldVersion].empty())
}

// defaultsAContainer reports whether a default is an object or list that is not empty. What an apply sets in it is merged into it.
func defaultsAContainer(s *spec.Schema) bool {
	for _, node := range schema.Nodes(s) {
		switch value := node.Default.(type) {
		case map[string]any:
			if len(value) > 0 {
				return true
			}
		case []any:
			if len(value) > 0 {
				return true
			}
		}
	}
	return false
}

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

// patched is what a client-side apply makes of a manifest.
type patched struct {
	changed bool
	taken   []fieldpath.Path // fields that the request removes, although the manifest has them
	// unset makes null absent also where it takes the place of no value. A patch does, but locks tell the two apart.
	unset bool
}

// apply changes the value v of a copy of the manifest into what the request makes of it.
func (a *patched) apply(s *spec.Schema, v any, old side, at fieldpath.Path) {
	switch v := v.(type) {
	case map[string]any:
		had, _ := old.prepared.(map[string]any)
		for name, was := range had { // a patch leaves what no manifest has
			if !child(old.written, name).ok && !child(v, name).ok {
				v[name], a.changed = jsonvalue.Clone(was), true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := append(slices.Clip(at), name)
			switch {
			case len(at) == 0 && name == "metadata":
			case !a.removes(name, v[name], old):
				a.apply(schema.Below(s, name), v[name], old.at(name), below)
			default:
				delete(v, name)
				a.changed, a.taken = true, append(a.taken, below)
			}
		}
	case []any:
		if jsonvalue.Equal(v, old.written) {
			return // it is not sent
		}
		for i := range v { // a patch has the whole list
			a.apply(schema.Below(s, i), v[i], side{}, append(slices.Clip(at), i))
		}
	}
}

// removes reports whether the request removes a member that an object of the manifest has: kubectl sends no null that stays. Old is the old object.
func (a *patched) removes(name string, member any, old side) bool {
	written := child(old.written, name)
	return member == nil && (a.unset || child(old.prepared, name).ok) && !(written.ok && written.v == nil)
}

// side is a value as its manifest has it, and as the server has it.
type side struct{ written, prepared any }

// at returns the value one step below.
func (s side) at(step any) side { return side{child(s.written, step).v, child(s.prepared, step).v} }
