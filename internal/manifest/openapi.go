package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Kinds reads the CRDs that args name, and the kinds of OpenAPI documents that have locks or rules, as CRDs of one
// version. Every arg has to have a schema.
func (r *Reader) Kinds(args ...string) (crds []CRD, errs []error, err error) {
	s, errs, err := r.Schemas(args...)
	if err != nil {
		return nil, nil, err
	}
	crds = s.CRDs
	for _, d := range s.Documents {
		for _, kind := range d.Kinds {
			c, err := asCRD(d, kind)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s %s: %w", d.File, kind.APIVersion, kind.Kind, err))
			} else if c != nil {
				crds = append(crds, *c)
			}
		}
	}
	return crds, errs, nil
}

// asCRD returns a CRD with the schema of a kind, nil if the schema has neither locks nor rules or the kind is in the core
// group, which no CRD can define.
func asCRD(d *openapi.Document, kind openapi.Kind) (*CRD, error) {
	group, version, ok := strings.Cut(kind.APIVersion, "/")
	s, err := d.Resolve(kind.Ref)
	if err != nil || !ok {
		return nil, err
	}
	t := schema.Read(s, d.Resolve)
	marked := t.Holding(func(l *schema.Location) bool {
		return l.Marks.Locked() || l.Schema.Extensions[schema.KeyValidations] != nil || l.Body.Schema.Extensions[schema.KeyValidations] != nil
	})
	if len(marked) == 0 {
		return nil, nil
	}
	if _, err := d.Compile(kind.Ref); err != nil {
		return nil, err
	}
	inlined, err := t.Inline()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(inlined)
	if err != nil {
		return nil, err
	}
	raw, err := yamldoc.ReadJSON(text)
	if err != nil {
		return nil, err
	}
	plural := strings.ToLower(kind.Kind) + "s"
	document := &yamldoc.Document{File: d.File, Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "names": map[string]any{"kind": kind.Kind, "plural": plural},
			"versions": []any{map[string]any{"name": version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": raw}}},
		},
	}}
	c, err := crd.FromDocument(document)
	if err != nil {
		return nil, err
	}
	return &CRD{c, document}, nil
}
