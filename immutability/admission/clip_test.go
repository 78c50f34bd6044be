package admission

import (
	"strings"
	"testing"
)

func TestClip(t *testing.T) {
	for _, row := range []struct {
		name, reason, text string
		limit              int
		want               string
	}{
		{"short", "unchanged", "spec: field is immutable", 100, "spec: field is immutable"},
		{"long", "both ends stay", "spec.class" + strings.Repeat("x", 50) + "-immutable", 25, "spec.class … -immutable"},
		{"runes", "no character is cut in half", "ääääääääää", 11, "ä … ä"},
		{"runes of four bytes", "neither at the end of the head nor at the beginning of the tail", "😀😀😀😀😀😀", 15, "😀 … 😀"},
		{"runes of four bytes, cut after three", "the whole character goes", "abc😀😀😀😀😀xyz", 17, "abc … xyz"},
		{"as long as the limit", "unchanged", "0123456789", 10, "0123456789"},
		{"no UTF-8", "nothing but bytes within characters", strings.Repeat("\x80", 50), 20, " … "},
		{"no room", "the gap alone", strings.Repeat("x", 50), 1, " … "},
	} {
		if got := clip(row.text, row.limit); got != row.want {
			t.Errorf("%s: %q, want %q: %s", row.name, got, row.want, row.reason)
		}
	}
}
