package pointer_test

import (
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

func TestNames(t *testing.T) {
	for _, names := range [][]string{nil, {""}, {"a"}, {"a/b", "c~d"}, {"~1", "/0", "~01"}, {"properties", "", "é"}} {
		text := ""
		for _, name := range names {
			text += "/" + pointer.Escape(name)
		}
		if got := pointer.Names(text); !slices.Equal(got, names) {
			t.Errorf("%q: got %q, want %q", text, got, names)
		}
	}
}
