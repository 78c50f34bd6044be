package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// TestOperatorPagesAreTrue asks the catalogue about the fields of the lists of operators, as TestPagesAreTrue does for
// built-in kinds, in the objects of the cases:
//
//	immutable   each change from one value to another is refused, by all versions of the operator or by some
//	restricted  some case changes the field, or a part of it, and is refused
//
// Fields that a row excepts, and that no other row concerns, may change. The pages of operators have no list "You may
// change".
func TestOperatorPagesAreTrue(t *testing.T) {
	var cases []kindcase.Case
	for _, folder := range []string{"cases", "read"} {
		more, err := kindcase.Read(filepath.Join("../../../../immutability/operators/testdata", folder))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, more...)
	}
	tried := 0
	for _, k := range customKinds() {
		of := slices.DeleteFunc(slices.Clone(cases), func(c kindcase.Case) bool { return !isOf(k, c.Old) || !isOf(k, c.New) })
		immutable, restricted := sortFields(k.Kind, k.Rows())
		for _, path := range immutable {
			changes := changesOf(of, path)
			tried += len(changes)
			if len(changes) == 0 && !strings.ContainsAny(path, "[{") {
				t.Errorf("%s: no change of %s was tried", k.Kind, path)
			}
			for _, c := range changes {
				if verdict := k.Check(c.New, c.Old); len(verdict.Violations)+len(verdict.Unknown) == 0 {
					t.Errorf("%s: the page calls %s immutable, but it changes from %v to %v", k.Kind, path, c.Old, c.New)
				}
			}
		}
		for _, path := range restricted {
			if !slices.ContainsFunc(of, func(c kindcase.Case) bool { return isRefusedAt(k, c, path) }) {
				t.Errorf("%s: the page calls %s restricted, but no case of it is refused", k.Kind, path)
			}
		}
		for _, r := range k.Rows() {
			for _, path := range r.Except {
				others := slices.ContainsFunc(k.Rows(), func(other builtin.Row) bool { return concerns(other, path) })
				for _, c := range changesOf(of, path) {
					tried++
					if verdict := k.Check(c.New, c.Old); !others && len(verdict.Violations) > 0 {
						t.Errorf("%s: the page lets %s change, but: %v", k.Kind, path, verdict.Violations)
					}
				}
			}
		}
	}
	if tried < 2000 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// isOf reports whether an object is of a kind.
func isOf(k *operators.Kind, obj map[string]any) bool {
	group, version, _ := strings.Cut(obj["apiVersion"].(string), "/")
	return obj["kind"] == k.Kind && group == k.Group && slices.Contains(k.Versions, version)
}

// concerns reports whether a row may refuse a change of a field.
func concerns(r builtin.Row, path string) bool {
	if slices.ContainsFunc(r.Except, func(e string) bool { return e == path || isBelow(path, e) }) {
		return false
	}
	return r.Rule != "" || r.Path == path || isBelow(path, r.Path) || isBelow(r.Path, path)
}

// changesOf changes a field alone, in the objects of cases that have it: each value in it becomes another one. Where no
// object has the field, the first one gets it.
func changesOf(cases []kindcase.Case, path string) (changes []kindcase.Case) {
	if strings.ContainsAny(path, "[{") {
		return nil // a part of a list or map, which the cases change
	}
	steps := fieldpath.Parse(path)
	change := func(obj map[string]any, value any) {
		for _, other := range othersOf(value) {
			changes = append(changes, kindcase.Case{Old: with(obj, steps, value), New: with(obj, steps, other)})
		}
	}
	for _, c := range cases {
		for _, obj := range []map[string]any{c.Old, c.New} {
			if value, ok := at(obj, steps); ok {
				change(obj, value)
			}
		}
	}
	if len(changes) == 0 && len(cases) > 0 {
		change(cases[0].Old, "a")
	}
	return changes
}

// othersOf returns copies of a value in each of which one scalar differs, also by its meaning: 1h becomes 11h.
func othersOf(value any) (others []any) {
	switch value := value.(type) {
	case string:
		if value != "" && value[0] >= '0' && value[0] <= '9' {
			return []any{"1" + value}
		}
		return []any{"x" + value}
	case bool:
		return []any{!value}
	case int64:
		return []any{value + 1}
	case float64:
		return []any{value + 1}
	case []any:
		for i, item := range value {
			for _, other := range othersOf(item) {
				others = append(others, slices.Concat(value[:i], []any{other}, value[i+1:]))
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			for _, other := range othersOf(value[name]) {
				changed := maps.Clone(value)
				changed[name] = other
				others = append(others, changed)
			}
		}
	}
	return others
}

// isRefusedAt reports whether a case is refused, perhaps by some versions only, because of a row of a field.
func isRefusedAt(k *operators.Kind, c kindcase.Case, path string) bool {
	verdict, rows := k.Check(c.New, c.Old), k.Rows()
	isOf := func(row int) bool { return row > 0 && rows[row-1].Path == path }
	return slices.ContainsFunc(verdict.Violations, func(v result.Violation) bool { return isOf(v.Row) }) ||
		slices.ContainsFunc(verdict.Unknown, func(r result.Remark) bool { return isOf(r.Row) })
}
