package paramcase

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Run runs check as a subtest for each case of the dialect in dir.
func Run(t *testing.T, dir, dialect string, check func(*testing.T, Case)) {
	t.Helper()
	suites, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Sorted(maps.Keys(suites)) {
		for _, c := range suites[file] {
			if dialect != "" && (c.Dialect == "heat") != (dialect == "heat") {
				continue
			}
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				check(t, c)
				if t.Failed() {
					t.Logf("reason: %s", c.Reason)
				}
			})
		}
	}
}

// Requested returns the values of --set over the given ones.
func (c Case) Requested(values parameter.Values) parameter.Values {
	for _, set := range c.Set {
		name, value, _ := strings.Cut(set, "=")
		values[name] = parameter.Text(value)
	}
	return values
}

// CheckRefusals compares refusals with what the case wants.
func CheckRefusals(t *testing.T, c Case, got parameter.Refusals) {
	t.Helper()
	if len(got) != len(c.Want.Errors) {
		t.Errorf("got %d refusals, want %d:\n%s", len(got), len(c.Want.Errors), strings.Join(got.Messages(), "\n"))
		return
	}
	for i, want := range c.Want.Errors {
		if got := got[i]; got.Parameter != want.Parameter || !strings.Contains(got.Message, want.Says) {
			t.Errorf("refusal %d: got %s: %s, want %s: …%s…", i, got.Parameter, got.Message, want.Parameter, want.Says)
		}
	}
	if strings.Contains(got.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", got.Error())
	}
	for _, secret := range c.Want.Secret {
		if strings.Contains(got.Error(), secret) {
			t.Errorf("the refusals show %q:\n%s", secret, got.Error())
		}
	}
}

// CheckDecision compares a decision with what the case wants; current are the values before.
func CheckDecision(t *testing.T, c Case, got parameter.Decision, current parameter.Values) {
	t.Helper()
	CheckRefusals(t, c, got.Refusals)
	if !got.Allowed() {
		Compare(t, "the values after a refusal", got.Resulting.Texts(), current.Texts())
		return
	}
	Compare(t, "resulting", got.Resulting, c.Want.Resulting)
}

// Compare compares two values as JSON.
func Compare(t *testing.T, what string, got, want any) {
	t.Helper()
	if got, want := toJSON(t, got), toJSON(t, want); got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
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
