package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
)

var jsonFormat = Format{
	Name:  "json",
	Check: func(w io.Writer, r *compare.Report) error { return WriteJSON(w, r) },
	Lint:  func(w io.Writer, r *audit.Report) error { return WriteJSON(w, r) },
	Locks: func(w io.Writer, r *audit.Locks) error { return WriteJSON(w, r) },
}

// WriteJSON prints v as indented JSON. What a terminal or the log of a CI system would act on is escaped in strings, as
// Printable does, so that the values stay the same.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	// Outside of strings JSON has neither "##[" nor characters that are not printable, except new lines.
	text := bytes.ReplaceAll(b.Bytes(), []byte("##["), []byte(`#\u0023[`))
	harmful := func(r rune) bool { return r != '\n' && r != ' ' && !strconv.IsPrint(r) }
	if bytes.ContainsFunc(text, harmful) {
		var escaped bytes.Buffer
		for _, r := range string(text) {
			switch {
			case !harmful(r):
				escaped.WriteRune(r)
			case r > 0xffff:
				r -= 0x10000
				fmt.Fprintf(&escaped, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			default:
				fmt.Fprintf(&escaped, `\u%04x`, r)
			}
		}
		text = escaped.Bytes()
	}
	_, err := w.Write(text)
	return err
}
