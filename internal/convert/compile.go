package convert

import (
	"errors"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// compile returns the errors in the locks of the file, each with its line; nil for none.
func (f *File) compile() error {
	var errs []error
	for i := range f.crds {
		c := &f.crds[i]
		for _, v := range c.Versions {
			_, err := v.Compile()
			var wrong *immutability.SchemaError
			if !errors.As(err, &wrong) {
				continue // what else is wrong, the export says
			}
			for _, found := range wrong.Findings {
				errs = append(errs, &yamldoc.Error{
					File: c.File, Line: v.Position(found.SchemaPath).Line, Object: "CustomResourceDefinition " + c.Name + ", version " + v.Name,
					Path: found.Path, Message: found.Message,
				})
			}
		}
	}
	return errors.Join(errs...)
}
