package witness

import (
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// FromCRD returns the kind that a CRD defines. A version whose schema does not compile has no locks. Conversions of a
// webhook are taken for ones that keep every field that both versions have.
func FromCRD(c *crd.CRD) *Kind {
	k := &Kind{}
	for _, v := range c.Versions {
		if !v.Served && !v.Storage {
			continue
		}
		version := &Version{
			APIVersion: strings.TrimPrefix(c.Group+"/"+v.Name, "/"), Kind: c.Kind, Name: v.Name,
			Schema: v.Schema, Served: v.Served, Storage: v.Storage, Prepare: v.Prepare,
		}
		if locks, err := v.Compile(); err == nil {
			version.Locks = locks
		}
		k.Versions = append(k.Versions, version)
	}
	return k
}
