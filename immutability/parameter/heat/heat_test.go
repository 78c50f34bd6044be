package heat_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	if all := template.Parameters(); len(all) != 1 || !all[0].Immutable || all[0].Default.IsNull() {
		t.Errorf("got %v, want the immutable parameter a", all)
	}
}

// TestUnreadable: whatever cannot be read is an error that says where and what, in every attribute; nothing is ignored.
func TestUnreadable(t *testing.T) {
	type row struct{ text, want string }
	rows := []row{
		{"{", "line 1"},
		{"[a]", "line 1: the document is a list"},
		{"parameters:\n  '': {type: string}", "line 2: a parameter has no name"},
		{"parameters:\n  a: string", `line 2: the parameter "a" is "string"`},
		{"{Description: x, Resources: {}}", "this is a CloudFormation template (it has Resources)"},
		{"{Description: x, Parameters: {}}", "this is a CloudFormation template (it has Parameters)"},
		{"resources: {}", "it has neither parameters nor a heat_template_version"},
	}
	attribute := func(text, want string) {
		rows = append(rows, row{"parameters:\n  a: {" + text + "}", "line 2: " + want})
	}
	attribute("type: [string]", "type is a list")
	attribute("type: text", `the parameter "a" has the unknown type "text"`)
	attribute("type: string, label: [a]", "label is a list")
	attribute("type: string, description: [a]", "description is a list")
	attribute("type: string, updatable: maybe", `updatable of "a" is "maybe"`)
	attribute("type: string, immutable: maybe", `immutable of "a" is "maybe"`)
	attribute("type: string, hidden: maybe", `hidden of "a" is "maybe"`)
	for text, want := range map[string]string{
		"x":                                   `a constraint of "a" is "x"`,
		"{}":                                  `a constraint of "a" has none of length, range`,
		"{range: {min: 1}, description: [a]}": "description is a list",
		"{range: x}":                          `range of "a" is "x"`,
		"{range: {mn: 1}}":                    `"mn" is spelled "min"`,
		"{range: {max: [1]}}":                 `max of range of "a" is a list`,
		"{modulo: x}":                         `modulo of "a" is "x"`,
		"{allowed_values: x}":                 `allowed_values of "a" is "x"`,
		"{allowed_values: [[1]]}":             `allowed_values of "a" has a list: its type is number`,
		"{allowed_pattern: [a]}":              "allowed_pattern is a list",
		"{custom_constraint: [a]}":            "custom_constraint is a list",
	} {
		attribute("type: number, constraints: ["+text+"]", want)
	}
	for _, row := range rows {
		_, err := heat.ReadTemplate([]byte(row.text))
		var unreadable *parameter.ReadError
		if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v, want %q", row.text, err, row.want)
		}
	}
	for _, text := range []string{"heat_template_version: x", "heat_template_version: x\nparameters: ~", "parameters: {a: {type: number, constraints: [{range: {min: ~, max: 3}}]}}", "parameters: {a: {type: string, constraints: ~, label: ~}}"} {
		if err := mustRead(t, text).Validate().Err(); err != nil {
			t.Errorf("%q: null is as absent: %v", text, err)
		}
	}
}

// TestRepeatedKeys: Heat takes the last value of a repeated key. A template may repeat keys outside its parameters,
// which are not read, and a parameter with the same definition. Two definitions of one parameter are refused, because
// the lock may be in the one that Heat drops.
func TestRepeatedKeys(t *testing.T) {
	const ignored = "description: {a: 1, a: 2}\nresources: {a: {b: 1, b: 2}, a: !custom x}\noutputs: {a: 1, a: 2}\noutputs: {}\n"
	template := mustRead(t, ignored+"parameters: {a: {type: string, updatable: false}, b: {type: string}, a: {type: string, updatable: false}}")
	if all := template.Parameters(); len(all) != 2 || !all[0].Immutable {
		t.Errorf("got %v, want the immutable parameter a, and b", all)
	}
	_, err := heat.ReadTemplate([]byte("parameters:\n  a: {type: string, updatable: false}\n  a: {type: string}\n"))
	if want := `line 3: the key "a" is given a second time, with another value`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// One error names all offenders.
func TestImmutableParameterModified(t *testing.T) {
	template := mustRead(t, "parameters: {a: {type: string, updatable: false}, b: {type: string, updatable: false}}")
	current := parameter.FromTexts(map[string]string{"a": "x", "b": "x"})
	requested := parameter.FromTexts(map[string]string{"a": "y", "b": "y"})
	err := template.Update(requested, template, current).Err()
	var modified *heat.ImmutableParameterModified
	if !errors.As(err, &modified) || len(modified.Names) != 2 {
		t.Errorf("got %v, want an ImmutableParameterModified of a and b", err)
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

// TestChanges: each parameter whose effective value changes, sorted by name; values that one of the templates hides
// stay hidden.
func TestChanges(t *testing.T) {
	old := mustRead(t, `parameters: {z: {type: string, default: x}, hid: {type: string, hidden: true}, gone: {type: string, default: x}, same: {type: string, default: x}, was: {type: string, hidden: true, default: x}, unset: {type: string}}`)
	current := parameter.FromTexts(map[string]string{"hid": "a", "gone": "b", "same": "x"})
	template := mustRead(t, `parameters: {z: {type: string, default: y}, hid: {type: string}, same: {type: string}, new: {type: string, default: n, label: A label, description: A description}, b: {type: boolean, default: "yes"}}`)
	preview := template.Update(parameter.FromTexts(map[string]string{"hid": "c", "same": "x"}), old, current)
	if err := preview.Err(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range preview.Changes {
		got = append(got, fmt.Sprintf("%s %s %t %s %t hidden %t", c.Name, c.Old.Text, c.HasOld, c.New.Text, c.HasNew, c.Hidden))
	}
	want := []string{
		"b  false yes true hidden false",
		"gone b true  false hidden false",
		"hid a true c true hidden true",
		"new  false n true hidden false",
		"was x true  false hidden true",
		"z x true y true hidden false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, p := range template.Parameters() {
		if p.Name == "new" && (p.Label != "A label" || p.Description != "A description") {
			t.Errorf("the texts of new are %q and %q", p.Label, p.Description)
		}
	}
}
