package crd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Catalog finds the version of a CRD that an object is of.
type Catalog struct {
	crds map[schema.GroupKind]*CRD
}

// NewCatalog makes a catalog of crds. Two CRDs of one group and kind are an error that names both files.
func NewCatalog(crds ...*CRD) (*Catalog, error) {
	c := &Catalog{make(map[schema.GroupKind]*CRD, len(crds))}
	for _, crd := range crds {
		gk := schema.GroupKind{Group: crd.Group, Kind: crd.Kind}
		if other, ok := c.crds[gk]; ok {
			return nil, fmt.Errorf("%s: it defines %s, as does %s; give one of them", crd.place(), gk, other.place())
		}
		c.crds[gk] = crd
	}
	return c, nil
}

// place names the CRD with its file and line.
func (c *CRD) place() string {
	if at := c.Position(); c.File != "" && at.Line > 0 {
		return fmt.Sprintf("%s:%d: %s %s", c.File, at.Line, kindCRD, c.Name)
	}
	return c.subject()
}

// Find returns the version that an object's apiVersion and kind name. It is nil without an error when no CRD of the
// catalog covers the kind, and an error when one does that has no such version, or when apiVersion is malformed.
func (c *Catalog) Find(apiVersion, kind string) (*Version, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, fmt.Errorf(`the apiVersion is %q; it is "GROUP/VERSION", such as "example.com/v1"`, apiVersion)
	}
	crd, ok := c.crds[schema.GroupKind{Group: gv.Group, Kind: kind}]
	if !ok {
		return nil, nil
	}
	v := crd.Version(gv.Version)
	if v == nil {
		return nil, fmt.Errorf("the apiVersion is %q; %s has no version %q, its versions are %s", apiVersion, crd.subject(), gv.Version, crd.versionNames())
	}
	return v, nil
}
