package heat_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/internal/testing/paramcase"
)

// TestCases runs the shared cases through the Go API.
func TestCases(t *testing.T) {
	paramcase.Run(t, "../../../testdata/params", "heat", runCase)
}

// inputs are the documents of a case, read.
type inputs struct {
	template, old   *heat.Template
	current, values parameter.Values
}

func read(c paramcase.Case) (in inputs, err error) {
	if in.template, err = heat.ReadTemplate([]byte(c.Definitions)); err != nil {
		return in, err
	}
	if c.OldDefinitions != nil {
		if in.old, err = heat.ReadTemplate([]byte(*c.OldDefinitions)); err != nil {
			return in, err
		}
	}
	if in.current, err = heat.ReadValues(text(c.Current)); err != nil {
		return in, err
	}
	in.values, err = heat.ReadValues(text(c.Values))
	if err == nil {
		in.values = c.Requested(in.values)
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
	current, values := maps.Clone(in.current), maps.Clone(in.values)
	var preview heat.Preview
	switch c.Verb {
	case "list":
		paramcase.CheckRefusals(t, c, in.template.Validate())
		paramcase.Compare(t, "rows", in.template.List(), c.Want.Rows)
		return
	case "validate":
		paramcase.CheckRefusals(t, c, in.template.Validate())
		preview.Unchecked = in.template.Unchecked()
	case "install":
		preview = in.template.Create(in.values)
	default:
		if c.Mode == "patch" {
			preview = in.template.Patch(in.values, in.old, in.current, c.Clear...)
		} else {
			preview = in.template.Update(in.values, in.old, in.current)
		}
	}
	if c.Verb != "validate" {
		paramcase.CheckDecision(t, c, preview.Decision, in.current)
	}
	if !cmp.Equal(current, in.current) || !cmp.Equal(values, in.values) {
		t.Error("the evaluation changed its inputs")
	}
	if !slices.EqualFunc(preview.Unchecked, c.Want.Unchecked, func(got heat.Unchecked, want paramcase.Unchecked) bool {
		return got.Parameter == want.Parameter && got.Constraint == want.Constraint
	}) {
		t.Errorf("unchecked: got %v, want %v", preview.Unchecked, c.Want.Unchecked)
	}
}
