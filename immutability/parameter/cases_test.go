package parameter_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/internal/paramcase"
)

// TestCases runs the shared cases through the Go API.
func TestCases(t *testing.T) {
	suites, err := paramcase.Load("../../testdata/params")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Sorted(maps.Keys(suites)) {
		for _, c := range suites[file] {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				runCase(t, c)
				if t.Failed() {
					t.Logf("reason: %s", c.Reason)
				}
			})
		}
	}
}

// inputs are the documents of a case, read.
type inputs struct {
	definitions, old   *parameter.Definitions
	template, oldStack *parameter.Template
	current, values    parameter.Values
	tasks              []parameter.Task
}

func read(c paramcase.Case) (in inputs, err error) {
	document := func(text *string) []byte {
		if text == nil {
			return nil
		}
		return []byte(*text)
	}
	if c.Dialect == "heat" {
		in.template, err = parameter.ReadTemplate([]byte(c.Definitions))
		if err == nil && c.OldDefinitions != nil {
			in.oldStack, err = parameter.ReadTemplate(document(c.OldDefinitions))
		}
	} else {
		in.definitions, err = parameter.ReadDefinitions([]byte(c.Definitions))
		if err == nil && c.OldDefinitions != nil {
			in.old, err = parameter.ReadDefinitions(document(c.OldDefinitions))
		}
	}
	if err != nil {
		return in, err
	}
	if in.current, err = parameter.ReadValues(document(c.Current)); err != nil {
		return in, err
	}
	if in.values, err = parameter.ReadValues(document(c.Values)); err != nil {
		return in, err
	}
	for _, set := range c.Set {
		name, value, _ := strings.Cut(set, "=")
		in.values[name] = parameter.Text(value)
	}
	for _, text := range []*string{c.Task, c.OldTask} {
		if text == nil {
			continue
		}
		task, err := parameter.ReadTask([]byte(*text))
		if err != nil {
			return in, err
		}
		if text == c.Task {
			in.tasks = append(in.tasks, task)
		}
	}
	return in, nil
}

func runCase(t *testing.T, c paramcase.Case) {
	in, err := read(c)
	if c.Want.Unreadable != "" {
		var unreadable *parameter.ReadError
		if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), c.Want.Unreadable) {
			t.Fatalf("reading: got %v, want a ReadError with %q", err, c.Want.Unreadable)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case c.Verb == "list":
		rows := []parameter.Row(nil)
		if in.template != nil {
			rows = in.template.Rows()
		} else {
			rows = in.definitions.Rows()
		}
		compare(t, "rows", toJSON(t, rows), toJSON(t, c.Want.Rows))
		return
	case c.Verb == "validate" && in.template != nil:
		checkRefusals(t, c, in.template.Validate())
		return
	case c.Verb == "validate":
		checkRefusals(t, c, in.definitions.Validate(in.tasks...))
		return
	}

	current, values := maps.Clone(in.current), maps.Clone(in.values)
	plan := evaluate(c, in)
	if !cmp.Equal(current, in.current, cmpopts.IgnoreUnexported(parameter.Value{})) ||
		!cmp.Equal(values, in.values, cmpopts.IgnoreUnexported(parameter.Value{})) {
		t.Error("the evaluation changed its inputs")
	}
	checkRefusals(t, c, plan.Errors)
	if !plan.Allowed() {
		compare(t, "the values after a refusal", toJSON(t, plan.Resulting.Texts()), toJSON(t, in.current.Texts()))
		if plan.Restarts != nil || plan.Children != nil {
			t.Error("a refused plan restarts pods or has children")
		}
		return
	}
	compare(t, "resulting", toJSON(t, plan.Resulting), toJSON(t, c.Want.Resulting))
	if c.Want.Restart != nil && (*c.Want.Restart != (len(plan.Restarts) > 0) || !slices.Equal(plan.Restarts, c.Want.Because)) {
		t.Errorf("restarts: got %v, want %t because of %v", plan.Restarts, *c.Want.Restart, c.Want.Because)
	}
	if c.Want.Child != "" && (len(plan.Children) != 1 || plan.Children[0].Present != (c.Want.Child == "present")) {
		t.Errorf("children: got %v, want one that is %s", plan.Children, c.Want.Child)
	}
}

func evaluate(c paramcase.Case, in inputs) parameter.Plan {
	verb := c.Verb
	if verb == "restart" || verb == "toggle" {
		switch {
		case in.old != nil:
			verb = "upgrade"
		case c.Current != nil:
			verb = "update"
		default:
			verb = "install"
		}
	}
	switch {
	case in.template != nil && verb == "install":
		return in.template.Install(in.values)
	case in.template != nil:
		return in.template.Update(in.oldStack, in.current, in.values, parameter.Mode(c.Mode), c.Clear...)
	case verb == "install":
		return in.definitions.Install(in.values, in.tasks...)
	case verb == "update":
		return in.definitions.Update(in.current, in.values, in.tasks...)
	}
	return in.definitions.Upgrade(in.old, in.current, in.values, in.tasks...)
}

func checkRefusals(t *testing.T, c paramcase.Case, errs parameter.Errors) {
	t.Helper()
	if len(errs) != len(c.Want.Errors) {
		t.Errorf("got %d errors, want %d:\n%s", len(errs), len(c.Want.Errors), errs.Error())
		return
	}
	for i, want := range c.Want.Errors {
		if got := errs[i]; got.Parameter != want.Parameter || !strings.Contains(got.Message, want.Says) {
			t.Errorf("error %d: got %s: %s, want %s: …%s…", i, got.Parameter, got.Message, want.Parameter, want.Says)
		}
	}
	for _, secret := range c.Want.Secret {
		if strings.Contains(errs.Error(), secret) {
			t.Errorf("the errors show %q:\n%s", secret, errs.Error())
		}
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	data, _ = json.Marshal(tree)
	return string(data)
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}
