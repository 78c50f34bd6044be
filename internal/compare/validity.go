package compare

import (
	"fmt"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// Mistakes that the API server finds in a custom resource, by its own code: types, required fields, list types, and
// plain CEL rules.

// validityCheck lists the mistakes that the server finds in an object, or in an update if the old one is not nil. It is
// nil if the schema cannot be used. Transition rules are left out, and rules that read the status: it is the cluster's.
type validityCheck func(newObj, oldObj map[string]any) []string

func newValidity(s *spec.Schema) validityCheck {
	converted, err := celrun.Convert(s)
	if err != nil {
		return nil
	}
	validator, _, err := validation.NewSchemaValidator(converted)
	if err != nil {
		return nil
	}
	structural, err := structuralschema.NewStructural(converted)
	if err != nil {
		return nil
	}
	rules := celrun.New(s, func(r celrun.Rule) bool { return !celrun.Transition(r) && !kind.ReadsStatus(r) })
	return func(newObj, oldObj map[string]any) (mistakes []string) {
		errs := validation.ValidateCustomResource(nil, newObj, validator)
		if oldObj != nil {
			correlated := common.NewCorrelatedObject(newObj, oldObj, &model.Structural{Structural: structural})
			errs = validation.ValidateCustomResourceUpdate(nil, newObj, oldObj, validator,
				validation.WithRatcheting(correlated))
		}
		if oldObj == nil || len(listtype.ValidateListSetsAndMaps(nil, structural, oldObj)) == 0 {
			errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, newObj)...)
		}
		for _, e := range errs { // without their values
			mistakes = append(mistakes, strings.TrimSuffix(fmt.Sprintf("%s: %v: %s", e.Field, e.Type, e.Detail), ": "))
		}
		broken, err := rules.ValidateUpdate(newObj, oldObj)
		if err != nil {
			return nil
		}
		for _, b := range broken {
			mistakes = append(mistakes, strings.TrimPrefix(b.Path+": "+b.Message, ": "))
		}
		return mistakes
	}
}
