package compare

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Updates of custom resources that a server-side apply cannot make, and any other request can.

// serverSide adds what a server-side apply of a pair refuses, for a CRD with both versions and no conversion webhook. With a
// cluster, the server has answered already.
func (d *crdDefinition) serverSide(v *verdict, p request, newVersion, oldVersion *crd.Version) {
	if !isServerSide(p.by) || d.noDefaults || d.replaced {
		return
	}
	if newVersion == oldVersion && d.inOld {
		return // which saves converting the schema
	}
	newObj, err := d.preparers[newVersion].Prepare(p.new.Value())
	if err != nil {
		return // check reports it, where it matters
	}
	oldObj, err := d.stored(newVersion, p.old)
	if err != nil {
		return
	}
	if newVersion != oldVersion || !d.inOld { // otherwise the server could not have stored it
		if at, ok := mistyped(newVersion.Schema, oldObj, nil); ok {
			v.addServerSide(at, fmt.Sprintf("server-side apply fails: %s of the object in the cluster is not of the type that it has in %s of the CRD, "+
				"and without a conversion the API server answers \"failed to create typed live object\"", at.String(), newVersion.Name), "")
			return
		}
	}
	if newVersion != oldVersion {
		if last, err := d.apply(oldVersion, nil, p.old.Value()); !oldVersion.Served || err == nil && len(last.GetManagedFields()) == 0 {
			return // the server forgets what was applied in it
		}
		d.unconverted(v, oldVersion, p.new.Value(), newObj, "failed to convert merged object to last applied version", p.new.APIVersion)
		if newVersion.Storage { // the server has stored the old object in it, with its defaults
			d.unconverted(v, oldVersion, oldObj, oldObj, "field not declared in schema", "")
		}
	}
}

func isServerSide(by builtin.Applier) bool {
	return by == builtin.ApplierServerSide || by == builtin.ApplierFlux
}

// unconverted adds that the server cannot read an object in the version of the last apply, where that one lacks a field that is
// also in the object as written: the server converts it without pruning. The way out is to change to the version first, with a
// difference, without which Flux sends nothing; an apply in it fails, too, if version is "".
func (d *crdDefinition) unconverted(v *verdict, last *crd.Version, written, obj map[string]any, answer, version string) {
	before, err := d.preparers[last].Prepare(obj)
	if err != nil {
		return
	}
	if at, ok := lost(written, obj, before, nil); ok {
		path, edit := at.String(), ""
		if version != "" {
			edit = "change the apiVersion to " + version + " and add a label in a change of its own, and set " + path + " with the next one"
		}
		v.addServerSide(at, fmt.Sprintf("server-side apply fails: the last apply used %s, whose schema does not have %s, "+
			"and without a conversion the API server answers %q", last.Name, path, answer), edit)
	}
}

// addServerSide adds a refusal that no lock or rule explains, unless v has a violation at the path or around it. edit avoids the refusal; it is ""
// where no edit does. Tools do not replace the object after such a refusal: the server's answer is an internal error, or it refuses a new
// object too.
func (v *verdict) addServerSide(at fieldpath.Path, message, edit string) {
	path := at.String()
	if slices.ContainsFunc(v.violations, func(b Violation) bool { return b.Path != "" && related(b.Path, path) }) {
		return
	}
	v.violations = append(v.violations, Violation{
		Path: path, at: at, Lock: lockServer, Message: message, Unforced: true,
	})
	if edit != "" {
		v.edits = append(v.edits, edit)
	}
}

// merged returns p with the new object as a server-side apply stores it, unless that is what the manifest says or the server cannot store it:
// then merged adds the reason to v. The API server makes null of an object in which nothing is left.
func (d *crdDefinition) merged(v *verdict, p request, version *crd.Version, oldObj map[string]any) request {
	first := d
	if d.before != nil && d.before.covers(p.old.APIVersion) {
		first = d.before
	}
	last, err := first.apply(first.version(p.old.APIVersion), nil, p.old.Value())
	if err != nil {
		return p // the server could not have stored it
	}
	live := &unstructured.Unstructured{Object: jsonvalue.Clone(oldObj).(map[string]any)}
	live.SetAPIVersion(p.new.APIVersion)
	live.SetManagedFields(last.GetManagedFields())
	stored, err := d.apply(version, live, p.new.Value())
	if err != nil {
		return p // serverSide reports it, or the server does not take the new object either
	}
	sent := *p.new
	sent.Stored = stored.Object
	sent.Stored["metadata"] = p.new.Value()["metadata"]
	nulls := nulls(version.Schema, sent.Stored, side{p.new.Value(), p.old.Value()}, nil)
	for _, at := range nulls {
		path, written := at.String(), yamldoc.At(p.new.Value(), at...)
		if written == nil {
			v.addServerSide(at, fmt.Sprintf("server-side apply is refused: it sends null for %s, which may not be null", path),
				"remove "+path+" from the manifest instead of setting it to null")
			continue
		}
		v.addServerSide(at, fmt.Sprintf("server-side apply is refused: emptying %s makes it null, which is not of type object", path),
			"remove "+path+" from the manifest instead of emptying it")
	}
	if len(nulls) > 0 {
		return p
	}
	if at, ok := taken(p.new.Value(), sent.Stored, nil); ok {
		message, edit := "server-side apply is refused: it removes %s, in which nothing but empty lists is left", "keep a value in %s"
		if yamldoc.At(p.new.Value(), at...) == nil {
			message, edit = "server-side apply is refused: it sends null for %s, of which a default stays", "remove %s from the manifest instead of setting it to null"
		}
		d.invalid(v, p, &sent, version, oldObj, at, fmt.Sprintf(message, at), fmt.Sprintf(edit, at))
	}
	p.new = &sent
	return p
}

// nulls returns the steps to the nulls of a stored object where the schema allows none and has no default, but for those that both manifests
// have: they were not applied server-side. Manifests has the new one and the old one.
func nulls(s *spec.Schema, stored any, manifests side, at fieldpath.Path) (list []fieldpath.Path) {
	switch stored := stored.(type) {
	case nil:
		if s != nil && !s.Nullable && s.Default == nil && len(s.Type) > 0 {
			return []fieldpath.Path{at}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			is, was := child(manifests.written, name), child(manifests.prepared, name)
			if len(at) == 0 && name == "metadata" || is.ok && is.v == nil && was.ok && was.v == nil {
				continue
			}
			list = append(list, nulls(schema.Below(s, name), stored[name], manifests.at(name), append(slices.Clip(at), name))...)
		}
	case []any:
		if jsonvalue.Equal(manifests.written, manifests.prepared) {
			return nil
		}
		for i := range stored {
			var was value
			if s != nil {
				was, _ = oldItem(s, stored, manifests.prepared, i)
			}
			list = append(list, nulls(schema.Below(s, i), stored[i], side{child(manifests.written, i).v, was.v}, append(slices.Clip(at), i))...)
		}
	}
	return list
}

// taken returns the steps to the first field of a manifest that is not stored, or null there and something else in what is stored.
func taken(written, stored any, at fieldpath.Path) (fieldpath.Path, bool) {
	switch written := written.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(written)) {
			below, is := append(slices.Clip(at), name), child(stored, name)
			if !is.ok || written[name] == nil && is.v != nil {
				return below, true
			}
			if found, ok := taken(written[name], is.v, below); ok {
				return found, true
			}
		}
	case []any:
		for i := range written {
			if found, ok := taken(written[i], child(stored, i).v, append(slices.Clip(at), i)); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// apply returns what the API server's own code makes of an object in a version by a server-side apply of a manifest, before it sets defaults.
// Without an object, it creates one.
func (d *crdDefinition) apply(version *crd.Version, live *unstructured.Unstructured, manifest map[string]any) (*unstructured.Unstructured, error) {
	converter, err := d.converter()
	if err != nil {
		return nil, err
	}
	kind := apischema.GroupVersionKind{Group: d.crd.Group, Version: version.Name, Kind: d.crd.Kind}
	if live == nil {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(kind)
	}
	sent := (&unstructured.Unstructured{Object: manifest}).DeepCopy()
	sent.SetManagedFields(nil)
	if version.HasStatus {
		delete(sent.Object, "status") // which only the subresource writes
	}
	return Merge(converter, live, sent, "apply")
}

// newConverter reads the schemas of a CRD as the API server does for server-side applies. Unknown fields are merged, too: the server would
// refuse the new object alone.
func newConverter(c *crd.CRD) (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{}
	for _, v := range c.Versions {
		root := spec.Schema{}
		if v.Schema != nil {
			root = *v.Schema
		}
		root.Properties = maps.Clone(root.Properties)
		delete(root.Properties, "metadata") // then it is an object of any fields
		root.Extensions = maps.Clone(root.Extensions)
		if root.Extensions == nil {
			root.Extensions = spec.Extensions{}
		}
		root.Extensions["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": c.Group, "version": v.Name, "kind": c.Kind}}
		models[v.Name] = &root
	}
	return managedfields.NewTypeConverter(models, true)
}

// Merge returns what the API server's own code makes of a live object by a server-side apply of a manifest in the same version.
func Merge(converter managedfields.TypeConverter, live, manifest *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	u, kind := unversioned{}, manifest.GroupVersionKind()
	fields, err := managedfields.NewDefaultCRDFieldManager(converter, u, u, u, kind, kind.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	stored, err := fields.Apply(live.DeepCopy(), manifest.DeepCopy(), manager, true)
	if err != nil {
		return nil, err
	}
	object, ok := stored.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", stored)
	}
	return object, nil
}

// unversioned is what the merge needs to know of Go types for objects without them. A conversion changes the apiVersion
// only, as without a webhook.
type unversioned struct{}

var (
	_ runtime.ObjectConvertor = unversioned{}
	_ runtime.ObjectDefaulter = unversioned{}
	_ runtime.ObjectCreater   = unversioned{}
)

// Default does nothing: defaults count when the objects are compared.
func (unversioned) Default(runtime.Object) {}

func (unversioned) New(kind apischema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

func (unversioned) Convert(in, out, _ any) error {
	from, isFrom := in.(*unstructured.Unstructured)
	to, isTo := out.(*unstructured.Unstructured)
	if !isFrom || !isTo {
		return fmt.Errorf("a %T cannot become a %T", in, out)
	}
	from.DeepCopyInto(to)
	return nil
}

func (unversioned) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	out := in.DeepCopyObject()
	kind, ok := target.KindForGroupVersionKinds([]apischema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if ok {
		out.GetObjectKind().SetGroupVersionKind(kind)
	}
	return out, nil
}

func (unversioned) ConvertFieldLabel(_ apischema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// mistyped returns the steps to the first value that is of another type than its schema says. To a server-side apply, a text with a
// format can be any scalar, unless the format is byte.
func mistyped(s *spec.Schema, v any, at fieldpath.Path) (fieldpath.Path, bool) {
	if s == nil || len(s.Type) == 0 || v == nil {
		return nil, false
	}
	is, loose := "", s.Type.Contains("string") && s.Format != "" && s.Format != "byte"
	switch v := v.(type) {
	case map[string]any:
		if is = "object"; s.Type.Contains(is) {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if found, ok := mistyped(schema.Below(s, name), v[name], append(slices.Clip(at), name)); ok && (len(at) > 0 || name != "metadata") {
					return found, true
				}
			}
		}
	case []any:
		if is = "array"; s.Type.Contains(is) {
			for i := range v {
				if found, ok := mistyped(schema.Below(s, i), v[i], append(slices.Clip(at), i)); ok {
					return found, true
				}
			}
		}
	case string:
		is = "string"
	case bool:
		return at, !loose && !s.Type.Contains("boolean")
	default:
		return at, !loose && !s.Type.Contains("integer") && !s.Type.Contains("number")
	}
	return at, !s.Type.Contains(is)
}

// lost returns the steps to the first value of a manifest that is in one version of its object and not in another.
func lost(written, is, was any, at fieldpath.Path) (fieldpath.Path, bool) {
	switch written := written.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(written)) {
			below := append(slices.Clip(at), name)
			member, inNew := child(is, name).v, child(is, name).ok
			before := child(was, name)
			switch {
			case !inNew || len(at) == 0 && name == "metadata":
			case !before.ok && member != nil:
				return below, true
			default:
				if found, ok := lost(written[name], member, before.v, below); ok {
					return found, true
				}
			}
		}
	case []any:
		for i := range written {
			if found, ok := lost(written[i], child(is, i).v, child(was, i).v, append(slices.Clip(at), i)); ok {
				return found, true
			}
		}
	}
	return nil, false
}
