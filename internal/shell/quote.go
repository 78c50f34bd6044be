// Package shell writes words for a POSIX shell.
package shell

import "strings"

// Quote quotes a word where a shell needs that: names come from anywhere, and people copy commands.
func Quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@%+,", r)
	}
	if word != "" && !strings.HasPrefix(word, "-") && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
