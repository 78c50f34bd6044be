package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// TestWords: each lock, rule and condition of a kind has a sentence, and each sentence belongs to a lock, rule or
// condition.
func TestWords(t *testing.T) {
	w, c := readWords(), newCatalogue()
	used := words{map[string]string{}, map[string]string{}}
	tell := func(kind string, r builtin.Row) {
		if !isRefused(&r) {
			return
		}
		when, rule := oneLine(r.When), oneLine(r.Rule)
		used.conditions[when], used.rules[rule] = w.conditions[when], w.rules[rule]
		if _, ok := w.condition(r); when != "" && !ok {
			t.Errorf("%s: %s has no sentence for the condition %s", kind, r.Path, when)
		}
		if (&details{words: w}).lock(r) == "" {
			t.Errorf("%s: %s has no sentence for %v %s", kind, r.Path, r.Locks, rule)
		}
	}
	for _, k := range c.kinds() {
		rows, _ := c.merge(k)
		for _, r := range rows {
			tell(k.Kind, r.Row)
		}
	}
	for _, k := range customKinds() {
		for _, r := range k.Rows() {
			tell(k.Kind, r)
		}
	}
	for when := range w.conditions {
		if _, ok := used.conditions[when]; !ok {
			t.Errorf("no row has the condition %s", when)
		}
	}
	for rule := range w.rules {
		if _, ok := used.rules[rule]; !ok {
			t.Errorf("no row has the rule %s", rule)
		}
	}
}

// TestPhrases: the CEL of a sentence does what the sentence says on the updates beside it, and has the fields and
// values that the sentence quotes.
func TestPhrases(t *testing.T) {
	data := readPhrases()
	for _, p := range slices.Concat(data.Conditions, data.Rules) {
		expression := p.When + p.Rule
		if p.Words == "" {
			continue // it adds nothing to the sentence of its rule
		}
		if len(p.Fails) == 0 || len(p.Holds) == 0 && expression != "false" {
			t.Errorf("%q needs updates for which it holds and others for which it fails: %s", p.Words, expression)
		}
		for _, update := range p.Holds {
			if holds, err := evaluate(expression, update); err != nil || !holds {
				t.Errorf("%q holds for %v, but the CEL says %v, %v: %s", p.Words, update, holds, err, expression)
			}
		}
		for _, update := range p.Fails {
			if holds, err := evaluate(expression, update); err != nil || holds {
				t.Errorf("%q fails for %v, but the CEL says %v, %v: %s", p.Words, update, holds, err, expression)
			}
		}
		plain := strings.ReplaceAll(expression, "?", "")
		for _, quoted := range regexp.MustCompile("`([^`:]+)[^`]*`").FindAllStringSubmatch(p.Words, -1) {
			if !quotes(plain, quoted[1]) {
				t.Errorf("%q names %s, which the CEL does not: %s", p.Words, quoted[1], expression)
			}
		}
	}
}

// quotes reports whether an expression has a value, or the names of a field, in their order: "spec.podMetadata" is in
// "['podMetadata'].exists(f, f in self.spec)".
func quotes(expression, quoted string) bool {
	if strings.Contains(expression, quoted) {
		return true
	}
	for _, name := range strings.Split(quoted, ".") {
		if !strings.Contains(expression, name) {
			return false
		}
	}
	return true
}

// evaluate evaluates an expression of a row for an update of some fields.
func evaluate(expression string, fields map[string][2]any) (holds bool, err error) {
	object := map[string]any{
		"metadata": map[string]any{"name": "a", "labels": map[string]any{}, "annotations": map[string]any{}},
		"spec":     map[string]any{},
	}
	oldObj, newObj := object, object
	for path, values := range fields {
		oldObj, newObj = with(oldObj, fieldpath.Parse(path), values[0]), with(newObj, fieldpath.Parse(path), values[1])
	}
	all, err := kind.NewField(nil, kind.GoTypes{})
	if err != nil {
		return false, err
	}
	definition, err := kind.FromData(all, []kind.Row{{Field: "spec", Rule: expression}})
	if err != nil {
		return false, err
	}
	found, _, err := definition.Find(kind.Update{New: newObj, Old: oldObj})
	if err != nil {
		return false, err
	}
	for _, objection := range found {
		if objection.Err != nil || objection.Open != "" {
			return false, fmt.Errorf("%s %w", objection.Open, objection.Err)
		}
	}
	return len(found) == 0, nil
}
