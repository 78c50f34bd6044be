package jsonvalue_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

func TestExcerpts(t *testing.T) {
	same := strings.Repeat("a", 20)
	for _, c := range []struct{ name, oldText, newText, wantOld, wantNew string }{
		{"short texts are whole", `"a"`, `"b"`, `"a"`, `"b"`},
		{"as long as the limit", same, same[:19] + "b", same, same[:19] + "b"},
		{"the beginnings differ", "1" + same, "2" + same, "1" + same[:18] + "…", "2" + same[:18] + "…"},
		{"the difference is near the beginning", same[:9] + "1" + same, same[:9] + "2", same[:9] + "1" + same[:9] + "…", same[:9] + "2"},
		{"the difference is further on", same + "1" + same, same + "2" + same, "…aaaaaa1aaaaaaaaaaa…", "…aaaaaa2aaaaaaaaaaa…"},
		{"the difference is near the end", same + `1"`, same + `2"`, `…aaaaaa1"`, `…aaaaaa2"`},
		{"one text goes on", same, same + "bbb", "…aaaaaa", "…aaaaaabbb"},
		{"characters of several bytes", strings.Repeat("ä", 20) + "ö", strings.Repeat("ä", 20) + "ü", "…ääääääö", "…ääääääü"},
		{"characters that share bytes", same + "ä", same + "ö", "…aaaaaaä", "…aaaaaaö"},
		{"escape sequences are whole", strings.Repeat(`\n`, 20) + "1", strings.Repeat(`\n`, 20) + "2", `…\n\n\n1`, `…\n\n\n2`},
		{"sequences of several lengths", same + `\u202e\x1b\U000e0001\"1`, same + `\u202e\x1b\U000e0001\"2`, `…\"1`, `…\"2`},
		{"equal texts", same + "a", same + "a", same[:19] + "…", same[:19] + "…"},
	} {
		gotOld, gotNew := jsonvalue.Excerpts(c.oldText, c.newText, 20)
		if gotOld != c.wantOld || gotNew != c.wantNew {
			t.Errorf("%s: got %s and %s, want %s and %s", c.name, gotOld, gotNew, c.wantOld, c.wantNew)
		}
		if turnedNew, turnedOld := jsonvalue.Excerpts(c.newText, c.oldText, 20); turnedOld != gotOld || turnedNew != gotNew {
			t.Errorf("%s: the other way around %s and %s", c.name, turnedOld, turnedNew)
		}
	}
}

// TestRandomExcerpts: different texts look different, are not too long, and what is shown is in the text.
func TestRandomExcerpts(t *testing.T) {
	random := rand.New(rand.NewPCG(setting.Seed(t), 0))
	const letters = "aab\n\"\\ä世\u202e\U0001f600"
	text := func(n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			runes := []rune(letters)
			b.WriteRune(runes[random.IntN(len(runes))])
		}
		return b.String()
	}
	encoded := func(s string) string {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for range 50_000 {
		start, end := text(60), text(60)
		oldText, newText := encoded(start+text(3)+end), encoded(start+text(3)+text(2)+end)
		const limit = 30
		oldShown, newShown := jsonvalue.Excerpts(oldText, newText, limit)
		if oldText != newText && oldShown == newShown {
			t.Fatalf("%s and %s are both shown as %s", oldText, newText, oldShown)
		}
		for shown, whole := range map[string]string{oldShown: oldText, newShown: newText} {
			if utf8.RuneCountInString(shown) > limit || !utf8.ValidString(shown) || !strings.Contains(whole, strings.Trim(shown, "…")) {
				t.Fatalf("%s is shown as %s", whole, shown)
			}
			if !json.Valid([]byte(`"`+strings.Trim(shown, `…"`)+`"`)) && !strings.Contains(shown, `\"`) {
				t.Fatalf("an escape sequence of %s is cut: %s", whole, shown)
			}
		}
	}
}
