package compare

import (
	"cmp"
	"fmt"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

var _ definition = movedDefinition{}

// movedDefinition judges an object that a change moves to a version which the CRD of its old version does not have: a new
// version, or one with a new name. Without conversion, the object in storage stays the same one. So the laws of its old
// version count for the fields that both versions have.
type movedDefinition struct{ new, old *crdDefinition }

// covering returns the definitions that can judge a pair.
func (k *kinds) covering(p request) []definition {
	var list []definition
	for _, d := range k.of(p.new) {
		if d.covers(p.new.APIVersion) && d.covers(p.old.APIVersion) {
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
				list = append(list, movedDefinition{after, before})
			}
		}
	}
	return list
}

func (movedDefinition) covers(string) bool { return true }

func (d movedDefinition) judge(p request) (verdict, error) {
	var v verdict
	newVersion, oldVersion := d.new.version(p.new.APIVersion), d.old.version(p.old.APIVersion)
	if !storageversion.Unconverted(d.new.crd.CRD) || !storageversion.Unconverted(d.old.crd.CRD) {
		v.unknown = append(v.unknown, Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object moves from version %s (%s:%d) to %s, and only the conversion webhook of the CRD knows what becomes of it there",
			oldVersion.Name, p.old.Document.File, p.old.Document.Position().Line, newVersion.Name)})
		return v, nil
	}
	if !d.new.covers(p.old.APIVersion) { // otherwise d.new judges the pair by itself
		if err := d.check(&v, p, d.new, newVersion, nil, []*crd.Version{oldVersion}); err != nil {
			return v, err
		}
	}
	// What the new version does not have is pruned from both sides.
	if err := d.check(&v, p, d.old, oldVersion, []*crd.Version{newVersion}, []*crd.Version{oldVersion, newVersion}); err != nil {
		return v, err
	}
	if len(v.violations)+v.more > 0 {
		v.replacement = d.replacement(p)
	}
	return v, nil
}

func (d movedDefinition) replacement(p request) *Replacement { return d.new.replacement(p) }

// check adds what the pair breaks by the laws of one version of a CRD. Each side goes through the versions that lead there
// first, then through that one. What the laws refuse although the value did not change is left out: the move to a version
// that lacks a field is not a change of it.
func (d movedDefinition) check(v *verdict, p request, by *crdDefinition, version *crd.Version, newThrough, oldThrough []*crd.Version) error {
	laws := by.laws[version]
	if laws.empty() {
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
	place := func(v *Violation) { by.place(v, p, version) }
	err = cmp.Or(laws.check(&unmoved, oldObj, oldObj, oldObj, place), laws.check(&moved, newObj, oldObj, newObj, place))
	if err != nil {
		return p.new.Mistake(nil, "the CEL rules of its CRD cannot be run: %v", err)
	}
	known := map[string]bool{}
	for i := range unmoved.violations {
		known[unmoved.violations[i].summary()] = true
	}
	var violations []Violation
	for _, b := range moved.violations {
		if !known[b.summary()] {
			violations = append(violations, b)
		}
	}
	v.merge(violations)
	v.more += moved.more
	v.unknown = append(v.unknown, moved.unknown...)
	return nil
}
