package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// githubFormat is workflow commands, which GitHub shows at the lines of a pull request.
var githubFormat = Format{
	Name:  "github",
	Check: func(w io.Writer, r *compare.Report) error { return writeGitHub(w, checkAlerts(r), headline(r, false)) },
	Lint:  func(w io.Writer, r *audit.Report) error { return writeGitHub(w, lintAlerts(r), lintSummary(r, false)) },
}

// writeGitHub prints the commands, and the summary for the log: GitHub shows a few of many annotations only.
func writeGitHub(w io.Writer, alerts []alert, summary string) error {
	for i := range alerts {
		a := &alerts[i]
		command := a.level
		if command == "note" {
			command = "notice"
		}
		var properties []string
		property := func(name, value string) {
			properties = append(properties, name+"="+githubProperty.Replace(Printable(value)))
		}
		if manifest.IsFile(a.at.Filename) {
			property("file", inRepository(a.at.Filename))
			if a.at.Line > 0 {
				property("line", fmt.Sprint(a.at.Line))
			}
			if a.at.Column > 0 {
				property("col", fmt.Sprint(a.at.Column))
			}
		}
		property("title", a.title)
		message := PrintableLines(a.text())
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n",
			command, strings.Join(properties, ","), githubData.Replace(message)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, PrintableLines(summary))
	return err
}
