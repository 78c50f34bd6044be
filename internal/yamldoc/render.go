package yamldoc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// member writes a new member of a container.
func (w *writer) member(name string, value any, at context) string {
	if at.flow {
		return quote(name) + ": " + flowText(value, at.indent)
	}
	text := scalarText(name) + ":" + w.afterColon(value, at.indent)
	if _, isText := value.(string); isText && w.folds && !strings.Contains(text, w.newline) &&
		!strings.HasSuffix(text, `"`) {
		return w.folded(text, at.indent)
	}
	return text
}

// foldWidth is the column after which generators of CRDs continue a text on the next line.
const foldWidth = 80

// folded breaks a member with a plain or single-quoted text as the generators of CRDs do: at the first single space
// after foldWidth, and again on each line that follows.
func (w *writer) folded(text, indent string) string {
	var b strings.Builder
	column := len(indent)
	for i, r := range text {
		single := r == ' ' && text[i-1] != ' ' && i+2 < len(text) && text[i+1] != ' '
		if single && column > foldWidth {
			b.WriteString(w.newline + indent + "  ")
			column = len(indent) + 2
			continue
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

// item writes a new item of a list.
func (w *writer) item(value any, at context) string {
	if at.flow {
		return flowText(value, at.indent)
	}
	below := at.indent + "  "
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			var members []string
			for _, name := range slices.Sorted(maps.Keys(value)) {
				members = append(members, w.member(name, value[name], context{indent: below}))
			}
			return "- " + strings.Join(members, w.newline+below)
		}
	case []any:
		if len(value) > 0 {
			var items []string
			for _, item := range value {
				items = append(items, w.item(item, context{indent: below}))
			}
			return "- " + strings.Join(items, w.newline+below)
		}
	}
	return "- " + w.scalar(value, at.indent)
}

// afterColon writes what follows the colon of a new member: a scalar on the same line, or lines of its own.
func (w *writer) afterColon(value any, indent string) string {
	text := w.blockText(value, indent)
	if strings.HasPrefix(text, w.newline) {
		return text
	}
	return " " + text
}

// blockText writes a value of a member with the given indentation: a container begins with a line break.
func (w *writer) blockText(value any, indent string) string {
	var b strings.Builder
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			b.WriteString(w.newline + indent + "  " + w.member(name, value[name], context{indent: indent + "  "}))
		}
	case []any:
		if w.deep {
			indent += "  "
		}
		for _, item := range value {
			b.WriteString(w.newline + indent + w.item(item, context{indent: indent}))
		}
	}
	if b.Len() > 0 {
		return b.String()
	}
	return w.scalar(value, indent)
}

// scalar writes a scalar or an empty container in a block: text of several lines as a literal where that has its form.
func (w *writer) scalar(value any, indent string) string {
	text, isText := value.(string)
	if !isText || !isLiteral(text) {
		return scalarText(value)
	}
	header := "|-"
	if strings.HasSuffix(text, "\n") {
		header = "|"
	}
	var b strings.Builder
	b.WriteString(header)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if b.WriteString(w.newline); line != "" {
			b.WriteString(indent + "  " + line)
		}
	}
	return b.String()
}

// isLiteral reports whether a text of several lines reads back from a literal as scalar writes it.
func isLiteral(text string) bool {
	if !strings.Contains(text, "\n") || strings.HasSuffix(text, "\n\n") || text[0] == '\n' || text[0] == ' ' {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasSuffix(line, " ") || strings.ContainsFunc(line, isSpecial) {
			return false
		}
	}
	return true
}

// flowText writes a value as JSON, which is YAML too: on one line, or where the members of its container have lines of
// their own, indented below them.
func flowText(value any, indent string) string {
	unit, separator := "", ", "
	if indent != "" {
		unit = "  "
		if strings.Contains(indent, "\t") {
			unit = "\t"
		}
		separator = ",\n" + indent + unit
	}
	var parts []string
	opening, closing := "{", "}"
	switch value := value.(type) {
	case string:
		return quote(value)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, quote(name)+": "+flowText(value[name], indent+unit))
		}
	case []any:
		opening, closing = "[", "]"
		for _, item := range value {
			parts = append(parts, flowText(item, indent+unit))
		}
	default:
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Sprint(value) // not a number of JSON: the result will not read back
		}
		return string(data)
	}
	text := strings.Join(parts, separator)
	if indent != "" && len(parts) > 0 {
		text = "\n" + indent + unit + text + "\n" + indent
	}
	return opening + text + closing
}

// scalarText writes a scalar or an empty container on one line of a block.
func scalarText(value any) string {
	text, ok := value.(string)
	switch {
	case !ok:
		return flowText(value, "")
	case isPlain(text):
		return text
	case strings.ContainsFunc(text, isSpecial):
		return quote(text)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// isPlain reports whether a text in a block needs no quotes.
func isPlain(text string) bool {
	if text == "" || strings.HasSuffix(text, " ") || strings.HasSuffix(text, ":") || strings.Contains(text, ": ") ||
		strings.Contains(text, " #") {
		return false
	}
	if _, isText := plainOf(text).(string); !isText || text == "<<" {
		return false
	}
	first := rune(text[0])
	if first > unicode.MaxASCII || !unicode.IsLetter(first) && !strings.ContainsRune("_/($.", first) ||
		strings.HasPrefix(text, "...") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return isSpecial(r) || r > unicode.MaxASCII })
}

// isSpecial reports whether YAML has a character in double quotes only, escaped.
func isSpecial(r rune) bool {
	return r < ' ' || 0x7f <= r && r <= 0x9f || r == '\u2028' || r == '\u2029' || r == '\ufeff' ||
		r == unicode.ReplacementChar
}

// quote writes a text in double quotes, as JSON and YAML read it.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case isSpecial(r):
			b.WriteString(`\u` + strings.Repeat("0", 4-len(strconv.FormatInt(int64(r), 16))) +
				strconv.FormatInt(int64(r), 16))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
