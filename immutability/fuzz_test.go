package immutability_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

// seeds gives a fuzz target inputs that are long enough for whole schemas, the same on every run.
func seeds(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		data := make([]byte, 40+r.IntN(160))
		for i := range data {
			data[i] = byte(r.IntN(256))
		}
		f.Add(data)
	}
}

// update is one random case.
type update struct {
	schema   *spec.Schema
	order    immutability.MapListOrder
	v        *immutability.Validator
	new, old map[string]any
}

// chooseUpdate returns a case, or false where the random schema does not compile.
func chooseUpdate(data []byte) (u update, ok bool) {
	c := &choices{data}
	u.schema = c.schema()
	u.order = []immutability.MapListOrder{"", immutability.MapListOrderIgnored}[c.n(2)]
	var err error
	if u.v, err = immutability.Compile(u.schema, immutability.WithMapListOrder(u.order)); err != nil {
		return u, false
	}
	if u.old, ok = c.value(u.schema, u.schema, 6).(map[string]any); !ok {
		u.old = map[string]any{}
	}
	u.new = c.mutate(u.old).(map[string]any)
	return u, true
}

func text(v any) string {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// FuzzCheck compares Check with the reference, and requires that inputs stay what they are.
func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		u, ok := chooseUpdate(data)
		if !ok {
			t.Skip()
		}
		u.compareWithReference(t)
	})
}

// TestRandomUpdates is FuzzCheck on updates that are the same on every run, and compares encoded objects with decoded
// ones.
func TestRandomUpdates(t *testing.T) {
	rounds := 8_000
	if testing.Short() {
		rounds = 2_000
	}
	r := rand.New(rand.NewPCG(8, 9))
	differing := 0
	for range rounds {
		data := make([]byte, 40+r.IntN(260))
		for i := range data {
			data[i] = byte(r.IntN(256))
		}
		u, ok := chooseUpdate(data)
		if !ok {
			continue
		}
		differing += u.compareWithReference(t)
		compareRoutes(t, u.v, []byte(text(u.new)), []byte(text(u.old)))
		if t.Failed() {
			return
		}
	}
	if differing < rounds/20 {
		t.Errorf("only %d differences below locks in %d rounds", differing, rounds)
	}
}

// compareWithReference holds the report of u against the reference, and returns how many differences it names.
func (u *update) compareWithReference(t *testing.T) (differences int) {
	newText, oldText := text(u.new), text(u.old)
	var got []string
	below := map[string][]string{}
	for _, v := range u.v.Check(u.new, u.old).Violations {
		at := line(v.Path.String(), v.Lock, v.Key, v.HasKey)
		got = append(got, at)
		for _, d := range v.Differences {
			below[at] = append(below[at], differenceLine(d.Path.String(), refSide{d.New, d.HasNew}, refSide{d.Old, d.HasOld}))
			differences++
		}
		slices.Sort(below[at])
	}
	slices.Sort(got)
	want := checkByReference(u.schema, u.order == immutability.MapListOrderIgnored, u.new, u.old)
	if !slices.Equal(got, want.lines) {
		t.Errorf("schema %s\nold %s\nnew %s\ngot  %q\nwant %q", text(u.schema), oldText, newText, got, want.lines)
	}
	for _, at := range got {
		if !slices.Equal(below[at], want.below[at]) {
			t.Errorf("schema %s\nold %s\nnew %s\ndifferences of %s %q\nwant %q", text(u.schema), oldText, newText, at, below[at], want.below[at])
		}
	}
	if text(u.new) != newText || text(u.old) != oldText {
		t.Error("the check changed its input")
	}
	if len(u.v.ValidateUpdate(u.old, u.old)) > 0 {
		t.Errorf("an unchanged object is refused\nschema %s\nold %s", text(u.schema), oldText)
	}
	return differences
}

// FuzzEquality holds the equality of one locked field against its laws.
func FuzzEquality(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &choices{data}
		field := c.topology(3, true)
		root := object(map[string]spec.Schema{"v": *field})
		root.Definitions = spec.Definitions{"d": *c.node(2, true)}
		locked := *field
		locked.Extensions = spec.Extensions{}
		for key, value := range field.Extensions {
			locked.Extensions[key] = value
		}
		locked.Extensions["x-kubernetes-immutable"] = true
		root.Properties["v"] = locked
		v, err := immutability.Compile(root)
		if err != nil {
			t.Skip()
		}
		x := c.value(root, field, 5)
		y := c.mutate(x)
		z := c.mutate(y)
		equal := func(a, b any) bool {
			return v.Check(map[string]any{"v": a}, map[string]any{"v": b}).Allowed()
		}
		if !equal(x, x) || !equal(y, y) {
			t.Errorf("not reflexive: %s", text(x))
		}
		if equal(x, y) != equal(y, x) {
			t.Errorf("not symmetric: %s and %s under %s", text(x), text(y), text(root))
		}
		if equal(x, y) && equal(y, z) && !equal(x, z) {
			t.Errorf("not transitive: %s, %s and %s under %s", text(x), text(y), text(z), text(root))
		}
		if shuffled := c.shuffleSets(root, field, x); !equal(x, shuffled) {
			t.Errorf("a shuffled set differs: %s and %s under %s", text(x), text(shuffled), text(root))
		}
		if want := reflect.DeepEqual(stored(root, field, x), stored(root, field, y)); equal(x, y) != want {
			t.Errorf("%s and %s under %s: equal is %t, storage says %t", text(x), text(y), text(root), !want, want)
		}
	})
}

// shuffleSets returns v with the items of every set in another order.
func (c *choices) shuffleSets(root, s *spec.Schema, v any) any {
	r := &reference{root: root}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			child, _ := r.member(s, key)
			out[key] = c.shuffleSets(root, child, value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.shuffleSets(root, r.items(s), item)
		}
		if r.mark(s, "x-kubernetes-list-type") == "set" {
			for i := range out {
				j := c.n(len(out))
				out[i], out[j] = out[j], out[i]
			}
		}
		return out
	}
	return v
}

// stored is v after a round trip through storage, with its normalized members gone and its sets sorted.
func stored(root, s *spec.Schema, v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sortSets(&reference{root: root}, s, suite.Value(data))
}

func sortSets(r *reference, s *spec.Schema, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key := range v {
			if side := r.side(s, v, key); side.ok {
				child, _ := r.member(s, key)
				out[key] = sortSets(r, child, side.value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = sortSets(r, r.items(s), item)
		}
		if r.mark(s, "x-kubernetes-list-type") == "set" {
			slices.SortFunc(out, func(a, b any) int { return slices.Compare([]byte(canonical(a)), []byte(canonical(b))) })
		}
		return out
	}
	return v
}
