package operators_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// allCases returns the cases of both folders, with their kinds.
func allCases(t *testing.T) (cases []kindcase.Case, kinds []*operators.Kind) {
	t.Helper()
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"cases", "read"} {
		read, err := kindcase.Read(filepath.Join("testdata", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range read {
			kind, ok := catalogue.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
			if !ok {
				t.Fatalf("%s: the kind is not known", c.Name)
			}
			cases, kinds = append(cases, c), append(kinds, kind)
		}
	}
	return cases, kinds
}

// Check neither panics nor changes its inputs, whatever the manifests hold, and says the same each time.
func TestHostileManifests(t *testing.T) {
	cases, kinds := allCases(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i, c := range cases {
		for range 3 {
			newObj, oldObj := spoil(random, kindcase.Clone(c.New)), spoil(random, kindcase.Clone(c.Old))
			isNew, isOld := encode(t, newObj), encode(t, oldObj)
			first := kinds[i].Check(newObj.(map[string]any), oldObj.(map[string]any))
			again := kinds[i].Check(newObj.(map[string]any), oldObj.(map[string]any))
			if encode(t, first) != encode(t, again) {
				t.Errorf("%s: two verdicts on %s → %s", c.Name, isOld, isNew)
			}
			if isNew != encode(t, newObj) || isOld != encode(t, oldObj) {
				t.Errorf("%s: Check changed its input", c.Name)
			}
			kinds[i].Replacement(newObj.(map[string]any), first)
		}
	}
}

// An unchanged manifest is never refused, also when it is odd.
func TestUnchanged(t *testing.T) {
	cases, kinds := allCases(t)
	random := rand.New(rand.NewPCG(3, 4))
	for i, c := range cases {
		obj := kindcase.Clone(c.New)
		for range 5 {
			if v := kinds[i].Check(obj.(map[string]any), obj.(map[string]any)); len(v.Violations)+len(v.Unknown)+len(v.Notes) > 0 {
				t.Errorf("%s: %s: %s", c.Name, encode(t, obj), encode(t, v))
			}
			obj = spoil(random, obj)
		}
	}
}

// A locked part that is nested deeply is compared in time.
func TestDeepObject(t *testing.T) {
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := catalogue.Find("acme.cert-manager.io/v1", "Challenge")
	object := func(leaf string) map[string]any {
		var spec any = leaf
		for range 10_000 {
			spec = map[string]any{"a": spec}
		}
		return map[string]any{"apiVersion": "acme.cert-manager.io/v1", "kind": "Challenge", "spec": spec}
	}
	if v := kind.Check(object("a"), object("b")); v.Allowed() {
		t.Error("a change at the bottom is not found")
	}
}

// spoil returns v with one of its values replaced by something of another type. It changes v.
func spoil(random *rand.Rand, v any) any {
	odd := []any{nil, "x", int64(-1), 1.5, true, map[string]any{}, []any{}, []any{nil, "y", map[string]any{"name": int64(1)}}, map[string]any{"name": []any{}}}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			if key != "apiVersion" && key != "kind" {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			return v
		}
		slices.Sort(keys)
		key := keys[random.IntN(len(keys))]
		if random.IntN(3) == 0 {
			v[key] = odd[random.IntN(len(odd))]
		} else {
			v[key] = spoil(random, v[key])
		}
		return v
	case []any:
		if len(v) > 0 && random.IntN(3) > 0 {
			i := random.IntN(len(v))
			v[i] = spoil(random, v[i])
			return v
		}
	}
	return odd[random.IntN(len(odd))]
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
