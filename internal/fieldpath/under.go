package fieldpath

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Under returns errs with their fields below path, as validation of a part of an object reports them: "class" below
// spec is "spec.class", and "[a]" is "spec[a]". An error about the whole is at path itself. It changes errs. A nil path
// changes nothing.
func Under(path *field.Path, errs field.ErrorList) field.ErrorList {
	if path == nil {
		return errs
	}
	at := path.String()
	for _, err := range errs {
		switch {
		case err.Field == "", err.Field == (*field.Path)(nil).String(), err.Field == field.NewPath("").String():
			err.Field = at
		case strings.HasPrefix(err.Field, "["):
			err.Field = at + err.Field
		default:
			err.Field = at + "." + err.Field
		}
	}
	return errs
}
