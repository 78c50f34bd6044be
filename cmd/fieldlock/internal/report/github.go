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
	Check: func(w io.Writer, r *compare.Report) error { return writeGitHub(w, checkAlerts(r)) },
	Lint:  func(w io.Writer, r *audit.Report) error { return writeGitHub(w, lintAlerts(r)) },
}

func writeGitHub(w io.Writer, alerts []alert) error {
	for _, a := range alerts {
		command := a.level
		if command == "note" {
			command = "notice"
		}
		var properties []string
		property := func(name, value string) {
			properties = append(properties, name+"="+githubProperty.Replace(Printable(value)))
		}
		if manifest.IsFile(a.at.file) {
			property("file", relative(a.at.file))
			if a.at.line > 0 {
				property("line", fmt.Sprint(a.at.line))
			}
			if a.at.column > 0 {
				property("col", fmt.Sprint(a.at.column))
			}
		}
		property("title", a.title)
		message := PrintableLines(a.message)
		if a.accepted != "" {
			message += " (" + a.accepted + ")"
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", command, strings.Join(properties, ","), githubData.Replace(message)); err != nil {
			return err
		}
	}
	return nil
}
