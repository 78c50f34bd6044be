package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Validation is the API server's own validation of a CRD: k8s.io/apiextensions-apiserver's ValidateCustomResourceDefinition.
type Validation func(ctx context.Context, c *apiextensions.CustomResourceDefinition) field.ErrorList

// refusedRules returns an error for each CEL rule that an API server refuses in a CRD, by its own validation: a rule that
// does not compile, one that costs too much, oldSelf where old and new values are not paired. It reports false for a CRD
// that is too large for that. Cost: the API server's, which is at most maxValidated.
func (validate Validation) refusedRules(c *crd.CRD) (findings []Finding, done bool) {
	if validate == nil || c.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, true // v1beta1 has no rules
	}
	cost := 0
	for _, v := range c.Versions {
		_, rules := costOf(v.Schema, &cost)
		if cost > maxValidated {
			return nil, false
		}
		if rules == 0 {
			continue
		}
		errs, err := validate.errors(c, v)
		if err != nil {
			continue // not-structural says why
		}
		for i, e := range errs {
			shared := func(other serverError) bool {
				return other.Field == e.Field && !strings.HasPrefix(other.Detail, contributed)
			}
			if slices.Contains(errs[:i], e) || strings.HasPrefix(e.Detail, contributed) && slices.ContainsFunc(errs, shared) {
				continue
			}
			if f, ok := refusedRule(c, v, e.Field, e.Detail); ok {
				findings = append(findings, f)
			}
		}
	}
	return findings, true
}

// contributed begins an error that a rule which costs too much has besides its own.
const contributed = "contributed to estimated rule cost"

// maxValidated bounds what costOf says of a CRD that is validated.
const maxValidated = 2_000_000

// costOf returns how many schemas s has in it and how many rules, and adds to cost what it takes to compile the rules: an
// API server declares the whole type below a rule for it.
func costOf(s *spec.Schema, cost *int) (size, rules int) {
	size = 1
	add := func(child *spec.Schema) {
		if child != nil {
			n, r := costOf(child, cost)
			size, rules = size+n, rules+r
		}
	}
	for name := range s.Properties {
		child := s.Properties[name]
		add(&child)
	}
	if s.Items != nil {
		add(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		add(s.AdditionalProperties.Schema)
	}
	const perRule = 100
	list, _ := s.Extensions[schema.KeyValidations].([]any)
	for _, entry := range list {
		text, _ := entry.(map[string]any)
		r, _ := text["rule"].(string)
		*cost += perRule + len(r)
	}
	if rules += len(list); len(list) > 0 {
		*cost += size
	}
	return size, rules
}

// errors returns what an API server says of a CRD with one version of c.
func (validate Validation) errors(c *crd.CRD, v *crd.Version) ([]serverError, error) {
	text, err := json.Marshal(v.Schema)
	if err != nil {
		return nil, err
	}
	var props apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &props); err != nil {
		return nil, err
	}
	v1 := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: c.Group, Scope: apiextensionsv1.ResourceScope(c.Scope), PreserveUnknownFields: c.PreserveUnknownFields,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: c.Plural, Kind: c.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: v.Name, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &props},
			}},
		},
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, &internal, nil); err != nil {
		return nil, err
	}
	internal.Status.StoredVersions = []string{v.Name}
	var errs []serverError
	for _, e := range validate(context.Background(), &internal) {
		errs = append(errs, serverError{e.Field, e.Detail})
	}
	return errs, nil
}

// serverError is one error of an API server: the field of the CRD, and what is wrong with it.
type serverError struct{ Field, Detail string }

// refusedRule returns the finding for an error of the server, false for one that is not about a rule.
func refusedRule(c *crd.CRD, v *crd.Version, at, detail string) (Finding, bool) {
	node, entry, found := strings.Cut(at, "."+schema.KeyValidations)
	_, node, inSchema := strings.Cut(node, "openAPIV3Schema")
	if !found || !inSchema {
		return Finding{}, false
	}
	path := pointerOf(node)
	message := "an API server refuses the CRD because of a rule: " + detail
	if text := textOf(v.Schema, path, entry); text != "" {
		message = fmt.Sprintf("an API server refuses the CRD because of the rule %q: %s", text, detail)
	}
	return Finding{Finding: crd.Finding{
		CRD: c.Name, Version: v.Name, Position: v.Position(path), Finding: immutability.Finding{
			Path: schema.Readable(path), SchemaPath: path, Severity: immutability.SeverityError, Rule: rule.RefusedRule, Message: message,
		},
	}}, true
}

var (
	step  = regexp.MustCompile(`^\.([A-Za-z]+)(?:\[([^\]]*)\])?`)
	index = regexp.MustCompile(`^\[(\d+)\]`)
)

// pointerOf turns a path of the server below a schema, .properties[spec].items, into a JSON pointer, as far as it can be
// read: a name with a bracket in it ends it.
func pointerOf(at string) string {
	var b strings.Builder
	for {
		m := step.FindStringSubmatch(at)
		if m == nil {
			return b.String()
		}
		at = at[len(m[0]):]
		b.WriteString("/" + m[1])
		if m[1] == "properties" || m[2] != "" {
			b.WriteString("/" + pointer.Escape(m[2]))
		}
	}
}

// textOf returns the rule at a schema path that entry, such as [0].rule, is about; "" if there is none.
func textOf(s *spec.Schema, schemaPath, entry string) string {
	m := index.FindStringSubmatch(entry)
	l := schema.Read(s, nil).Find(schemaPath)
	if m == nil || l == nil {
		return ""
	}
	list, _ := l.Schema.Extensions[schema.KeyValidations].([]any)
	for i, r := range list {
		if fmt.Sprint(i) == m[1] {
			fields, _ := r.(map[string]any)
			text, _ := fields["rule"].(string)
			return text
		}
	}
	return ""
}
