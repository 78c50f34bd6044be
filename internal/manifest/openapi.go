package manifest

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Kinds reads the CRDs that args name. The kinds of OpenAPI documents and the roots of JSON Schemas that have locks or rules
// come as CRDs of one version. Every arg has to have a schema.
func (r *Reader) Kinds(args ...string) (crds []CRD, errs []error, err error) {
	s, errs, err := r.Schemas(args...)
	if err != nil {
		return nil, nil, err
	}
	crds, more := s.Kinds()
	return crds, append(errs, more...), nil
}

// Kinds returns all schemas as CRDs, as Reader.Kinds does. A key that a mapping has twice, with different values, is an
// error: an author of schemas means one of the two.
func (s *Schemas) Kinds() (crds []CRD, errs []error) {
	crds = slices.Clone(s.CRDs)
	for _, r := range s.Repeated {
		errs = append(errs, r.Err())
	}
	add := func(d *openapi.Document, kind openapi.Kind) {
		c, err := asCRD(d, kind)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", d.File, strings.TrimSpace(kind.APIVersion+" "+kind.Kind), err))
		} else if c != nil {
			crds = append(crds, *c)
		}
	}
	for _, d := range s.Documents {
		for _, kind := range d.Kinds {
			add(d, kind)
		}
		if d.Root != "" {
			add(d, openapi.Kind{Kind: rootName(d.File), Ref: d.Root})
		}
	}
	return crds, errs
}

// rootName names what a JSON Schema describes after its file: "values" for charts/shop/values.schema.json.
func rootName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return name
}

// noGroup takes the place of the API group while a schema without one is read as a CRD, which always has a group.
const noGroup = "none.invalid"

// stepsToSchema is how deep the schema of a version is in a CRD: spec.versions[0].schema.openAPIV3Schema.
const stepsToSchema = 5

// asCRD returns a CRD with the schema of a kind, nil if the schema has neither locks nor rules. The CRD of a kind in the
// core group has no group, and its name is the plural alone; so it is for a JSON Schema, whose version is "schema".
func asCRD(d *openapi.Document, kind openapi.Kind) (*CRD, error) {
	group, version, grouped := strings.Cut(kind.APIVersion, "/")
	plural := strings.ToLower(kind.Kind) + "s"
	switch {
	case kind.APIVersion == "":
		group, version, plural = noGroup, "schema", kind.Kind
	case !grouped:
		group, version = noGroup, kind.APIVersion
	}
	s, err := d.Resolve(kind.Ref)
	if err != nil {
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
	document := yamldoc.Derived(d.File, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "names": map[string]any{"kind": kind.Kind, "plural": plural},
			"versions": []any{map[string]any{"name": version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": raw}}},
		},
	}, func(steps []any) yamldoc.Position {
		var schemaPath strings.Builder
		for _, step := range steps[min(len(steps), stepsToSchema):] {
			schemaPath.WriteString("/" + pointer.Escape(fmt.Sprint(step)))
		}
		return d.Position(kind.Ref, schemaPath.String())
	})
	c, err := crd.FromDocument(document)
	if err != nil {
		return nil, err
	}
	if !grouped {
		c.Group, c.Name = "", plural
	}
	return &CRD{c, document}, nil
}
