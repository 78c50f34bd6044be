package compare

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// addDocuments adds the kinds of OpenAPI documents and JSON Schemas. A document that both sides have counts once.
func (k *kinds) addDocuments(news, olds []*openapi.Document) {
	for _, d := range news {
		k.addDocument(d, false)
	}
	for _, d := range olds {
		if !slices.Contains(news, d) {
			k.addDocument(d, true)
		}
	}
}

func (k *kinds) addDocument(d *openapi.Document, onlyOld bool) {
	if d.Root != "" {
		k.open = append(k.open, &openDefinition{Document: d, ref: d.Root, onlyOld: onlyOld, defaults: &k.defaults})
	}
	for _, kind := range d.Kinds {
		k.open = append(k.open, &openDefinition{Document: d, apiVersion: kind.APIVersion, kind: kind.Kind, ref: kind.Ref, onlyOld: onlyOld, defaults: &k.defaults})
	}
}

// sameDefaults reports whether an object that is the same on both sides gets the same defaults there: the values of a chart
// get those of its values.yaml, which can change.
func (k *kinds) sameDefaults(o *manifest.Object) bool {
	return o.Kind != "" || jsonvalue.Equal(k.defaults.new, k.defaults.old)
}

// notRun returns warnings about the rules that are not run, of the schemas that objects were compared by.
func (k *kinds) notRun() []string {
	var list []string
	for _, d := range k.open {
		name := d.File
		if d.kind != "" {
			name += ": " + d.apiVersion + " " + d.kind
		}
		if warning := name + ": " + d.rest; d.rest != "" && !slices.Contains(list, warning) {
			list = append(list, warning)
		}
	}
	return list
}

// nameAlike gives a document of a file that was named the name of the file in NEW, on both sides.
func nameAlike(news, olds []*manifest.Object) {
	for _, n := range news {
		for _, o := range olds {
			if n.Path == "" && o.Path == "" {
				n.Name, o.Name = n.Document.File, n.Document.File
			}
		}
	}
}
