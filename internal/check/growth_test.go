package check

import (
	"encoding/json"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

func compileText(t testing.TB, text string) *Checker {
	t.Helper()
	var s spec.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	tree := schema.Read(&s, nil)
	_, presence, problems := normalizer.Compile(tree)
	if problems != nil {
		t.Fatal(problems)
	}
	return Compile(tree, presence, Options{})
}

// work counts what a check and its report look at.
func (c *Checker) work(newObj, oldObj map[string]any) (work int, refused bool) {
	m := &Memo{looksAt: visited}
	f := c.root.Check(m, present(newObj), present(oldObj))
	var visit func(f *Found)
	visit = func(f *Found) {
		for _, r := range f.Here {
			m.work++
			if below := m.Differences(r); below != nil {
				below.Count()
			}
		}
		for _, g := range f.Sorted() {
			visit(g.Found)
		}
	}
	if f != nil {
		visit(f)
	}
	return m.work + m.absences.Visited(), f != nil
}

// TestGrowth: four times the depth is about four times the work.
func TestGrowth(t *testing.T) {
	for _, g := range suite.Growths() {
		t.Run(g.Name, func(t *testing.T) {
			c := compileText(t, g.Schema)
			var works [2]int
			for i, depth := range []int{200, 800} {
				work, refused := c.work(g.Build(depth, true), g.Build(depth, false))
				if refused != g.Refused {
					t.Fatalf("depth %d: refused %t, want %t", depth, refused, g.Refused)
				}
				works[i] = work
			}
			ratio := float64(works[1]) / float64(works[0])
			t.Logf("work %d and %d, ratio %.2f", works[0], works[1], ratio)
			if ratio > 5 {
				t.Errorf("four times the depth is %.1f times the work (%s)", ratio, g.Reason)
			}
			if works[0] < 200 {
				t.Errorf("a work of %d for depth 200 is not counted", works[0])
			}
		})
	}
}

// visited is about how many values of a and b jsonvalue.Equal looks at.
func visited(a, b any) int {
	n, _ := visit(a, b)
	return n
}

func visit(a, b any) (n int, equal bool) {
	n = 1
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && len(x) == len(y) {
			for key, value := range x {
				below, equal := visit(value, y[key])
				if n += below; !equal {
					return n, false
				}
			}
			return n, true
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				below, equal := visit(x[i], y[i])
				if n += below; !equal {
					return n, false
				}
			}
			return n, true
		}
	}
	return n, jsonvalue.Equal(a, b)
}
