package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// Update is an update of one object. Both objects are as the server holds them in the version of the request, with
// apiVersion, kind and a name; they are not changed.
type Update struct {
	New, Old map[string]any

	Group, Version, Plural, Kind string
	Namespaced                   bool
	// Versions are the versions in which the server serves the resource, that of the request among them. Convert
	// returns both objects in another one; ok is false, also with a nil Convert, where only the server can.
	Versions []string
	Convert  func(version string) (newObj, oldObj map[string]any, ok bool)
	// Defaulted is set for a kind whose defaults are not in the objects: what both leave out, and what one of them
	// leaves out and the other one has, may be equal on the server.
	Defaulted bool
	// Live is set where both objects are as a cluster has them, with what only the server sets.
	Live bool
}

// RequestOf returns the update of an object of a CRD in a version of it, without the objects.
func RequestOf(c *crd.CRD, version string) *Update {
	u := &Update{Group: c.Group, Version: version, Plural: c.Plural, Kind: c.Kind, Namespaced: c.Scope != "Cluster"}
	for _, v := range storageversion.Served(c) {
		u.Versions = append(u.Versions, v.Name)
	}
	return u
}

// UpdateOf is RequestOf with the objects. In returns both as the server holds them in a version, but for the
// apiVersion.
func UpdateOf(c *crd.CRD, version string, in func(version string) (newObj, oldObj map[string]any,
	err error)) (*Update, error) {
	u := RequestOf(c, version)
	newObj, oldObj, err := in(version)
	if err != nil {
		return nil, err
	}
	u.New, u.Old = u.named(newObj, version), u.named(oldObj, version)
	u.Convert = func(version string) (map[string]any, map[string]any, bool) {
		if !storageversion.Unconverted(c) {
			return nil, nil, false
		}
		newObj, oldObj, err := in(version)
		return u.named(newObj, version), u.named(oldObj, version), err == nil
	}
	return u, nil
}

// BuiltinRequest returns the update of an object of a built-in kind, without the objects, in the version of an
// apiVersion or in what has replaced it.
func BuiltinRequest(kind *builtin.Kind, apiVersion string) *Update {
	u := &Update{Group: kind.Group, Kind: kind.Kind, Plural: kind.Plural, Namespaced: kind.Namespaced,
		Versions: kind.Versions, Defaulted: true}
	group, version := kindindex.GroupVersion(apiVersion)
	if u.Version = version; group != kind.Group || !slices.Contains(kind.Versions, version) {
		u.Version = kind.Versions[0]
	}
	return u
}

// BuiltinUpdate is BuiltinRequest with the objects, in the version of newObj.
func BuiltinUpdate(kind *builtin.Kind, apiVersion string, newObj, oldObj map[string]any) *Update {
	u := BuiltinRequest(kind, apiVersion)
	newTyped, newOK := kind.Typed(newObj)
	oldTyped, oldOK := kind.Typed(oldObj)
	if newOK && oldOK {
		newObj, oldObj = newTyped, oldTyped
	}
	u.New, u.Old = u.named(newObj, u.Version), u.named(oldObj, u.Version)
	return u
}

// named returns obj with the apiVersion of a version of u.
func (u *Update) named(obj map[string]any, version string) map[string]any {
	obj = maps.Clone(obj)
	if obj == nil {
		obj = map[string]any{}
	}
	obj["apiVersion"] = strings.TrimPrefix(u.Group+"/"+version, "/")
	return obj
}
