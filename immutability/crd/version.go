package crd

import (
	"fmt"
	"strconv"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Compile compiles the version's schema. Its error names file, CRD and version, and errors.As finds the
// *immutability.SchemaError in it.
func (v *Version) Compile(opts ...immutability.Option) (*immutability.Validator, error) {
	validator, err := immutability.Compile(v.Schema, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s, version %s: %w", v.crd.subject(), v.Name, err)
	}
	return validator, nil
}

// Position returns the place in the file of the schema node that a schema path (a JSON pointer such as
// "/properties/spec/properties/class") leads to, or the last node on the way that exists. It is the zero Position for
// a CRD that comes from no file.
func (v *Version) Position(schemaPath string) Position {
	if v.steps == nil {
		return v.crd.Position()
	}
	return v.crd.Position(append(v.steps[:len(v.steps):len(v.steps)], v.stepsOf(schemaPath)...)...)
}

// stepsOf turns the tokens of a schema path into steps: names in objects, indices in lists.
func (v *Version) stepsOf(schemaPath string) []any {
	var steps []any
	var value any = v.raw
	for _, token := range pointer.Names(schemaPath) {
		var step any = token
		if _, ok := value.([]any); ok {
			if i, err := strconv.Atoi(token); err == nil {
				step = i
			}
		}
		steps = append(steps, step)
		value = yamldoc.At(value, step)
	}
	return steps
}
