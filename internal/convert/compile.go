package convert

import (
	"errors"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// compile returns the errors in the locks of the file, each with its line; nil for none.
func (f *File) compile() error {
	var errs []error
	for _, c := range f.crds {
		_, mistakes := manifest.CRD{CRD: c.CRD}.Compile()
		errs = append(errs, mistakes...)
	}
	return errors.Join(errs...)
}
