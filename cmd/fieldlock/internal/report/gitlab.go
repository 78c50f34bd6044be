package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// gitlabFormat is a code quality report of GitLab, which merge requests show beside the lines of their changes.
var gitlabFormat = Format{
	Name:  "gitlab",
	Check: func(w io.Writer, r *compare.Report) error { return writeGitLab(w, checkAlerts(r)) },
	Lint:  func(w io.Writer, r *audit.Report) error { return writeGitLab(w, lintAlerts(r)) },
}

type (
	gitlabIssue struct {
		Description string         `json:"description"`
		CheckName   string         `json:"check_name"`
		Fingerprint string         `json:"fingerprint"`
		Severity    string         `json:"severity"`
		Location    gitlabLocation `json:"location"`
	}
	gitlabLocation struct {
		Path  string      `json:"path"`
		Lines gitlabLines `json:"lines"`
	}
	gitlabLines struct {
		Begin int `json:"begin"`
	}
)

// severities are the levels of alerts as GitLab names them.
var severities = map[string]string{"error": "critical", "warning": "minor", "note": "info"}

// writeGitLab prints alerts as a code quality report: a list of issues, [] for none.
func writeGitLab(w io.Writer, alerts []alert) error {
	issues := make([]gitlabIssue, len(alerts))
	seen := map[string]int{}
	for i := range alerts {
		a := &alerts[i]
		at := a.place()
		issues[i] = gitlabIssue{
			Description: a.text(), CheckName: a.rule, Severity: severities[a.level],
			Location: gitlabLocation{inRepository(at.Filename), gitlabLines{at.Line}},
		}
		issues[i].Fingerprint = a.fingerprint(seen)
	}
	return WriteJSON(w, issues)
}

// fingerprint returns an ID that the alert keeps from one run to the next. It depends on the subject and the place, and
// leaves out the line and the values. seen counts the alerts with equal IDs so far.
func (a *alert) fingerprint(seen map[string]int) string {
	about := a.field
	if about == "" {
		about = a.message
	}
	key := fmt.Sprintf("%q", []string{a.rule, inRepository(a.place().Filename), about})
	seen[key]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, seen[key]))
	return hex.EncodeToString(sum[:16])
}
