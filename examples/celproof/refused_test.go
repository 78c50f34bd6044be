package celproof

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
)

// TestRefused: celrule finds the rules that the API server's validation of CRDs refuses, and no others: by hand, one
// reason each.
func TestRefused(t *testing.T) {
	for _, row := range []struct {
		name, spec string
		refused    int
	}{
		{"no rules", "{type: object}", 0},
		{"a rule", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', message: m, reason: FieldValueForbidden}]}", 0},
		{"a property", "{type: object, x-kubernetes-validations: [{rule: 'has(self.f)', fieldPath: .f}], properties: {f: {type: string}}}", 0},
		{"optional", "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: 'oldSelf.orValue(self) == self', optionalOldSelf: true}]}}}", 0},
		{"a list of keys", "{type: array, maxItems: 4, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, f: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}}}", 0},
		{"a map", "{type: object, additionalProperties: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}", 0},
		{"blank rule", "{type: object, x-kubernetes-validations: [{rule: ' '}]}", 1},
		{"blank message", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', message: ' '}]}", 1},
		{"two lines of message", `{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', message: "a\nb"}]}`, 1},
		{"two lines of rule", `{type: object, x-kubernetes-validations: [{rule: "self ==\noldSelf"}]}`, 1},
		{"two lines of rule with a message", `{type: object, x-kubernetes-validations: [{rule: "self ==\noldSelf", message: m}]}`, 0},
		{"blank messageExpression", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', messageExpression: ' '}]}", 1},
		{"messageExpression of a number", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', messageExpression: '1'}]}", 1},
		{"reason", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', reason: Odd}]}", 1},
		{"fieldPath of nothing", "{type: object, x-kubernetes-validations: [{rule: 'self == oldSelf', fieldPath: .f}], properties: {g: {type: string}}}", 1},
		{"optional without oldSelf", "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: \"self != 'a'\", optionalOldSelf: true}]}}}", 1},
		{"not a boolean", "{type: object, x-kubernetes-validations: [{rule: '1'}]}", 1},
		{"not compiled around a blank message", "{type: object, x-kubernetes-validations: [{rule: slef}], properties: {f: {type: string, x-kubernetes-validations: [{rule: 'true', message: ' '}]}}}", 1},
		{"anyOf", "{type: object, properties: {f: {type: string}}, anyOf: [{properties: {f: {x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}}]}", 1},
		{"an atomic list", "{type: array, maxItems: 4, items: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}", 1},
		{"an atomic map", "{type: object, x-kubernetes-map-type: atomic, properties: {f: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}}", 0},
		{"values without limit", "{type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: 'self.matches(self)'}]}}", 2}, // and together
		{"a list without room", "{type: array, maxItems: 0, items: {type: string, x-kubernetes-validations: [{rule: 'self.matches(self)'}]}}", 0},
		{"below an open object", "{type: object, additionalProperties: true, properties: {f: {type: string, x-kubernetes-validations: [{rule: 'self.matches(self)'}]}}}", 2},
	} {
		var spec apiextensionsv1.JSONSchemaProps
		if err := yaml.UnmarshalStrict([]byte(row.spec), &spec); err != nil {
			t.Fatal(err)
		}
		root := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}
		server, only := refusedByServer(t, &root)
		got := refused(t, &root)
		if len(server) != row.refused || !only || !slices.Equal(got, server) {
			t.Errorf("%s: %q, and the server says %q, want %d", row.name, got, server, row.refused)
		}
	}
}

// TestRefusedAtRandom: so it is for the CRDs of other projects, as they are and after random edits of their rules and
// limits.
func TestRefusedAtRandom(t *testing.T) {
	const edits = 6
	compared, found := 0, 0
	r := rand.New(rand.NewPCG(20261127, 42))
	everyVersion(t, func(t *testing.T, v *crd.Version) {
		var props apiextensionsv1.JSONSchemaProps
		if err := yaml.Unmarshal(encode(t, v.Schema), &props); err != nil {
			t.Fatal(err)
		}
		for i := range edits {
			if i > 0 {
				edit(r, &props)
			}
			server, only := refusedByServer(t, &props)
			if !only {
				return // the edit has broken the schema itself
			}
			compared, found = compared+1, found+len(server)
			if got := refused(t, &props); !slices.Equal(got, server) {
				t.Errorf("%s after %d edits: %q, and the server says %q", nameOf(v), i, got, server)
			}
		}
	})
	t.Logf("%d schemas, %d refusals", compared, found)
}

// edit changes one node of a schema: it gets a rule, or loses its limits or the pairing of its items.
func edit(r *rand.Rand, root *apiextensionsv1.JSONSchemaProps) {
	var nodes []*apiextensionsv1.JSONSchemaProps
	var done []func() // which put copies back into maps
	var collect func(s *apiextensionsv1.JSONSchemaProps)
	collect = func(s *apiextensionsv1.JSONSchemaProps) {
		nodes = append(nodes, s)
		names := []string{}
		for name := range s.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			property := s.Properties[name]
			collect(&property)
			done = append(done, func() { s.Properties[name] = property })
		}
		if s.Items != nil && s.Items.Schema != nil {
			collect(s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			collect(s.AdditionalProperties.Schema)
		}
	}
	spec := root.Properties["spec"]
	collect(&spec)
	done = append(done, func() { root.Properties["spec"] = spec })
	s := nodes[r.IntN(len(nodes))]
	yes, atomic := true, "atomic"
	switch rule := (apiextensionsv1.ValidationRule{Rule: "self == oldSelf"}); r.IntN(9) {
	case 0:
		s.XValidations = append(s.XValidations, rule)
	case 1:
		rule.Rule = "slef == oldSelf"
		s.XValidations = append(s.XValidations, rule)
	case 2:
		rule.MessageExpression = "'now ' + string(self)"
		s.XValidations = append(s.XValidations, rule)
	case 3:
		rule.Rule, rule.OptionalOldSelf = "true", &yes
		s.XValidations = append(s.XValidations, rule)
	case 4:
		rule.FieldPath = ".nope"
		s.XValidations = append(s.XValidations, rule)
	case 5:
		rule.Rule = "self.all(a, self.all(b, a == b))"
		s.XValidations = append(s.XValidations, rule)
	case 6:
		rule.Rule = "self.matches('a.*' + self)"
		s.XValidations = append(s.XValidations, rule)
	case 7:
		s.MaxItems, s.MaxLength, s.MaxProperties = nil, nil, nil
	case 8:
		if s.Type == "object" {
			s.XMapType = &atomic
		}
	}
	for _, put := range done {
		put()
	}
}

// refused returns where celrule finds refusals in a schema, sorted.
func refused(t *testing.T, s *apiextensionsv1.JSONSchemaProps) []string {
	var places []string
	for _, r := range new(celrule.Refusals).Of(internal(t, s)) {
		if r.Together {
			r.SchemaPath = "together"
		}
		places = append(places, r.SchemaPath)
	}
	slices.Sort(places)
	return places
}

// refusedByServer returns where the API server's validation finds refusals of rules in a schema, sorted. only reports
// whether it has no other errors.
func refusedByServer(t *testing.T, s *apiextensionsv1.JSONSchemaProps) (places []string, only bool) {
	errs := validation.ValidateCustomResourceDefinition(context.Background(), &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensions.NamespaceScoped, Version: "v1",
			Names:                 apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Conversion:            &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
			PreserveUnknownFields: new(bool),
			Validation:            &apiextensions.CustomResourceValidation{OpenAPIV3Schema: internal(t, s)},
			Versions:              []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	})
	only = true
	for _, e := range errs {
		_, at, inSchema := strings.Cut(e.Field, "openAPIV3Schema")
		at, _, isRule := strings.Cut(at, ".x-kubernetes-validations")
		switch {
		case strings.HasPrefix(e.Detail, "contributed to estimated rule cost total"):
		case strings.HasPrefix(e.Detail, "x-kubernetes-validations estimated rule cost total"):
			places = append(places, "together")
		case inSchema && isRule:
			places = append(places, pointerOf(at))
		default:
			only = false
		}
	}
	slices.Sort(places)
	return places, only
}

var named = regexp.MustCompile(`\[([^\]]*)\]`)

// pointerOf turns a path below a schema, .properties[spec].items, into a JSON pointer.
func pointerOf(at string) string {
	return strings.ReplaceAll(named.ReplaceAllString(at, ".$1"), ".", "/")
}

func internal(t *testing.T, s *apiextensionsv1.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	t.Helper()
	var out apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &out, nil); err != nil {
		t.Fatal(err)
	}
	return &out
}
