// Package storageversion knows what an API server keeps of custom resources. It stores them in one version of their CRD, and an
// object of another version gets there and back by a conversion. So a field that only a version has which is not stored gets
// lost on the way, unless a webhook keeps its value somewhere else: a change of it is accepted and has no effect, and rules
// about it have no old value to compare with.
package storageversion

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Unconverted reports whether the API server turns an object of one version of a CRD into one of another version by a change
// of the apiVersion alone: the object keeps the fields that both versions have, and loses all others. Otherwise a webhook
// converts it, and may do anything.
func Unconverted(c *crd.CRD) bool { return c.Conversion == crd.ConversionNone }

// Version returns the version that objects are stored in, nil for a CRD that names none.
func Version(c *crd.CRD) *crd.Version {
	i := slices.IndexFunc(c.Versions, func(v *crd.Version) bool { return v.Storage })
	if i < 0 {
		return nil
	}
	return c.Versions[i]
}

// Through returns the versions that an object of the version v of c goes through until the API server has it in v again: the
// one that it is stored in, unless that is v. What a webhook makes of it is not known, so then there are none.
func Through(c *crd.CRD, v *crd.Version) []*crd.Version {
	stored := Version(c)
	if stored == nil || v.Storage || !Unconverted(c) {
		return nil
	}
	return []*crd.Version{stored}
}

// Lost returns a function that reports whether none of some fields is ever stored: the stored version lacks them, and no
// webhook converts objects. Fields are named as in findings, such as "spec.nodes[*].zone".
func Lost(c *crd.CRD) func(fields []string) bool {
	stored, none := Version(c), func([]string) bool { return false }
	if stored == nil || len(c.Versions) == 1 || !Unconverted(c) {
		return none
	}
	kept := map[string]bool{}
	for path, s := range schema.Nodes(stored.Schema) {
		if preserves, _ := s.Extensions[schema.KeyPreserveUnknown].(bool); preserves {
			return none
		}
		kept[schema.Readable(path)] = true
	}
	return func(fields []string) bool {
		return len(fields) > 0 && !slices.ContainsFunc(fields, func(field string) bool { return kept[field] })
	}
}

// Served returns the versions of a CRD that are served, in its order.
func Served(c *crd.CRD) []*crd.Version {
	return slices.DeleteFunc(slices.Clone(c.Versions), func(v *crd.Version) bool { return !v.Served })
}
