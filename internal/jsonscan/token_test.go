package jsonscan

import (
	"strconv"
	"testing"
)

// TestHexRune tries every byte at every place of an escape sequence.
func TestHexRune(t *testing.T) {
	for place := 2; place < 6; place++ {
		for c := range 256 {
			text := []byte(`\u1a2B!`)
			text[place] = byte(c)
			want, err := strconv.ParseUint(string(text[2:6]), 16, 32)
			wantOK := err == nil && text[2] != '+'
			if got, ok := hexRune(text, 0); ok != wantOK || ok && got != rune(want) {
				t.Errorf("%q: %x, %v; want %x, %v", text, got, ok, want, wantOK)
			}
		}
	}
	for _, text := range []string{``, `\u123`, `/u1234`, `\U1234`} {
		if _, ok := hexRune([]byte(text), 0); ok {
			t.Errorf("%q is taken for an escape sequence", text)
		}
	}
}
