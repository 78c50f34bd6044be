package celrun

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
	kjson "sigs.k8s.io/json"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// program is a compiled schema: the server's validator with some of the schema's rules.
type program struct {
	structural *structuralschema.Structural
	validator  *cel.Validator
}

// place names one entry of x-kubernetes-validations.
type place struct {
	schemaPath string
	index      int
}

// Convert returns s as the API server's own code takes it. Keys that JSONSchemaProps does not know, such as locks, are
// dropped.
func Convert(s *spec.Schema) (*apiextensions.JSONSchemaProps, error) {
	external, err := decode(s)
	if err != nil {
		return nil, err
	}
	return toInternal(external)
}

func decode(s *spec.Schema) (*apiextensionsv1.JSONSchemaProps, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	external := new(apiextensionsv1.JSONSchemaProps)
	return external, kjson.UnmarshalCaseSensitivePreserveInts(data, external)
}

func toInternal(external *apiextensionsv1.JSONSchemaProps) (*apiextensions.JSONSchemaProps, error) {
	internal := new(apiextensions.JSONSchemaProps)
	return internal, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, internal, nil)
}

// compile compiles s the way a schema takes through the API server: decoded, converted, made structural. Each rule
// becomes what edit returns for it; nil drops it.
func compile(s *spec.Schema, edit func(place, apiextensionsv1.ValidationRule) *apiextensionsv1.ValidationRule) (*program, error) {
	external, err := decode(s)
	if err != nil {
		return nil, err
	}
	editRules(external, "", edit)
	internal, err := toInternal(external)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("the schema is not structural: %w", err)
	}
	return &program{structural, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

func editRules(s *apiextensionsv1.JSONSchemaProps, path string, edit func(place, apiextensionsv1.ValidationRule) *apiextensionsv1.ValidationRule) {
	var rules apiextensionsv1.ValidationRules
	for i, r := range s.XValidations {
		if edited := edit(place{path, i}, r); edited != nil {
			rules = append(rules, *edited)
		}
	}
	s.XValidations = rules
	for name, property := range s.Properties {
		editRules(&property, path+"/properties/"+pointer.Escape(name), edit)
		s.Properties[name] = property
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		editRules(s.AdditionalProperties.Schema, path+"/additionalProperties", edit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		editRules(s.Items.Schema, path+"/items", edit)
	}
	for i := range s.AllOf {
		editRules(&s.AllOf[i], fmt.Sprintf("%s/allOf/%d", path, i), edit)
	}
}
