// Package storageversion knows what an API server keeps of custom resources. It stores them in one version of their
// CRD, and an object of another version gets there and back by a conversion. So a field that only a version has which
// is not stored gets lost on the way, unless a webhook keeps its value somewhere else: a change of it is accepted and
// has no effect, and rules about it have no old value to compare with.
package storageversion

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// Unconverted reports whether the API server turns an object of one version of a CRD into one of another version by a
// change of the apiVersion alone: the object keeps the fields that both versions have, and loses all others. Otherwise
// a webhook converts it, and may do anything.
func Unconverted(c *crd.CRD) bool { return c.Conversion == crd.ConversionNone }

// Version returns the version that objects are stored in, nil for a CRD that names none.
func Version(c *crd.CRD) *crd.Version {
	i := slices.IndexFunc(c.Versions, func(v *crd.Version) bool { return v.Storage })
	if i < 0 {
		return nil
	}
	return c.Versions[i]
}

// Through returns the versions that an object of the version v of c goes through until the API server has it in v
// again: the one that it is stored in, unless that is v. What a webhook makes of it is not known, so then there are
// none.
func Through(c *crd.CRD, v *crd.Version) []*crd.Version {
	stored := Version(c)
	if stored == nil || v.Storage || !Unconverted(c) {
		return nil
	}
	return []*crd.Version{stored}
}

// Served returns the versions of a CRD that are served, in its order.
func Served(c *crd.CRD) []*crd.Version {
	return slices.DeleteFunc(slices.Clone(c.Versions), func(v *crd.Version) bool { return !v.Served })
}
