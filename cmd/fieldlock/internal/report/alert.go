// Package report prints what the command finds, in one file per format: text, json, github, gitlab, junit,
// sarif, markdown.
//
// A format is a value of type Format, listed in Formats. All that comes from outside, such as names of files and
// objects, map keys, values and errors, goes through Printable before it reaches a terminal or a log.
package report

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
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
	fails    bool     // the run fails for it
	head     string   // what replacing the object costs; "" for most
	how      []remedy // the ways out of the objects that the alert is about

	object string   // the name of the object
	cause  string   // equal for alerts that say the same of several objects
	more   []string // the names of the other objects with the same cause
	beside []*alert // the alerts of other causes for the same line
}

// about is the message with the reason why it does not count.
func (a *alert) about() string {
	text := a.message
	if len(a.more) > 0 {
		does := "concerns"
		if a.fails {
			does = "refuses"
		}
		text += fmt.Sprintf("; the same line %s %s: %s",
			does, Count(len(a.more), "more object"), firstOf(a.more, namedObjects))
	}
	if a.accepted != "" {
		text += " (" + a.accepted + ")"
	}
	return text
}

// text is the message with the reason why it does not count, and the ways out; then the same for each other cause.
func (a *alert) text() string {
	lines := append([]string{a.about()}, a.ways()...)
	printed := [][]string{a.ways()}
	for _, other := range a.beside {
		lines = append(lines, other.about())
		ways := other.ways()
		if !slices.ContainsFunc(printed, func(p []string) bool { return slices.Equal(p, ways) }) { // other fields of one object have the same
			lines, printed = append(lines, ways...), append(printed, ways)
		}
	}
	return strings.Join(lines, "\n")
}

// ways lists the ways out, after what they cost.
func (a *alert) ways() []string {
	var lines []string
	for _, ways := range waysOf(a.how, namedObjects) {
		lines = append(lines, ways.bullets()...)
	}
	if a.head != "" && lines != nil {
		lines = append([]string{a.head}, lines...)
	}
	return lines
}

// place returns where code review tools show the alert: at its line, at the first line where it is about the whole
// file, and for what no file has, such as standard input, at the first line of the settings in the root of the
// repository.
func (a *alert) place() token.Position {
	at := a.at
	if !manifest.IsFile(at.Filename) {
		at = token.Position{Filename: manifest.AcceptFile}
	}
	at.Line = max(at.Line, 1)
	return at
}

// where names the file and line of the alert for people; "" for none.
func (a *alert) where() string {
	switch {
	case a.at.Filename == "":
		return ""
	case a.at.Line == 0:
		return relative(a.at.Filename)
	}
	return fmt.Sprintf("%s:%d", relative(a.at.Filename), a.at.Line)
}

// IDs of alerts that are not violations or findings.
const (
	alertUnknown    = "unknown-verdict"
	alertNote       = "no-effect"
	alertUnreadable = "unreadable-input"

	alertNotCovered    = "not-covered"
	alertUncheckedKind = "unchecked-kind"
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
		why := v.Message
		if v.Says != "" && v.LockFile != "" && v.Reason == "" {
			why = v.Says
		}
		message := fmt.Sprintf("%s: %s: %s", object, path, why)
		switch {
		case v.Key.OK || v.Reason != "" || v.LockFile != "" && len(v.Differences) > 0: // the message has what changed
		case len(v.Differences) > 0:
			message += ": " + compare.Enumerate(changes(v, false))
		case v.Old.OK || v.New.OK:
			message += ": " + arrow(v.Old, v.New, false)
		}
		if evidence := v.Evidence(); evidence != "" {
			message += "; " + evidence
		}
		a := alert{
			rule: v.Lock, level: "error", title: title, message: message,
			field: object + ": " + path, at: placeOf(&v.Subject),
			lock:  token.Position{Filename: v.LockFile, Line: v.LockLine},
			fails: v.Refused(), object: v.Object,
			cause: fmt.Sprintf("%q", []string{v.Kind, v.Path, v.Rule, v.Policy, v.Key.String()}),
		}
		a.addWays(r, &v.Subject)
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
	remark := func(rule, level, title string, m *result.Remark) {
		field := strings.TrimSpace(m.Kind + " " + m.Object)
		if m.Path != "" {
			field += ": " + m.Path
		}
		alerts = append(alerts, alert{
			rule: rule, level: level, title: title, message: field + ": " + m.Message, field: field,
			at: placeOf(&m.Subject), fails: level == "error",
			object: m.Object, cause: fmt.Sprintf("%q", []string{m.Kind, m.Path, m.Message}),
		})
	}
	gap := "warning" // the level of what is not checked
	if r.Strict {
		gap = "error"
	}
	for i := range r.Unknown {
		remark(alertUnknown, gap, "unknown verdict", &r.Unknown[i])
	}
	for _, n := range r.NotCovered {
		if !n.Changed {
			continue
		}
		a := alert{
			rule: alertNotCovered, level: gap, title: "not checked",
			message: fmt.Sprintf("%s %s changed and was not checked: %s", n.Kind, n.Unit, n.Reason),
			field:   n.Kind + " " + n.Unit, at: token.Position{Filename: n.File, Line: n.Line}, fails: r.Strict,
			object: n.Unit, cause: fmt.Sprintf("%q", []string{n.Kind, n.Reason}),
		}
		if n.Accepted {
			a.level, a.fails, a.accepted = "note", false, "accepted: "+n.AcceptedReason
		}
		if n.AcceptedNew {
			a.level, a.accepted = "warning", "accepted by an entry that this change adds: "+n.AcceptedReason
		}
		alerts = append(alerts, a)
	}
	alerts = append(alerts, lostAlerts(r)...)
	skipped, unchecked := r.UncheckedChanges()
	kinds := func(list []result.KindCount, why string) {
		for _, k := range list {
			alerts = append(alerts, alert{
				rule: alertUncheckedKind, level: gap, title: "unchecked kind",
				field: k.Kind + " of " + k.APIVersion, fails: r.Strict,
				message: fmt.Sprintf("%s of %s: %s changed and could not be checked: %s",
					k.Kind, k.APIVersion, Count(k.Objects, "object"), why),
			})
		}
	}
	kinds(skipped, "no schema covers the kind; give its CRD with --schema")
	kinds(unchecked, "its operator may refuse changes for which no rules are known")
	for i := range r.Notes {
		remark(alertNote, "note", "note", &r.Notes[i])
	}
	for _, e := range r.Errors {
		alerts = append(alerts, alert{
			rule: alertUnreadable, level: "error", title: "unreadable input", message: e.Text,
			at:    token.Position{Filename: e.File, Line: e.Line},
			fails: true,
		})
	}
	return byLine(alerts)
}

// byLine makes one alert of those that one line has for the same lock: of several objects, also of different kinds.
func byLine(alerts []alert) []alert {
	var list []*alert
	lines := map[string]*alert{}
	for i := range alerts {
		a := &alerts[i]
		line := fmt.Sprintf("%q %d %t", []string{a.rule, a.level, a.accepted, a.at.Filename}, a.at.Line, a.fails)
		first := lines[line]
		if first == nil || a.cause == "" || a.at.Line == 0 || !manifest.IsFile(a.at.Filename) {
			lines[line], list = a, append(list, a)
			continue
		}
		first.join(a)
	}
	merged := make([]alert, len(list))
	for i, a := range list {
		merged[i] = *a
	}
	return merged
}

// join adds another alert of the same line. One with the same cause is merged; one with another cause is kept beside
// it.
func (a *alert) join(other *alert) {
	for _, known := range append([]*alert{a}, a.beside...) {
		if known.cause != other.cause {
			continue
		}
		if other.object != known.object && !slices.Contains(known.more, other.object) {
			known.more = append(known.more, other.object)
		}
		known.how = append(known.how, other.how...)
		return
	}
	a.beside = append(a.beside, other)
}

// lostAlerts warns about the deletions that lose data or other objects, unless they are refused and so have an alert.
func lostAlerts(r *compare.Report) []alert {
	var alerts []alert
	for _, d := range r.Lost() {
		if d.Refused {
			continue
		}
		object := d.Kind + " " + d.Object
		alerts = append(alerts, alert{
			rule: compare.LockDeletion, level: "warning", title: "lost " + string(d.Cost),
			message: object + ": " + deletionText(&d, string(d.Cost), verbatim),
			field:   object, at: placeOf(&d.Subject), how: []remedy{{&d.Subject, d.How}}, object: d.Object,
			cause: fmt.Sprintf("%q", []string{d.Kind, d.Message}),
		})
	}
	return alerts
}

// lintAlerts makes alerts of findings, each at the line of its schema node.
func lintAlerts(r *audit.Report) []alert {
	alerts := make([]alert, len(r.Findings))
	for i := range r.Findings {
		f := &r.Findings[i]
		subject := f.CRD
		if f.Version != "" {
			subject += ", version " + f.Version
		}
		if f.Path != "" {
			subject += ": " + f.Path
		}
		alerts[i] = alert{
			rule: f.Rule, level: string(f.Severity), title: f.Rule, message: subject + ": " + f.Message,
			field: subject, at: f.Position,
			fails: r.Fails(f),
		}
		switch a := &alerts[i]; {
		case f.AcceptedNew:
			a.level, a.accepted = "warning", "accepted by an entry that this change adds"
		case f.Accepted:
			a.level, a.accepted = "note", "accepted"
		}
	}
	for _, e := range r.Errors {
		alerts = append(alerts, alert{rule: alertUnreadable, level: "error", title: "unreadable input",
			message: e, fails: true})
	}
	return alerts
}

// addWays adds what it costs to replace the object, and the ways out; nothing for an object that is not refused.
func (a *alert) addWays(r *compare.Report, s *result.Subject) {
	for i := range r.Replacements {
		if re := &r.Replacements[i]; re.Same(*s) && len(re.How) > 0 {
			head := replacementHead(re, string(re.Cost), verbatim)
			a.head, a.how = strings.ToUpper(head[:1])+head[1:], []remedy{{&re.Subject, re.How}}
			return
		}
	}
}
