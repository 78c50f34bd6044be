package builtin_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// Check neither panics nor changes its inputs, whatever the manifests hold.
func TestHostileManifests(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		kind, _ := kinds.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
		for range 2 {
			newObj, oldObj := spoil(random, c.New).(map[string]any), spoil(random, c.Old).(map[string]any)
			isNew, isOld := encode(t, newObj), encode(t, oldObj)
			first := kind.Check(newObj, oldObj)
			if again := kind.Check(newObj, oldObj); !reflect.DeepEqual(summary(first), summary(again)) {
				t.Errorf("%s: two verdicts on %s → %s", c.Name, isOld, isNew)
			}
			if isNew != encode(t, newObj) || isOld != encode(t, oldObj) {
				t.Errorf("%s: Check changed its input", c.Name)
			}
			kind.Replacement(newObj, oldObj, first)
		}
	}
}

// TestNilObjects: nil is an object without fields, for every kind.
func TestNilObjects(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds.All() {
		for _, by := range []builtin.Applier{"", builtin.ApplierServerSide, builtin.ApplierFlux, builtin.ApplierClientSide, builtin.ApplierReplace} {
			got := kind.CheckBy(by, nil, nil)
			if want := kind.CheckBy(by, map[string]any{}, map[string]any{}); !reflect.DeepEqual(summary(got), summary(want)) {
				t.Errorf("%s: %v, want %v", kind.Kind, summary(got), summary(want))
			}
			kind.Replacement(nil, nil, got)
		}
		kind.Missing(nil)
		kind.Typed(nil)
	}
}

// An unchanged manifest is never refused, with one exception: a client-side apply sends null for the empty text that null has made.
func TestUnchanged(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		kind, _ := kinds.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
		if v := kind.Check(c.Old, c.Old); len(v.Violations)+len(v.Unknown)+len(v.Notes) > 0 {
			t.Errorf("%s: %v", c.Name, summary(v))
		}
		for _, by := range []builtin.Applier{builtin.ApplierServerSide, builtin.ApplierFlux, builtin.ApplierClientSide} {
			if kind.CheckBy(by, c.Old, c.Old).Allowed() == (by == builtin.ApplierClientSide && strings.Contains(c.Name, "null text ") && !strings.HasSuffix(c.Name, " set")) {
				t.Errorf("%s: by %s", c.Name, by)
			}
		}
	}
}

func summary(v builtin.Verdict) []string {
	var all []string
	for _, found := range v.Violations {
		all = append(all, found.Path+": "+found.Message)
	}
	return append(all, fmt.Sprint(v.Unknown, v.Notes))
}

// spoil returns a copy of a value with some parts replaced by values of other types.
func spoil(random *rand.Rand, v any) any {
	var visit func(v any, depth int) any
	visit = func(v any, depth int) any {
		if depth > 0 && random.IntN(12) == 0 {
			return []any{nil, "", "x", int64(0), 1.5, true, []any{}, []any{"x", map[string]any{}}, map[string]any{"a": nil}}[random.IntN(9)]
		}
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for name, member := range v {
				out[name] = visit(member, depth+1)
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, item := range v {
				out[i] = visit(item, depth+1)
			}
			return out
		}
		return v
	}
	return visit(v, 0)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
