package shell

import "testing"

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"a-b_c.d/e:f@g%h+i,j": "a-b_c.d/e:f@g%h+i,j", "": "''", "-f": "'-f'", "a b": "'a b'", "a'b": `'a'\''b'`, "$(x)": "'$(x)'", "a;b": "'a;b'", "ä": "'ä'", "~": "'~'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
