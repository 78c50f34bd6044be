package builtin_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// The verdict on every case equals what a real API server of the minor answered. examples/e2e asked it.
func TestCases(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "answers", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no answers", err)
	}
	for _, file := range files {
		minor := filepath.Base(file)
		answers, err := kindcase.ReadAnswers(file)
		if err != nil {
			t.Error(err)
			continue
		}
		kinds, err := builtin.For(minor)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			answer, ok := answers[c.Name]
			if !ok {
				if !c.Manual && serves(kinds, c.Old) {
					t.Errorf("%s: %s: there is no answer", minor, c.Name)
				}
				continue
			}
			kind, _ := kinds.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
			if kind == nil {
				t.Errorf("%s: the kind is not known", c.Name)
				continue
			}
			if wrong := kindcase.Compare(c, answer, verdictOf(kind.Check(c.New, c.Old)), minor); wrong != "" && !c.Differs {
				t.Errorf("%s: %s: %s", minor, c.Name, wrong)
			}
			if none, other := kind.Check(c.New, c.Old), kind.CheckBy("helm", c.New, c.Old); !reflect.DeepEqual(none, other) {
				t.Errorf("%s: %s: an applier without a meaning changes %+v to %+v", minor, c.Name, none, other)
			}
			by := builtin.ApplierServerSide
			if c.ClientSide {
				by = builtin.ApplierClientSide
			}
			v := verdictOf(kind.CheckBy(by, c.New, c.Old))
			c.Unknown, c.UnknownSince, c.Note = v.Unknown, "", v.Note
			if wrong := kindcase.Compare(c, answer, v, minor); wrong != "" {
				t.Errorf("%s: %s, %s apply: %s", minor, c.Name, by, wrong)
			}
		}
	}
}

// serves reports whether the minor has the version of an object.
func serves(kinds *builtin.Kinds, obj map[string]any) bool {
	gvk := schema.FromAPIVersionAndKind(obj["apiVersion"].(string), obj["kind"].(string))
	return slices.ContainsFunc(kinds.All(), func(k *builtin.Kind) bool {
		return k.Group == gvk.Group && k.Kind == gvk.Kind && slices.Contains(k.Versions, gvk.Version)
	})
}

func verdictOf(v result.Verdict) kindcase.Prediction {
	out := kindcase.Prediction{Unknown: len(v.Unknown) > 0, Note: len(v.Notes) > 0}
	for _, found := range v.Violations {
		_, text, _ := strings.Cut(found.Message, ": ")
		out.Causes = append(out.Causes, kindcase.Cause{Field: found.Cause, Message: text})
	}
	return out
}
