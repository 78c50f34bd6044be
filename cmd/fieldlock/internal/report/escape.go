package report

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Printable makes text from outside harmless in a terminal and in the log of a CI system: control characters and
// invisible ones are escaped, and so is what GitHub, Azure and TeamCity read as a command: a line that begins with
// "::", and "##[" or "##vso[" anywhere in a line.
func Printable(text string) string {
	text = logCommand.ReplaceAllString(strings.ToValidUTF8(text, "\ufffd"), `#\x23$1`)
	if strings.HasPrefix(strings.TrimLeft(text, " "), ":") {
		text = strings.Replace(text, ":", `\x3a`, 1)
	}
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unprintable(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// logCommand finds the beginning of a command that may be anywhere in a line.
var logCommand = regexp.MustCompile(`##([A-Za-z]*\[)`)

// PrintableLines is Printable for each line of a text.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// unprintable reports whether a character acts on a terminal or cannot be seen: a filler and a blank count as letters,
// and a selector of a variant as a mark.
func unprintable(r rune) bool {
	const blank = '\u2800' // of Braille
	return r != ' ' && !strconv.IsPrint(r) || r == blank ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

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

// What comes from outside is printed through one function for each format. Printable is the one of text, and the others
// use it; JSON escapes in WriteJSON.

// markdownText makes text from outside plain text in Markdown: no markup, links, images or HTML. A zero-width space
// takes apart what GitHub links without any markup: addresses, mentions, issues, and names of pictures such as
// ":tada:".
func markdownText(text string) string {
	text = strings.TrimSpace(Printable(text))
	var b strings.Builder
	for i, r := range text {
		before, after := text[:i], text[i+len(string(r)):]
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '@' || r == '#':
			b.WriteRune(r)
			b.WriteString(zeroWidthSpace)
		case r == ':' && (strings.HasPrefix(after, "//") || namesPicture(after)):
			b.WriteRune(r)
			b.WriteString(zeroWidthSpace)
		case r == '.' && hasSuffixFold(before, "www"), r == '-' && hasSuffixFold(before, "gh"):
			b.WriteString(zeroWidthSpace)
			b.WriteRune(r)
		case strings.ContainsRune("\\`*_~[]>$", r), beginsBlock(before, r):
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

const zeroWidthSpace = "&#8203;"

// namesPicture reports whether the text after a colon is the name of a picture and ends with another colon, as in
// ":tada:", or may be one, since a colon can follow the text. "a.yaml:3:" has no such name.
func namesPicture(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	name, _, _ := strings.Cut(text, ":")
	return strings.ContainsAny(name, letters) && strings.Trim(name, letters+"0123456789_+-") == ""
}

// beginsBlock reports whether a character makes the beginning of a text a list or a line: "-", "+", "=", "1." and "1)".
func beginsBlock(before string, r rune) bool {
	switch r {
	case '-', '+', '=':
		return before == ""
	case '.', ')':
		return before != "" && strings.Trim(before, "0123456789") == ""
	}
	return false
}

func hasSuffixFold(text, suffix string) bool {
	return len(text) >= len(suffix) && strings.EqualFold(text[len(text)-len(suffix):], suffix)
}

// markdownCode shows text from outside as code in Markdown.
func markdownCode(text string) string {
	if text == "" {
		return ""
	}
	text = Printable(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	// One space at both ends is not part of the code.
	if strings.Trim(text, " ") != "" &&
		(strings.Trim(text, "`") != text || strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ")) {
		text = " " + text + " "
	}
	return fence + text + fence
}

// markdownRow is a row of a table whose cells are Markdown. Only here a bar needs escaping, in code too.
func markdownRow(cells ...string) string {
	row := "|"
	for _, cell := range cells {
		row += " " + strings.ReplaceAll(cell, "|", `\|`) + " |"
	}
	return row + "\n"
}

// sarifText keeps the text of a SARIF message from having links: a zero-width space takes "[text](address)" apart. A
// backslash would do so too, but not all viewers leave it out again.
func sarifText(text string) string { return strings.ReplaceAll(text, "](", "]\u200b(") }

// Replacements for the characters that end a workflow command of GitHub or its properties.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Palette colours text, or leaves it as it is.
type Palette bool

// Coloured is a writer that takes colours although it is not a terminal.
type Coloured struct{ io.Writer }

// PaletteFor returns colours for a terminal, unless NO_COLOR is set, and for a Coloured writer.
func PaletteFor(w io.Writer) Palette {
	if _, ok := w.(Coloured); ok {
		return true
	}
	return Palette(IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p Palette) paint(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The colours and weights of text.
func (p Palette) Bold(text string) string   { return p.paint("1", text) }
func (p Palette) Dim(text string) string    { return p.paint("2", text) }
func (p Palette) Red(text string) string    { return p.paint("31", text) }
func (p Palette) Green(text string) string  { return p.paint("32", text) }
func (p Palette) Yellow(text string) string { return p.paint("33", text) }

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
