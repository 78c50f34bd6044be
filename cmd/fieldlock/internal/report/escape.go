package report

import "strings"

// What comes from outside is printed through one function for each format. Printable is the one of text, and the others
// use it; JSON escapes in WriteJSON.

// markdownText makes text from outside plain text in Markdown: no markup, links, images or HTML. A zero-width space takes
// apart what GitHub links without any markup: addresses, mentions, issues, and names of pictures such as ":tada:".
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

// namesPicture reports whether the text after a colon ends the name of a picture with another colon. In "a.yaml:3:" there
// is none.
func namesPicture(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	name, _, found := strings.Cut(text, ":")
	return found && strings.ContainsAny(name, letters) && strings.Trim(name, letters+"0123456789_+-") == ""
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
	if strings.Trim(text, " ") != "" && (strings.Trim(text, "`") != text || strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ")) {
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
