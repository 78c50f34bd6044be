package celrun

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/internal/celexpr"
)

func parse(t *testing.T, text string) ast.Expr {
	t.Helper()
	x, err := celexpr.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestCertain: what is left of a rule when the status is not known.
func TestCertain(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a guard", "!has(self.status) || self.a == oldSelf.a", "(self.a == oldSelf.a)"},
		{"an optional guard", "!has(self.?status.a) || self.a == oldSelf.a", "(self.a == oldSelf.a)"},
		{"a choice", "self.status.on ? self.a == oldSelf.a : true", "((self.a == oldSelf.a) && (true))"},
		{"a choice by what is known", "self.on ? self.status.a : self.b", "(!(self.on) && (self.b))"},
		{"a conjunction", "self.a > 1 && self.status.b", "false"},
		{"a negated conjunction", "!(self.a > 1 && self.status.b)", "!(self.a > 1)"},
		{"a negated disjunction", "!(self.a || self.status.b)", "false"},
		{"a disjunction", "self.a == 1 || self.b == 1", "((self.a == 1) || (self.b == 1))"},
		{"a negation within a negation", "!(!(self.a == 1) && self.b)", "((self.a == 1) || !(self.b))"},
		{"a negated choice", "!(self.on ? self.status.a : self.b)", "(!(self.on) && !(self.b))"},
		{"nothing else", "oldSelf.status.done != true", "false"},
		{"a macro", "self.status.x || self.list.all(i, i.name in oldSelf.names)", "(self.list.all(i, i.name in oldSelf.names))"},
		{"the status in a macro", "self.list.all(i, i.name in oldSelf.status.names) || !has(self.a)", "!(has(self.a))"},
	} {
		got, _ := Certain(parse(t, c.text), func(condition ast.Expr) bool {
			return slices.ContainsFunc(celexpr.Reads(condition), func(r celexpr.Read) bool { return slices.Contains(r.Properties(), "status") })
		})
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for name, text := range map[string]string{
		"disjunctions": strings.Repeat("self.a || ", 4000) + "self.b",
		"conjunctions": strings.Repeat("self.a && ", 4000) + "self.b",
		"branches":     strings.Repeat("(self.a ? self.b : ", 60) + "self.c" + strings.Repeat(")", 60),
		"conditions":   strings.Repeat("(", 60) + "self.c" + strings.Repeat(" ? self.a : self.b)", 60),
	} {
		if got, _ := Certain(parse(t, text), func(ast.Expr) bool { return false }); len(got) > 3*maxCertain {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}
