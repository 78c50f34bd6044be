package convert

import (
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// ToAnnotation moves the locks of each CRD in a file from its schemas into the annotation, which is the form that a stock
// API server accepts, in every validation mode, and keeps. It returns how many keys it took out of the schemas.
func ToAnnotation(file *File) (moved int, err error) {
	if err := file.compile(); err != nil {
		return 0, err
	}
	for i := range file.crds {
		c := &file.crds[i]
		annotation, err := c.Annotation()
		if err != nil {
			return 0, err
		}
		for _, s := range c.schemas() {
			rawschema.Walk(s, func(_ string, node map[string]any) {
				for _, key := range schema.OwnKeys() {
					if _, ok := node[key]; ok {
						delete(node, key)
						moved++
					}
				}
			})
		}
		c.setAnnotation(annotation)
	}
	return moved, nil
}

// schemas returns the schemas of all versions, and in v1beta1 the one that they share.
func (c *document) schemas() []map[string]any {
	var all []map[string]any
	if s, ok := yamldoc.At(c.object, "spec", "validation", "openAPIV3Schema").(map[string]any); ok {
		all = append(all, s)
	}
	for _, v := range c.Versions {
		if s := c.schema(v.Name); s != nil {
			all = append(all, s)
		}
	}
	return all
}
