package params

import (
	"encoding/json"
	"io"
)

// Print writes the report in the given format, "text" or "json".
func (r *Report) Print(out io.Writer, format string) error {
	if format != "json" {
		_, err := io.WriteString(out, r.text())
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
