package compare

import (
	"cmp"
	"fmt"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// move is an object that a change moves to a version which the CRD of its old version does not have: a new version, or
// one with a new name. Without conversion, the object in storage stays the same one. So the locks and rules of its old
// version count for the fields that both versions have.
type move struct{ new, old *customKind }

// covering returns the definitions that can judge a pair.
func (k *kinds) covering(p request) []*definition {
	var list []*definition
	for _, d := range k.definitionsOf(p.new) {
		if d.inVersion(p.new.APIVersion) && d.inVersion(p.old.APIVersion) {
			list = append(list, d)
		}
	}
	if p.new.APIVersion == p.old.APIVersion {
		return list
	}
	ofKind := k.byKind[groupKind{p.new.Group, p.new.Kind}]
	for _, before := range ofKind {
		if before.covers(p.new.APIVersion) || !before.covers(p.old.APIVersion) {
			continue
		}
		for _, after := range ofKind {
			if after.covers(p.new.APIVersion) {
				list = append(list, move{after, before}.definition())
			}
		}
	}
	return list
}

// definition judges the move.
func (d move) definition() *definition {
	return &definition{
		find:    d.find,
		replace: func(r request, _ result.Verdict) *result.Replacement { return d.new.replacement(r) },
	}
}

func (d move) find(v *verdict, p request) error {
	newVersion, oldVersion := d.new.version(p.new.APIVersion), d.old.version(p.old.APIVersion)
	if !storageversion.Unconverted(d.new.crd.CRD) || !storageversion.Unconverted(d.old.crd.CRD) {
		v.Unknown = append(v.Unknown, result.Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object moves from version %s (%s:%d) to %s, and only the conversion webhook of the CRD knows what "+
				"becomes of it there%s",
			oldVersion.Name, p.old.Document.File, p.old.Document.Position().Line, newVersion.Name, p.askCluster())})
		return nil
	}
	if !d.new.covers(p.old.APIVersion) { // otherwise d.new judges the pair by itself
		if err := d.check(v, p, d.new, newVersion, nil, []*crd.Version{oldVersion}); err != nil {
			return err
		}
	}
	// What the new version does not have is pruned from both sides.
	return d.check(v, p, d.old, oldVersion, []*crd.Version{newVersion}, []*crd.Version{oldVersion, newVersion})
}

// check adds what the pair breaks by the locks and rules of one version of a CRD. Each side goes through the versions
// that lead there first, then through that one. What they refuse although the value did not change is left out: the
// move to a version that lacks a field is not a change of it.
func (d move) check(v *verdict, p request, by *customKind, version *crd.Version, newThrough,
	oldThrough []*crd.Version) error {
	definition := by.versions[version].Definition
	if definition.Empty() {
		return nil
	}
	newObj, err := d.old.prepareThrough(append(newThrough, version), p.new, d.new)
	if err != nil {
		return err
	}
	oldObj, err := d.old.prepareThrough(append(oldThrough, version), p.old, d.new)
	if err != nil {
		return err
	}
	var unmoved, moved verdict
	place := func(v *result.Violation) { by.place(v, p, version) }
	err = cmp.Or(unmoved.addFound(p, definition, kind.Update{New: oldObj, Old: oldObj}, place),
		moved.addFound(p, definition, kind.Update{New: newObj, Old: oldObj}, place))
	if err != nil {
		return p.new.Mistake(nil, "the CEL rules of its CRD cannot be run: %v", err)
	}
	known := map[string]bool{}
	for i := range unmoved.Violations {
		known[summary(&unmoved.Violations[i])] = true
	}
	var violations []result.Violation
	for _, b := range moved.Violations {
		if !known[summary(&b)] {
			violations = append(violations, b)
		}
	}
	v.merge(violations)
	v.MoreViolations += moved.MoreViolations
	v.Unknown = append(v.Unknown, moved.Unknown...)
	return nil
}
