package parameter_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

func mustDefine(t *testing.T, text string) *parameter.Definitions {
	t.Helper()
	definitions, err := parameter.ReadDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return definitions
}

// A caller may build definitions instead of reading them.
func TestNewDefinitions(t *testing.T) {
	definitions, err := parameter.NewDefinitions(
		parameter.Definition{Name: "B", Immutable: true, Default: parameter.Text("b")},
		parameter.Definition{Name: "A", Required: true, ForcePodRestart: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	if all := definitions.All(); len(all) != 2 || all[0].Name != "A" || all[0].Type != parameter.TypeString {
		t.Errorf("got %v, want A and B of type string", all)
	}
	stored := parameter.FromTexts(map[string]string{"A": "a"})
	plan := definitions.Update(stored, parameter.FromTexts(map[string]string{"A": "x", "B": "x"}))
	if len(plan.Errors) != 1 || plan.Errors[0].Parameter != "B" || plan.Errors[0].Rule != parameter.RuleImmutable {
		t.Errorf("got %v, want B refused as immutable", plan.Err())
	}
	for want, definition := range map[string]parameter.Definition{
		"a parameter has no name": {},
		`the parameter "A" has the unknown type "text": the types are string, boolean, integer, number, array and map`: {Name: "A", Type: "text"},
	} {
		if _, err := parameter.NewDefinitions(definition); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// No old definitions are no way to lose the locks.
func TestWithoutOldDefinitions(t *testing.T) {
	definitions := mustDefine(t, "parameters: [{name: A, default: x, immutable: true}]")
	if plan := definitions.Upgrade(nil, nil, parameter.FromTexts(map[string]string{"A": "y"})); plan.Allowed() {
		t.Error("KUDO: the immutable value changes")
	}
	template, err := parameter.ReadTemplate([]byte("parameters: {a: {type: string, default: x, updatable: false}}"))
	if err != nil {
		t.Fatal(err)
	}
	if plan := template.Update(nil, nil, parameter.FromTexts(map[string]string{"a": "y"}), parameter.Put); plan.Allowed() {
		t.Error("Heat: the immutable value changes")
	}
	if p, ok := template.Lookup("a"); !ok || !p.Immutable || len(template.All()) != 1 {
		t.Errorf("got %v, want the immutable parameter a", template.All())
	}
}

// A zero Value is no value, stored or requested.
func TestZeroValue(t *testing.T) {
	definitions := mustDefine(t, "parameters: [{name: A, default: x, immutable: true}]")
	zero := parameter.Values{"A": {}}
	for name, plan := range map[string]parameter.Plan{
		"install": definitions.Install(zero),
		"upgrade": definitions.Upgrade(mustDefine(t, "parameters: [{name: A, default: w, immutable: true}]"), zero, nil),
	} {
		want := map[string]string{"install": "x", "upgrade": "w"}[name]
		if !plan.Allowed() || plan.Resulting["A"].Text != want {
			t.Errorf("%s: got %v and %v, want %s", name, plan.Resulting, plan.Err(), want)
		}
	}
	if plan := definitions.Update(zero, zero); !plan.Allowed() || len(plan.Resulting) != 0 {
		t.Errorf("update: got %v and %v, want nothing", plan.Resulting, plan.Err())
	}
}

func TestChild(t *testing.T) {
	definitions := mustDefine(t, "parameters: [{name: A, default: false}, {name: N, type: number, default: 1}]")
	for _, test := range []struct {
		name   string
		task   parameter.Task
		stored string
		want   parameter.Child
		rule   parameter.Rule
	}{
		{"stored", parameter.Task{Name: "t", EnablingParameter: "A"}, "1", parameter.Child{Task: "t", Present: true, Because: "A"}, ""},
		{"default", parameter.Task{Name: "t", EnablingParameter: "A"}, "", parameter.Child{Task: "t", Because: "A"}, ""},
		{"unconditional", parameter.Task{Name: "t"}, "0", parameter.Child{Task: "t", Present: true}, ""},
		{"undefined", parameter.Task{Name: "t", EnablingParameter: "B"}, "", parameter.Child{}, parameter.RuleEnabling},
		{"of another type", parameter.Task{Name: "t", EnablingParameter: "N"}, "", parameter.Child{}, parameter.RuleEnabling},
		{"no boolean", parameter.Task{Name: "t", EnablingParameter: "A"}, "yes", parameter.Child{}, parameter.RuleEnabling},
	} {
		stored := parameter.Values{}
		if test.stored != "" {
			stored["A"] = parameter.Text(test.stored)
		}
		child, err := definitions.Child(test.task, stored)
		var refusal *parameter.Error
		if errors.As(err, &refusal) != (test.rule != "") || refusal != nil && (refusal.Rule != test.rule || refusal.Error() == "") {
			t.Errorf("%s: got error %v, want rule %q", test.name, err, test.rule)
		}
		if child != test.want {
			t.Errorf("%s: got %v, want %v", test.name, child, test.want)
		}
	}
}

// A webhook sees two whole instances; a value that is gone is a change like any other.
func TestDifference(t *testing.T) {
	definitions := mustDefine(t, "parameters: [{name: A, immutable: true}, {name: B, default: b}, {name: C, default: c}]")
	stored := parameter.FromTexts(map[string]string{"A": "a", "B": "x", "ORPHAN": "o"})
	for _, test := range []struct {
		name            string
		wanted          map[string]string
		allowed         bool
		want, resulting map[string]string
	}{
		{"the same", map[string]string{"A": "a", "B": "x", "ORPHAN": "o"}, true,
			map[string]string{}, map[string]string{"A": "a", "B": "x", "ORPHAN": "o"}},
		{"a mutable value changed, another added, the default's one removed", map[string]string{"A": "a", "C": "y", "ORPHAN": "o"}, true,
			map[string]string{"C": "y"}, map[string]string{"A": "a", "C": "y", "ORPHAN": "o"}},
		{"a value without definition removed", map[string]string{"A": "a", "B": "x"}, true,
			map[string]string{}, map[string]string{"A": "a", "B": "x"}},
		{"an immutable value removed", map[string]string{"B": "x", "ORPHAN": "o"}, false,
			map[string]string{}, map[string]string{"A": "a", "B": "x", "ORPHAN": "o"}},
	} {
		difference := parameter.Difference(stored, parameter.FromTexts(test.wanted))
		if !maps.Equal(difference.Texts(), test.want) {
			t.Errorf("%s: the difference is %v, want %v and nulls", test.name, difference, test.want)
		}
		plan := definitions.Update(stored, difference)
		if plan.Allowed() != test.allowed || !maps.Equal(plan.Resulting.Texts(), test.resulting) {
			t.Errorf("%s: got %v and %v, want %v", test.name, plan.Resulting.Texts(), plan.Err(), test.resulting)
		}
	}
	zero := parameter.Difference(parameter.Values{"A": {}}, parameter.Values{"A": {Kind: parameter.Null}})
	if len(zero) != 0 {
		t.Errorf("no value and null differ: %v", zero)
	}
}
