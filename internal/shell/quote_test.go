package shell

import "testing"

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"a-b_c.d/e:f@g%h+i,j": "a-b_c.d/e:f@g%h+i,j", "": "''", "-f": "'-f'", "a b": "'a b'", "a'b": `'a'\''b'`, "$(x)": "'$(x)'", "a;b": "'a;b'", "ä": "'ä'", "~": "'~'",
		"a\nb": `$'a\012b'`, "a'\\\tb": `$'a\'\\\011b'`, "\x7f": `$'\177'`, "\u0085": `$'\302\205'`,
		// The first and the last of each range of plain characters, and their neighbours.
		"azAZ09": "azAZ09", "`": "'`'", "{": "'{'", "[": "'['", "a/b:": "a/b:", "=": "'='",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}

func TestResolved(t *testing.T) {
	for word, want := range map[string]string{"web": "web", "": "", "$(x)": "$(x)", "${APP}": "NAME", "a-${APP:=web}-b": "NAME"} {
		if got := Resolved(word, "NAME"); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
