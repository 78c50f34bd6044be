package openapi

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Resolve returns the schema that a reference names: the Ref of a Kind, Root, or a $ref in the document. It is what
// immutability.WithResolver takes. It returns an error if there is no such schema, if it is in another document, or if a
// keyword has a value of the wrong form. The schema is shared: change a copy. Cost: O(schema) the first time.
func (d *Document) Resolve(ref string) (*spec.Schema, error) {
	path, err := d.path(ref)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.read[path]; ok {
		return s, nil
	}
	value, steps, err := d.at(path)
	if err != nil {
		return nil, err
	}
	c := converter{}
	raw := c.schema(value, path)
	if c.err != nil {
		return nil, c.err
	}
	s, wrong := rawschema.Schema(raw)
	if wrong != nil {
		slices.Reverse(wrong.Steps)
		return nil, d.document.Errorf(slices.Concat(steps, wrong.Steps), "%s", wrong.Message)
	}
	d.read[path] = s
	return s, nil
}

// Compile compiles the schema that a reference leads to, with the references of the document.
func (d *Document) Compile(ref string, opts ...immutability.Option) (*immutability.Validator, error) {
	s, err := d.Resolve(ref)
	if err != nil {
		return nil, err
	}
	validator, err := immutability.Compile(s, append([]immutability.Option{immutability.WithResolver(d.Resolve)}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", d.File, ref, err)
	}
	return validator, nil
}

// Position returns the place in the file of the schema node that a schema path from the schema of ref leads to, or of the
// last node on the way that exists. A schema path that begins with a reference starts there.
func (d *Document) Position(ref, schemaPath string) yamldoc.Position {
	if strings.HasPrefix(schemaPath, "#") {
		ref, schemaPath = schemaPath, ""
	}
	path, err := d.path(ref)
	if err != nil {
		return d.document.Position()
	}
	_, steps, _ := d.at(path + schemaPath)
	return d.document.Position(steps...)
}
