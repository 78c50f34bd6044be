// Package shell writes words for a POSIX shell.
package shell

import (
	"fmt"
	"strings"
	"unicode"
)

// Quote quotes a word where a shell needs that: names come from anywhere, and people copy commands. The result is one
// line: a word with control characters is written with their codes, as in $'a\012b'.
func Quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("-_./:@%+,", r)
	}
	if word != "" && !strings.HasPrefix(word, "-") &&
		strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	if strings.IndexFunc(word, unicode.IsControl) >= 0 {
		return escaped(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Resolved returns a word, or a placeholder for one with a variable that nothing has replaced, such as ${APP}: no
// object has such a name.
func Resolved(word, placeholder string) string {
	if strings.Contains(word, "${") {
		return placeholder
	}
	return word
}

func escaped(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range word {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsControl(r):
			for _, octet := range []byte(string(r)) {
				fmt.Fprintf(&b, `\%03o`, octet)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
