package parameter_test

import (
	"encoding/json"
	"errors"

	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/internal/paramcase"
)

// FuzzReadDefinitions reads what the fuzzer finds, as every kind of document. What is read obeys the laws of the
// evaluators; what is not is a ReadError, never a panic.
func FuzzReadDefinitions(f *testing.F) {
	suites, err := paramcase.Load("../../testdata/params")
	if err != nil {
		f.Fatal(err)
	}
	for _, cases := range suites {
		for _, c := range cases {
			for _, text := range []*string{&c.Definitions, c.Values, c.Task} {
				if text != nil {
					f.Add([]byte(*text))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := parameter.ReadValues(data)
		checkReadError(t, err)
		if err == nil {
			if _, err := json.Marshal(values); err != nil {
				t.Errorf("values that were read are no JSON: %v", err)
			}
		}
		_, err = parameter.ReadTask(data)
		checkReadError(t, err)

		definitions, err := parameter.ReadDefinitions(data)
		checkReadError(t, err)
		if err == nil {
			checkKudoLaws(t, definitions, values)
		}
		template, err := parameter.ReadTemplate(data)
		checkReadError(t, err)
		if err == nil {
			checkHeatLaws(t, template, values)
		}
	})
}

func checkReadError(t *testing.T, err error) {
	t.Helper()
	var unreadable *parameter.ReadError
	if err != nil && (!errors.As(err, &unreadable) || err.Error() == "") {
		t.Errorf("reading failed with %T %q, want a ReadError", err, err)
	}
}

// checkKudoLaws: an install that is allowed stores every immutable default; an update to nothing, to what is stored
// and an upgrade to the same definitions change nothing; and no update moves an immutable value.
func checkKudoLaws(t *testing.T, definitions *parameter.Definitions, values parameter.Values) {
	requested := parameter.Values{}
	for _, row := range definitions.Rows() {
		requested[row.Name] = parameter.Text("1")
		if definition, ok := definitions.Lookup(row.Name); ok && definition.HasDefault() {
			requested[row.Name] = definition.Default
		}
	}
	install := definitions.Install(requested)
	if !install.Allowed() {
		return
	}
	for name, plan := range map[string]parameter.Plan{
		"an update to nothing":            definitions.Update(install.Resulting, nil),
		"an update to what is stored":     definitions.Update(install.Resulting, install.Resulting),
		"an upgrade to what is installed": definitions.Upgrade(definitions, install.Resulting, nil),
	} {
		if !plan.Allowed() || len(plan.Changes) > 0 || len(plan.Restarts) > 0 || len(plan.Resulting) != len(install.Resulting) {
			t.Errorf("%s changes %v or is refused: %v", name, plan.Changes, plan.Err())
		}
	}
	update := definitions.Update(install.Resulting, values)
	for _, definition := range definitions.All() {
		if definition.Immutable && update.Resulting[definition.Name].Text != install.Resulting[definition.Name].Text {
			t.Errorf("the immutable parameter %q changes from %v to %v", definition.Name, install.Resulting[definition.Name], update.Resulting[definition.Name])
		}
	}
	if !slices.IsSortedFunc(update.Errors, func(a, b *parameter.Error) int { return strings.Compare(a.Parameter, b.Parameter) }) {
		t.Errorf("the errors are not sorted: %v", update.Err())
	}
}

// checkHeatLaws: a stack update to what is stored is allowed and changes nothing.
func checkHeatLaws(t *testing.T, template *parameter.Template, values parameter.Values) {
	install := template.Install(values)
	if !install.Allowed() {
		return
	}
	for _, mode := range []parameter.Mode{parameter.Put, parameter.Patch} {
		plan := template.Update(template, install.Resulting, install.Resulting, mode)
		if !plan.Allowed() || len(plan.Changes) > 0 {
			t.Errorf("%s of what is stored changes %v or is refused: %v", mode, plan.Changes, plan.Err())
		}
	}
}
