package witness

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// matching returns at most limit strings that a pattern matches, the shortest first, with at least minLength characters
// where repetitions in the pattern allow that. Nil for a pattern that does not compile.
func matching(pattern string, minLength, limit int) []string {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	var found []string
	seen := map[string]bool{}
	for _, repeats := range []int{0, 1, 2, 3, 8, minLength, minLength/2 + 1} {
		for choice := range 4 {
			w := patternWriter{repeats: repeats, choice: choice}
			w.write(tree)
			text := w.b.String()
			if !seen[text] && len([]rune(text)) >= minLength && compiled.MatchString(text) {
				seen[text] = true
				if found = append(found, text); len(found) == limit {
					return found
				}
			}
		}
	}
	return found
}

// patternWriter writes one string that a pattern matches. repeats is how often an unbounded repetition is written
// beyond its minimum, choice which alternatives and characters are taken.
type patternWriter struct {
	b               strings.Builder
	repeats, choice int
}

func (w *patternWriter) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		w.b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		w.b.WriteRune(w.character(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.b.WriteByte("abcd"[w.choice%4])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(re.Sub[w.choice%len(re.Sub)])
	case syntax.OpStar:
		w.times(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		w.times(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		w.times(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		w.times(re.Sub[0], re.Min, re.Max)
	}
}

// longest bounds the strings that are written, as repetitions can be nested.
const longest = 2000

func (w *patternWriter) times(re *syntax.Regexp, least, most int) {
	n := least + w.repeats
	if most >= 0 {
		n = min(n, most)
	}
	for i := 0; i < n && w.b.Len() < longest; i++ {
		w.write(re)
	}
}

// character picks a readable character of a class.
func (w *patternWriter) character(ranges []rune) rune {
	const readable = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_. /:@"
	skip := w.choice
	first := rune(-1)
	for _, c := range readable {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				if first < 0 {
					first = c
				}
				if skip == 0 {
					return c
				}
				skip--
			}
		}
	}
	if first >= 0 {
		return first
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for c := ranges[i]; c <= ranges[i+1]; c++ {
			if unicode.IsPrint(c) {
				return c
			}
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'a'
}
