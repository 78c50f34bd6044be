// Package params prints what the params commands find out, as text and as JSON.
package params

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// Report is what a params command prints. Keys that do not apply are left out.
type Report struct {
	Allowed   bool              `json:"allowed"`
	Errors    []Error           `json:"errors,omitempty"`
	Resulting parameter.Values  `json:"resulting,omitzero"`
	Restart   *bool             `json:"restart,omitempty"`
	Child     string            `json:"child,omitempty"`    // where there is one task
	Children  map[string]string `json:"children,omitempty"` // where there are several, by task
	Unchecked []heat.Unchecked  `json:"unchecked,omitempty"`
	Rows      []parameter.Row   `json:"rows,omitzero"`

	operation string // for the text
	refusals  parameter.Refusals
	decision  *parameter.Decision // nil where nothing is decided
	restarts  []string
	children  []Child
}

// Error is one refusal.
type Error struct {
	Parameter string `json:"parameter"`
	Message   string `json:"message"`
}

// Child is a child instance as the text shows it.
type Child struct {
	kudo.Child
	Before  string // "present", "absent" or "" where it is not known
	Dropped bool   // the new version has no task for it any more
}

// Definitions reports on definitions alone.
func Definitions(operation string, refusals parameter.Refusals) *Report {
	report := &Report{operation: operation, refusals: refusals, Allowed: len(refusals) == 0}
	for _, refusal := range refusals {
		report.Errors = append(report.Errors, Error{refusal.Parameter, refusal.Message})
	}
	return report
}

// Decision reports on an operation.
func Decision(operation string, d parameter.Decision) *Report {
	report := Definitions(operation, d.Refusals)
	report.decision = &d
	if report.Allowed {
		report.Resulting = d.Resulting
	}
	return report
}

// SetRestarts adds whether pods restart, and the parameters that restart them, to the report of an allowed operation.
func (r *Report) SetRestarts(names []string) {
	if !r.Allowed {
		return
	}
	restart := len(names) > 0
	r.Restart, r.restarts = &restart, names
}

// SetChildren adds the child instances to the report of an allowed operation.
func (r *Report) SetChildren(children []Child) {
	if !r.Allowed {
		return
	}
	r.children = children
	states := map[string]string{}
	for _, child := range children {
		if !child.Dropped {
			r.Child = Presence(child.Present)
			states[child.Task] = r.Child
		}
	}
	if len(states) > 1 {
		r.Child, r.Children = "", states
	}
}

// Presence returns the word for the state of a child instance.
func Presence(present bool) string {
	if present {
		return "present"
	}
	return "absent"
}

// Print writes the report in the given format, "text" or "json".
func (r *Report) Print(out io.Writer, format string) error {
	if format == "json" {
		return report.WriteJSON(out, r)
	}
	_, err := io.WriteString(out, report.PrintableLines(r.text()))
	return err
}

func (r *Report) text() string {
	var out strings.Builder
	if r.Rows != nil {
		r.writeRows(&out)
		r.writeRefusals(&out)
		return out.String()
	}
	verdict := "allowed"
	switch {
	case r.decision == nil && r.Allowed:
		verdict = "the definitions are valid"
	case r.decision == nil:
		verdict = "refused"
	case !r.Allowed:
		verdict = "refused, nothing changes"
	}
	if r.Allowed && len(r.Unchecked) > 0 {
		verdict += ", as far as fieldlock can check"
	}
	fmt.Fprintf(&out, "%s: %s\n", r.operation, verdict)
	if r.decision != nil {
		r.writeChanges(&out)
	}
	if r.Restart != nil {
		if *r.Restart {
			fmt.Fprintf(&out, "\npods restart, because of %s\n", names(r.restarts))
		} else {
			out.WriteString("\npods do not restart\n")
		}
	}
	r.writeChildren(&out)
	r.writeRefusals(&out)
	if len(r.Unchecked) > 0 {
		out.WriteString("\n")
	}
	for _, unchecked := range r.Unchecked {
		fmt.Fprintf(&out, "- only Heat can check %q of %s\n",
			oneLine(unchecked.Constraint), oneLine(unchecked.Parameter))
	}
	return out.String()
}

func (r *Report) writeRows(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "Name\tDefault\tRequired\tImmutable")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%t\t%t\n", oneLine(row.Name), oneLine(row.Default), row.Required, row.Immutable)
	}
	table.Flush()
}

func (r *Report) writeRefusals(out io.Writer) {
	if len(r.refusals) > 0 {
		fmt.Fprintln(out)
	}
	written := map[string]bool{}
	for _, refusal := range r.refusals {
		if !written[refusal.Message] {
			fmt.Fprintf(out, "- %s\n", refusal.Message)
		}
		written[refusal.Message] = true
	}
}

// writeChanges writes the table of changes, with the refused ones.
func (r *Report) writeChanges(out io.Writer) {
	rules := map[string][]string{}
	for _, refusal := range r.refusals {
		if !slices.Contains(rules[refusal.Parameter], string(refusal.Rule)) {
			rules[refusal.Parameter] = append(rules[refusal.Parameter], string(refusal.Rule))
		}
	}
	type line struct{ name, before, after, note string }
	var lines []line
	for _, change := range r.decision.Changes {
		l := line{change.Name, shown(change.Old, change.HasOld, change.Hidden),
			shown(change.New, change.HasNew, change.Hidden), "changes"}
		switch {
		case rules[change.Name] != nil:
			l.note = "refused: " + strings.Join(rules[change.Name], ", ")
		case !r.Allowed:
			l.note = "would change"
		case slices.Contains(r.restarts, change.Name):
			l.note = "changes, restarts the pods"
		case !change.HasOld:
			l.note = "is set"
		case !change.HasNew:
			l.note = "is removed"
		}
		delete(rules, change.Name)
		lines = append(lines, l)
	}
	delete(rules, "") // the list of refusals says what it is
	for name, broken := range rules {
		lines = append(lines, line{name, "", "", "refused: " + strings.Join(broken, ", ")})
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.name, b.name) })

	fmt.Fprintln(out)
	if len(lines) == 0 {
		fmt.Fprintln(out, "no value changes")
	} else {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "Parameter\tOld\tNew\tPlan")
		for _, l := range lines {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", oneLine(l.name), l.before, l.after, l.note)
		}
		table.Flush()
	}
}

func (r *Report) writeChildren(out io.Writer) {
	for _, child := range r.children {
		if child.Dropped {
			fmt.Fprintf(out, "\nchild instance of %s: stays as it is; the new version has no task for it, and "+
				"nothing uninstalls it\n", oneLine(child.Task))
			continue
		}
		state := Presence(child.Present)
		if child.Before != "" && child.Before != state {
			state = child.Before + " → " + state
		}
		why := "it is unconditional"
		if child.Because != "" {
			why = "because of " + oneLine(child.Because)
		}
		fmt.Fprintf(out, "\nchild instance of %s: %s, %s\n", oneLine(child.Task), state, why)
	}
}

// shown returns a value for the table.
func shown(v parameter.Value, ok, hidden bool) string {
	switch {
	case !ok:
		return "-"
	case hidden:
		return "******"
	case v.Text == "" || v.Text == "-":
		return strconv.Quote(v.Text)
	}
	return oneLine(v.Text)
}

// names lists names in one line.
func names(list []string) string {
	out := make([]string, len(list))
	for i, name := range list {
		out[i] = oneLine(name)
	}
	return strings.Join(out, ", ")
}

// oneLine quotes a text that would break the table and shortens a long one.
func oneLine(text string) string {
	if strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}
