package parameter_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// TestZeroDecision: an operation that nobody decided on is not allowed.
func TestZeroDecision(t *testing.T) {
	unread, err := kudo.Review(t.Context(), []byte("{"), nil, nil)
	if err == nil {
		t.Fatal("half a document is taken for an Instance")
	}
	for name, d := range map[string]parameter.Decision{"zero": {}, "kudo": kudo.Admission{}.Decision, "heat": heat.Preview{}.Decision, "unread": unread.Decision} {
		var refusals parameter.Refusals
		if d.Allowed() || !errors.As(d.Err(), &refusals) {
			t.Errorf("%s: allowed %t, %v", name, d.Allowed(), d.Err())
		}
	}
	if d := (&kudo.OperatorVersion{Name: "without-parameters-1.0"}).Install(nil).Decision; !d.Allowed() || d.Err() != nil || d.Resulting == nil {
		t.Errorf("an operator without parameters: %v", d.Err())
	}
	template, err := heat.ReadTemplate([]byte("heat_template_version: 2021-04-16"))
	if err != nil {
		t.Fatal(err)
	}
	if refusals := template.Validate(); refusals.Err() != nil {
		t.Errorf("a template without parameters: %v", refusals)
	}
}

// TestErrorList: a webhook joins refusals to the errors of its own validation.
func TestErrorList(t *testing.T) {
	version := &kudo.OperatorVersion{Name: "cassandra-1.0", Parameters: []kudo.Parameter{
		{Name: "NODES", Type: kudo.TypeInteger}, {Name: "DISK", Immutable: true, Default: parameter.Text("1")}, {Name: "USER"},
	}}
	refused := version.Update(parameter.FromTexts(map[string]string{"NODES": "many", "DISK": "2", "OTHER": "x"}), nil)
	path := field.NewPath("spec", "parameters")
	want := field.ErrorList{
		field.Invalid(path.Key("DISK"), nil, `parameter "DISK" is immutable`).WithOrigin("immutable"),
		field.Invalid(path.Key("NODES"), nil, `parameter "NODES"`),
		field.Forbidden(path.Key("OTHER"), `parameter "OTHER" is not defined`),
		field.Required(path.Key("USER"), `parameter "USER"`),
	}
	got := refused.Refusals.ErrorList(path)
	field.ErrorMatcher{}.ByType().ByField().ByOrigin().ByDetailSubstring().Test(t, want, got)
	if text := got.ToAggregate().Error(); strings.Contains(text, "Invalid value: \"") {
		t.Errorf("a value is shown twice or although it may be a password: %s", text)
	}
	if errs := (parameter.Refusals)(nil).ErrorList(path); errs != nil {
		t.Errorf("no refusals: %v", errs)
	}
	whole := parameter.Refusals{{Rule: parameter.RuleDefinition, Message: "the groups are wrong"}}.ErrorList(path)
	if len(whole) != 1 || whole[0].Field != "spec.parameters" {
		t.Errorf("a refusal of no single parameter: %v", whole)
	}
}

// TestRules: a program tells refusals of both systems apart by the same constants, and builds parameters with the
// constants of their types.
func TestRules(t *testing.T) {
	version := &kudo.OperatorVersion{Name: "a-1.0", Parameters: []kudo.Parameter{
		{Name: "BOOL", Type: kudo.TypeBoolean}, {Name: "NUMBER", Type: kudo.TypeNumber}, {Name: "LIST", Type: kudo.TypeArray},
		{Name: "MAP", Type: kudo.TypeMap}, {Name: "TEXT", Type: kudo.TypeString, Immutable: true, Default: parameter.Text("a")}, {Name: "NEEDED"},
	}}
	template, err := heat.ReadTemplate([]byte("{heat_template_version: 2021-04-16, parameters: {BOOL: {type: boolean}, NUMBER: {type: number}, " +
		"LIST: {type: comma_delimited_list}, MAP: {type: json}, TEXT: {type: string, updatable: false, default: a}, NEEDED: {type: string}}}"))
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]heat.Type{}
	for _, p := range template.Parameters() {
		types[p.Name] = p.Type
	}
	if want := map[string]heat.Type{"BOOL": heat.TypeBoolean, "NUMBER": heat.TypeNumber, "LIST": heat.TypeList, "MAP": heat.TypeJSON,
		"TEXT": heat.TypeString, "NEEDED": heat.TypeString}; !maps.Equal(types, want) {
		t.Errorf("types %v, want %v", types, want)
	}
	requested := parameter.FromTexts(map[string]string{"BOOL": "x", "NUMBER": "x", "TEXT": "b", "OTHER": "x", "LIST": "[]", "MAP": "{}"})
	current := parameter.FromTexts(map[string]string{"BOOL": "true", "NUMBER": "1", "LIST": "[]", "MAP": "{}"})
	want := map[string]parameter.Rule{
		"BOOL": parameter.RuleType, "NUMBER": parameter.RuleType, "TEXT": parameter.RuleImmutable, "OTHER": parameter.RuleUnknown, "NEEDED": parameter.RuleRequired,
	}
	for name, d := range map[string]parameter.Decision{
		"kudo": version.Update(requested, current).Decision, "heat": template.Update(requested, template, current).Decision,
	} {
		got := map[string]parameter.Rule{}
		for _, refusal := range d.Refusals {
			got[refusal.Parameter] = refusal.Rule
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v: %v", name, got, want, d.Err())
		}
	}
}
