package kudo_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/testing/paramcase"
)

// FuzzRead reads what the fuzzer finds, as every kind of document. What can be read obeys the laws of the evaluators;
// the rest is a ReadError, never a panic.
func FuzzRead(f *testing.F) {
	suites, err := paramcase.Load("../../../testdata/params")
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
		values, err := kudo.ReadValues(data)
		checkReadError(t, err)
		if err == nil {
			if _, err := json.Marshal(values); err != nil {
				t.Errorf("values that were read cannot be written as JSON: %v", err)
			}
		}
		_, err = kudo.ReadInstance(data)
		checkReadError(t, err)
		checkReadError(t, new(kudo.OperatorVersion).ReadTasks(data))

		version, err := kudo.ReadOperatorVersion(data)
		checkReadError(t, err)
		if err == nil {
			checkLaws(t, version, values)
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

// checkLaws: after an install that is allowed, an update to nothing and to what is stored changes nothing, and so does
// an upgrade to the same version and a request with an equal Instance. No update changes an immutable value.
func checkLaws(t *testing.T, version *kudo.OperatorVersion, values parameter.Values) {
	requested := parameter.Values{}
	for i := range version.Parameters {
		p := &version.Parameters[i]
		requested[p.Name] = parameter.Text("1")
		if !p.Default.IsNull() {
			requested[p.Name] = p.Default
		}
	}
	install := version.Install(requested)
	if !install.Allowed() {
		return
	}
	instance := &kudo.Instance{Parameters: install.Resulting}
	for name, admission := range map[string]kudo.Admission{
		"an update to nothing":            version.Update(nil, install.Resulting),
		"an update to what is stored":     version.Update(install.Resulting, install.Resulting),
		"an upgrade to what is installed": version.Upgrade(nil, version, install.Resulting),
		"an equal Instance":               version.Admit(instance, instance, version),
	} {
		if !admission.Allowed() || len(admission.Changes) > 0 || len(admission.Restarts) > 0 || len(admission.Resulting) != len(install.Resulting) {
			t.Errorf("%s changes %v or is refused: %v", name, admission.Changes, admission.Err())
		}
	}
	update := version.Update(values, install.Resulting)
	for _, p := range version.Parameters {
		if p.Immutable && update.Resulting[p.Name].Text != install.Resulting[p.Name].Text {
			t.Errorf("the immutable parameter %q changes from %v to %v", p.Name, install.Resulting[p.Name], update.Resulting[p.Name])
		}
	}
	if !slices.IsSortedFunc(update.Refusals, func(a, b *parameter.Refusal) int { return strings.Compare(a.Parameter, b.Parameter) }) {
		t.Errorf("the refusals are not sorted: %v", update.Err())
	}
	if err := update.Err(); err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
}
