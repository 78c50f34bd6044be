package report

import (
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Printable makes text from outside harmless in a terminal and in the log of a CI system: control characters and
// invisible ones are escaped, and so is what GitHub and Azure read as a command: a line that begins with "::", and "##["
// anywhere in a line.
func Printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "##[", `#\x23[`)
	if strings.HasPrefix(strings.TrimLeft(text, " "), ":") {
		text = strings.Replace(text, ":", `\x3a`, 1)
	}
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unprintable(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// PrintableLines is Printable for each line of a text.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func unprintable(r rune) bool { return r != ' ' && !strconv.IsPrint(r) }

// shownValue is how many characters of a value are printed in a line.
const shownValue = 72

// Shorten makes the JSON text of a value printable, and cuts it where it is long.
func Shorten(text string) string {
	return jsonvalue.Excerpt(Printable(text), 0, shownValue)
}

// Count prints a number with its noun: "1 object", "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey") {
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
