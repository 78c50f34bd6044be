package report

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// alert is one result as code review tools take it.
type alert struct {
	rule    string
	level   string // error, warning or note
	title   string
	message string
	field   string         // "Cluster shop/orders: spec.engine"
	at      token.Position // without a file it is unknown, without a line the whole file
	lock    token.Position // where the lock is, when that is another place
	// accepted is the reason why the alert does not count; "" for most.
	accepted string
}

// IDs of alerts that are not violations or findings.
const (
	alertUnknown    = "unknown-verdict"
	alertNote       = "no-effect"
	alertUnreadable = "unreadable-input"
)

// checkAlerts makes alerts of a check, each at the line of the offending field.
func checkAlerts(r *compare.Report) []alert {
	var alerts []alert
	for i := range r.Violations {
		v := &r.Violations[i]
		object := strings.TrimSpace(v.Kind + " " + v.Object)
		path := cmp.Or(v.Path, "the whole object")
		title := "locked field: " + path
		if v.Lock == compare.LockDeletion {
			title = "refused deletion"
		}
		message := fmt.Sprintf("%s: %s: %s", object, path, v.Message)
		if (v.Old != nil || v.New != nil) && v.Key == nil && len(v.Differences) == 0 && v.Reason == "" {
			message += ": " + arrow(v.Old, v.New, false)
		}
		if v.EnforcedBy != "" {
			message += "; refused by " + v.EnforcedBy + " (" + v.Source + ")"
		}
		a := alert{
			rule: v.Lock, level: "error", title: title, message: message,
			field: object + ": " + path, at: placeOf(&v.Subject), lock: token.Position{Filename: v.LockFile, Line: v.LockLine},
		}
		switch {
		case v.AcceptedNew:
			a.level, a.accepted = "warning", acceptance(v)
		case v.Accepted:
			a.level, a.accepted = "note", acceptance(v)
		case v.Replaced:
			a.level, a.accepted = "warning", "not counted: "+replaced
		}
		alerts = append(alerts, a)
	}
	remark := func(rule, level, title string, m *compare.Remark) {
		field := strings.TrimSpace(m.Kind + " " + m.Object)
		if m.Path != "" {
			field += ": " + m.Path
		}
		alerts = append(alerts, alert{
			rule: rule, level: level, title: title, message: field + ": " + m.Message, field: field, at: placeOf(&m.Subject),
		})
	}
	for i := range r.Unknown {
		remark(alertUnknown, "warning", "unknown verdict", &r.Unknown[i])
	}
	for i := range r.Notes {
		remark(alertNote, "note", "note", &r.Notes[i])
	}
	for _, e := range r.Errors {
		alerts = append(alerts, alert{
			rule: alertUnreadable, level: "error", title: "unreadable input", message: e.Text, at: token.Position{Filename: e.File, Line: e.Line},
		})
	}
	return alerts
}

// lintAlerts makes alerts of findings, each at the line of its schema node.
func lintAlerts(r *audit.Report) []alert {
	alerts := make([]alert, len(r.Findings))
	for i, f := range r.Findings {
		subject := f.CRD
		if f.Version != "" {
			subject += ", version " + f.Version
		}
		if f.Path != "" {
			subject += ": " + f.Path
		}
		alerts[i] = alert{
			rule: f.Rule, level: string(f.Severity), title: f.Rule, message: subject + ": " + f.Message, field: subject, at: f.Position,
		}
	}
	return alerts
}

// placeOf returns where a field is.
func placeOf(s *compare.Subject) token.Position {
	return token.Position{Filename: s.File, Line: s.Line, Column: s.Column}
}

// relative returns file as seen from the working directory, when it is below it.
func relative(file string) string {
	if !filepath.IsAbs(file) {
		return filepath.ToSlash(filepath.Clean(file))
	}
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(file)
}

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
		if manifest.IsFile(a.at.Filename) {
			property("file", relative(a.at.Filename))
			if a.at.Line > 0 {
				property("line", fmt.Sprint(a.at.Line))
			}
			if a.at.Column > 0 {
				property("col", fmt.Sprint(a.at.Column))
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
