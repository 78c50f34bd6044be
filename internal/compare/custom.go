package compare

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/ownership"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// Updates of custom resources, judged by a CRD. The objects are compared as the server stores them (crd.go), by the
// locks and rules of the versions that they are written in:
//
//	the request     applied.go     the object that an apply of the manifest stores
//	its limits      serverside.go  refusals of server-side applies only
//	locks, rules    check          refusals by the schema
//
// find runs them in this order.

// definition judges custom resources by the CRD.
func (d *customKind) definition() *definition {
	return &definition{
		covers: d.covers, find: d.find,
		replace: func(r request, _ result.Verdict) *result.Replacement { return d.replacement(r) },
	}
}

// find judges an object that both sides have.
//
// Two versions of one object are compared as an API server would that converts by changing the apiVersion only: each
// side is pruned and defaulted by the version it was written in, then by the other one. The server checks such an
// update by the version of the request. Here it is checked by both versions, so that a lock which only one of them has
// holds too. With a conversion webhook, the verdict is unknown.
func (d *customKind) find(v *verdict, p request) error {
	var invalid verdict
	err := d.findInVersions(v, d.afterApply(&invalid, p), p)
	if d.replaced { // the other CRD decides what is valid
		return err
	}
	for i, b := range invalid.Violations {
		v.addServerSide(b.Steps, b.Message, invalid.edits[i])
	}
	return err
}

// findInVersions judges a pair as its request stores it, and as it is written.
func (d *customKind) findInVersions(v *verdict, p, written request) error {
	newVersion, oldVersion := d.version(p.new.APIVersion), d.version(p.old.APIVersion)
	if newVersion == oldVersion {
		err := d.check(v, p, newVersion)
		d.refuseServerSide(v, written, newVersion, oldVersion)
		return err
	}
	if !storageversion.Unconverted(d.crd.CRD) {
		v.Unknown = append(v.Unknown, result.Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object is of version %s and the old one (%s:%d) of %s, which only the conversion webhook of the CRD "+
				"can compare; give both in one version",
			newVersion.Name, p.old.Document.File, p.old.Document.Position().Line, oldVersion.Name)})
		return nil
	}
	if err := d.check(v, p, newVersion); err != nil {
		return err
	}
	if err := d.check(v, p, oldVersion); err != nil {
		return err
	}
	slices.SortStableFunc(v.Violations, func(a, b result.Violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	d.refuseServerSide(v, written, newVersion, oldVersion)
	return nil
}

// check adds the violations of the schema of one version.
func (d *customKind) check(v *verdict, p request, version *crd.Version) error {
	definition := d.versions[version].Definition
	if definition.Empty() {
		return nil
	}
	newObj, err := d.prepare(version, p.new)
	if err != nil {
		return err
	}
	stored := storageversion.Through(d.crd.CRD, version)
	oldObj, err := d.stored(version, p.old)
	if err != nil {
		return err
	}
	locked := newObj // what locks compare
	if len(stored) > 0 {
		if locked, err = d.prepare(version, p.new, stored...); err != nil {
			return err
		}
	}
	managers, unowned := ownership.Read(p.new.Value(), p.old.Value())
	err = v.addFound(p, definition, kind.Update{New: newObj, Old: oldObj, Locked: locked}, func(b *result.Violation) {
		switch at := field.NewPath(b.Path); {
		case b.Lock == lockRule || unowned != nil: // the owners are an extra
		case b.Key.OK:
			b.Owners = ownership.Text(managers.OwnersOfKey(at, b.Key.Data))
		default:
			b.Owners = ownership.Text(managers.Owners(at))
		}
		d.place(b, p, version)
	})
	if err != nil {
		return p.new.Mistake(nil, "the CEL rules of its CRD cannot be run: %v", err)
	}
	return nil
}

// place adds where the lock or rule of a violation is, and which item of a list it is about.
func (d *customKind) place(b *result.Violation, p request, version *crd.Version) {
	b.LockFile, b.LockLine, b.OnlyOld = d.crd.File, version.Position(b.SchemaPath).Line, d.onlyOld
	if p.new.APIVersion != p.old.APIVersion {
		b.Version = version.Name
	}
	b.Item = d.versions[version].ItemKeys(p.new.Value(), b.Steps)
}
