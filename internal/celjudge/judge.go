// Package celjudge asks the API server's own CEL validator for its verdict on updates, and makes random updates to ask
// about. Tests use it to compare locks with CEL rules.
package celjudge

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Rule names one entry of x-kubernetes-validations.
type Rule struct {
	SchemaPath string
	Index      int
}

// Judge is the CEL validator of one schema, with some of its rules.
type Judge struct {
	structural *schema.Structural
	validator  *cel.Validator
	shape      validation.SchemaValidator
}

// New returns the judge for the rules of openAPIV3Schema, given as JSON, that keep holds for; nil keeps all.
func New(openAPIV3Schema []byte, keep func(Rule) bool) (*Judge, error) {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(openAPIV3Schema, &v1); err != nil {
		return nil, err
	}
	if keep != nil {
		filter(&v1, "", keep)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	shape, _, err := validation.NewSchemaValidator(&internal)
	return &Judge{structural, cel.NewValidator(structural, true, celconfig.PerCallLimit), shape}, err
}

// Valid reports whether obj fits the schema, without its rules.
func (j *Judge) Valid(obj map[string]any) bool {
	return len(validation.ValidateCustomResource(nil, obj, j.shape)) == 0 &&
		len(listtype.ValidateListSetsAndMaps(nil, j.structural, obj)) == 0
}

// Accepts reports whether every rule accepts the update, and what the others say. Objects are not changed.
func (j *Judge) Accepts(newObj, oldObj map[string]any) (bool, error) {
	if j.validator == nil {
		return true, nil
	}
	errs, _ := j.validator.Validate(context.Background(), nil, j.structural, newObj, oldObj, math.MaxInt64)
	if len(errs) > 0 {
		return false, fmt.Errorf("%w", errs.ToAggregate())
	}
	return true, nil
}

func filter(s *apiextensionsv1.JSONSchemaProps, path string, keep func(Rule) bool) {
	var rules apiextensionsv1.ValidationRules
	for i, rule := range s.XValidations {
		if keep(Rule{path, i}) {
			rules = append(rules, rule)
		}
	}
	s.XValidations = rules
	for name, property := range s.Properties {
		filter(&property, path+"/properties/"+pointer.Escape(name), keep)
		s.Properties[name] = property
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		filter(s.AdditionalProperties.Schema, path+"/additionalProperties", keep)
	}
	if s.Items != nil && s.Items.Schema != nil {
		filter(s.Items.Schema, path+"/items", keep)
	}
	for i := range s.AllOf {
		filter(&s.AllOf[i], fmt.Sprintf("%s/allOf/%d", path, i), keep)
	}
}
