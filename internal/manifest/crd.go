package manifest

import (
	"errors"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// CRD is a CRD with the document that it was read from.
type CRD struct {
	*crd.CRD
	Document *yamldoc.Document
}

// Compile compiles every version of the CRD. Each error names file and line.
func (c CRD) Compile() (map[*crd.Version]*immutability.Validator, []error) {
	validators := map[*crd.Version]*immutability.Validator{}
	var errs []error
	for _, v := range c.Versions {
		validator, err := v.Compile()
		var schema *immutability.SchemaError
		switch {
		case errors.As(err, &schema):
			for _, f := range schema.Findings {
				errs = append(errs, &yamldoc.Error{
					File: c.File, Line: v.Position(f.SchemaPath).Line, Object: "CustomResourceDefinition " + c.Name + ", version " + v.Name,
					Path: f.Path, Message: f.Message,
				})
			}
		case err != nil:
			errs = append(errs, err)
		}
		validators[v] = validator
	}
	return validators, errs
}
