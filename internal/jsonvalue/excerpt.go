package jsonvalue

import (
	"strings"
	"unicode/utf8"
)

// Excerpts returns two texts as a line shows them: cut to limit characters where they are longer. If the beginnings are
// the same for so long that the cut texts would look alike, both are cut before the first difference too, at the same
// place. The texts are JSON: no escape sequence is cut. Cost: linear in the texts.
func Excerpts(oldText, newText string, limit int) (oldShown, newShown string) {
	from := 0
	if utf8.RuneCountInString(oldText) > limit || utf8.RuneCountInString(newText) > limit {
		from = excerptStart(oldText, newText, limit)
	}
	return Excerpt(oldText, from, limit), Excerpt(newText, from, limit)
}

// Excerpt returns at most limit characters of a JSON text from an offset on, with an ellipsis where something is cut.
func Excerpt(text string, from, limit int) string {
	lead, rest := "", text[from:]
	if from > 0 {
		lead, limit = "…", limit-1
	}
	if utf8.RuneCountInString(rest) <= limit {
		return lead + rest
	}
	end := 0
	for shown := 0; ; {
		next, characters := step(rest, end)
		if shown += characters; shown >= limit {
			return lead + rest[:end] + "…"
		}
		end = next
	}
}

// excerptStart returns where the shown part of two texts begins: some characters before the first difference, or 0 if the
// difference is near enough to the beginning to be shown with it.
func excerptStart(oldText, newText string, limit int) int {
	same, before := 0, 0 // bytes and characters that both texts begin with
	for same < len(oldText) {
		next, characters := step(oldText, same)
		if !strings.HasPrefix(newText[same:], oldText[same:next]) {
			break
		}
		same, before = next, before+characters
	}
	if before < limit/2 || same == len(oldText) && same == len(newText) {
		return 0
	}
	from := 0
	for before > limit/3 {
		next, characters := step(oldText, from)
		from, before = next, before-characters
	}
	return from
}

// step returns the end of the character or escape sequence at an offset, and of how many characters it is written.
func step(text string, at int) (end, characters int) {
	if text[at] != '\\' || at+1 == len(text) {
		_, size := utf8.DecodeRuneInString(text[at:])
		return at + size, 1
	}
	size := 0
	switch text[at+1] {
	case 'x':
		size = 4
	case 'u':
		size = 6
	case 'U':
		size = 10
	default:
		_, size = utf8.DecodeRuneInString(text[at+1:])
		return at + 1 + size, 2
	}
	size = min(size, len(text)-at)
	return at + size, utf8.RuneCountInString(text[at : at+size])
}
