package witness

import (
	"context"
	"errors"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// embeddedErrors returns what the server finds wrong with the metadata of the objects embedded in obj. Its validator takes
// a context since Kubernetes 0.37. Whoever imports locktest chooses the version, so both forms are called.
func embeddedErrors(obj map[string]any, s *structuralschema.Structural) field.ErrorList {
	switch validate := any(objectmeta.Validate).(type) {
	case func(*field.Path, any, *structuralschema.Structural, bool) field.ErrorList:
		return validate(nil, obj, s, false)
	case func(context.Context, *field.Path, any, *structuralschema.Structural, bool) field.ErrorList:
		return validate(context.Background(), nil, obj, s, false)
	}
	return field.ErrorList{field.InternalError(nil, errors.New("this version of k8s.io/apiextensions-apiserver validates embedded objects in a way that fieldlock does not know"))}
}
