package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Mismatch says how got differs from what the case expects, or "". Paths and locks are compared always and in order;
// values, keys and differences where the case gives them; if a case gives only old or only new, the other one must be
// absent.
func (c *Case) Mismatch(got []Violation) string {
	if len(got) != len(c.Violations) {
		return fmt.Sprintf("got %s, want %s", names(got), names(c.Violations))
	}
	var wrong []string
	for i, want := range c.Violations {
		wrong = append(wrong, want.mismatch(got[i])...)
	}
	return strings.Join(wrong, "\n")
}

func (v *Violation) mismatch(got Violation) []string {
	var wrong []string
	differ := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("%s: %s: got %s, want %s", v.Path, what, got, want))
	}
	if got.Path != v.Path || got.Lock != v.Lock {
		differ("violation", names([]Violation{got}), names([]Violation{*v}))
	}
	sides := v.Old != nil || v.New != nil
	for _, p := range []struct {
		what      string
		got, want json.RawMessage
		check     bool
	}{{"old", got.Old, v.Old, sides && v.Key == nil}, {"new", got.New, v.New, sides && v.Key == nil}, {"key", got.Key, v.Key, v.Key != nil}} {
		if p.check && !equalJSON(p.got, p.want) {
			differ(p.what, string(p.got), string(p.want))
		}
	}
	if v.Differences != nil && !slices.Equal(got.Differences, v.Differences) {
		differ("differences", fmt.Sprint(got.Differences), fmt.Sprint(v.Differences))
	}
	return wrong
}

func equalJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return jsonvalue.Equal(Value(a), Value(b))
}

func names(list []Violation) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v.Path + " " + v.Lock
	}
	return "[" + strings.Join(words, ", ") + "]"
}
