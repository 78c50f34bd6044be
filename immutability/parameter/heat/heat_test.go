package heat_test

import (
	"errors"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
)

func mustRead(t *testing.T, text string) *heat.Template {
	t.Helper()
	template, err := heat.ReadTemplate([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// Without an old template the stack stays at the new one, and its locks hold.
func TestUpdateWithoutOldTemplate(t *testing.T) {
	template := mustRead(t, "parameters: {a: {type: string, default: x, updatable: false}}")
	requested := parameter.FromTexts(map[string]string{"a": "y"})
	for name, preview := range map[string]heat.Preview{
		"put":   template.Update(requested, nil, nil),
		"patch": template.Patch(requested, nil, nil),
	} {
		if preview.Allowed() {
			t.Errorf("%s: the immutable value changes", name)
		}
	}
	if all := template.Parameters(); len(all) != 1 || !all[0].Immutable || !all[0].HasDefault() {
		t.Errorf("got %v, want the immutable parameter a", all)
	}
}

// The error has both names that the proposal gives it.
func TestParameterUpdateNotAllowed(t *testing.T) {
	template := mustRead(t, "parameters: {a: {type: string, updatable: false}, b: {type: string, updatable: false}}")
	current := parameter.FromTexts(map[string]string{"a": "x", "b": "x"})
	requested := parameter.FromTexts(map[string]string{"a": "y", "b": "y"})
	err := template.Update(requested, template, current).Err()
	var notAllowed *heat.ParameterUpdateNotAllowed
	if !errors.As(err, &notAllowed) || len(notAllowed.Names) != 2 {
		t.Errorf("got %v, want a ParameterUpdateNotAllowed of a and b", err)
	}
	if want := "The following parameters are immutable and may not be updated: a, b"; err.Error() != want {
		t.Errorf("got %q, want %q, once", err, want)
	}
}

// A description comes from the template as it is; it must neither break the line nor control a terminal.
func TestDescriptionOfConstraint(t *testing.T) {
	template := mustRead(t, `parameters: {a: {type: string, constraints: [{length: {min: 2}, description: "two\nletters\e[31m\n::error::x"}]}}`)
	got := template.Create(parameter.FromTexts(map[string]string{"a": "x"})).Err()
	if want := `parameter "a" cannot have the value "x": two letters\x1b[31m ::error::x`; got == nil || got.Error() != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
