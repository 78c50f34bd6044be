package kudo_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/testing/paramcase"
)

// TestCases runs the shared cases through the Go API.
func TestCases(t *testing.T) {
	paramcase.Run(t, "../../../testdata/params", "kudo", runCase)
}

// inputs are the documents of a case, read.
type inputs struct {
	version, old    *kudo.OperatorVersion
	current, values parameter.Values
	instance        bool // whether values are those of an Instance
}

func read(c paramcase.Case) (in inputs, err error) {
	if in.version, err = kudo.ReadOperatorVersion([]byte(c.Definitions)); err != nil {
		return in, err
	}
	if c.OldDefinitions != nil {
		if in.old, err = kudo.ReadOperatorVersion([]byte(*c.OldDefinitions)); err != nil {
			return in, err
		}
	}
	if in.current, err = kudo.ReadValues(text(c.Current)); err != nil {
		return in, err
	}
	if in.values, err = kudo.ReadValues(text(c.Values)); err != nil {
		return in, err
	}
	_, err = kudo.ReadInstance(text(c.Values))
	in.instance = err == nil
	err = nil
	in.values = c.Requested(in.values)
	if c.Task != nil {
		err = in.version.ReadTasks(text(c.Task))
	}
	if c.OldTask != nil && err == nil {
		err = new(kudo.OperatorVersion).ReadTasks(text(c.OldTask))
	}
	return in, err
}

func text(document *string) []byte {
	if document == nil {
		return nil
	}
	return []byte(*document)
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
		paramcase.CheckRefusals(t, c, in.version.Validate())
		if len(c.Want.Errors) == 0 {
			paramcase.Compare(t, "rows", in.version.List(), c.Want.Rows)
		}
		return
	case c.Verb == "validate":
		paramcase.CheckRefusals(t, c, in.version.Validate())
		return
	}

	current, values := maps.Clone(in.current), maps.Clone(in.values)
	admission := evaluate(c, in)
	if !cmp.Equal(current, in.current) || !cmp.Equal(values, in.values) {
		t.Error("the evaluation changed its inputs")
	}
	paramcase.CheckDecision(t, c, admission.Decision, in.current)
	if !admission.Allowed() {
		if admission.Restarts != nil || admission.Children != nil {
			t.Error("a refusal restarts pods or has children")
		}
		return
	}
	if c.Want.Restart != nil && (*c.Want.Restart != (len(admission.Restarts) > 0) || !slices.Equal(admission.Restarts, c.Want.Because)) {
		t.Errorf("restarts: got %v, want %t because of %v", admission.Restarts, *c.Want.Restart, c.Want.Because)
	}
	children := map[string]string{}
	for _, child := range admission.Children {
		children[child.Task] = map[bool]string{true: "present", false: "absent"}[child.Present]
	}
	if c.Want.Child != "" && (len(children) != 1 || slices.Collect(maps.Values(children))[0] != c.Want.Child) ||
		c.Want.Children != nil && !maps.Equal(children, c.Want.Children) {
		t.Errorf("children: got %v, want %q or %v", children, c.Want.Child, c.Want.Children)
	}
}

func evaluate(c paramcase.Case, in inputs) kudo.Admission {
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
	case in.instance:
		return in.version.Admit(&kudo.Instance{Parameters: in.values}, &kudo.Instance{Parameters: in.current}, in.old)
	case verb == "install":
		return in.version.Install(in.values)
	case verb == "update":
		return in.version.Update(in.values, in.current)
	}
	return in.version.Upgrade(in.values, in.old, in.current)
}
