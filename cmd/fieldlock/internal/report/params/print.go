package params

import (
	"io"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
)

// Print writes the report in the given format, "text" or "json".
func (r *Report) Print(out io.Writer, format string) error {
	if format == "json" {
		return report.WriteJSON(out, r)
	}
	_, err := io.WriteString(out, report.PrintableLines(r.text()))
	return err
}
