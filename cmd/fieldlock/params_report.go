package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// paramsReport is what a params command prints. Keys that do not apply are left out.
type paramsReport struct {
	Allowed   bool             `json:"allowed"`
	Errors    []paramsError    `json:"errors,omitempty"`
	Resulting parameter.Values `json:"resulting,omitzero"`
	Restart   *bool            `json:"restart,omitempty"`
	Child     string           `json:"child,omitempty"`
	Rows      []parameter.Row  `json:"rows,omitzero"`

	title  string           // the operation, for the text
	errs   parameter.Errors // what Errors is made from
	plan   *parameter.Plan
	before string // the child before the operation
}

type paramsError struct {
	Parameter string `json:"parameter"`
	Message   string `json:"message"`
}

// refuse records the refusals; none is an allowance.
func (r *paramsReport) refuse(errs parameter.Errors) {
	r.errs = errs
	r.Allowed = len(errs) == 0
	for _, err := range errs {
		r.Errors = append(r.Errors, paramsError{err.Parameter, err.Message})
	}
}

// print writes the report and returns errRefused when it refuses.
func (r *paramsReport) print(out io.Writer, format string) error {
	var err error
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r)
	} else {
		_, err = io.WriteString(out, r.text())
	}
	if err != nil {
		return err
	}
	if !r.Allowed {
		return errRefused
	}
	return nil
}

func (r *paramsReport) text() string {
	var out strings.Builder
	if r.Rows != nil {
		r.writeRows(&out)
		return out.String()
	}
	verdict := "allowed"
	switch {
	case r.plan == nil && r.Allowed:
		verdict = "the definitions are valid"
	case r.plan == nil:
		verdict = "refused"
	case !r.Allowed:
		verdict = "refused, nothing changes"
	}
	fmt.Fprintf(&out, "%s: %s\n", r.title, verdict)
	if r.plan != nil {
		r.writePlan(&out)
	}
	if !r.Allowed {
		out.WriteString("\n")
		for _, message := range r.errs.Messages() {
			fmt.Fprintf(&out, "- %s\n", message)
		}
	}
	return out.String()
}

func (r *paramsReport) writeRows(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "Name\tDefault\tRequired\tImmutable")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%t\t%t\n", row.Name, oneLine(row.Default), row.Required, row.Immutable)
	}
	table.Flush()
}

// writePlan writes the table of changes, what is refused among them, and what follows from them.
func (r *paramsReport) writePlan(out io.Writer) {
	rules := map[string][]string{}
	for _, err := range r.errs {
		if !slices.Contains(rules[err.Parameter], string(err.Rule)) {
			rules[err.Parameter] = append(rules[err.Parameter], string(err.Rule))
		}
	}
	type line struct{ name, before, after, note string }
	var lines []line
	for _, change := range r.plan.Changes {
		l := line{change.Name, shown(change.Old, change.HasOld, change.Hidden), shown(change.New, change.HasNew, change.Hidden), "changes"}
		switch {
		case rules[change.Name] != nil:
			l.note = "refused: " + strings.Join(rules[change.Name], ", ")
		case !r.Allowed:
			l.note = "would change"
		case slices.Contains(r.plan.Restarts, change.Name):
			l.note = "changes, restarts the pods"
		case !change.HasOld:
			l.note = "is set"
		case !change.HasNew:
			l.note = "is removed"
		}
		delete(rules, change.Name)
		lines = append(lines, l)
	}
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
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", l.name, l.before, l.after, l.note)
		}
		table.Flush()
	}
	if r.Restart != nil {
		if *r.Restart {
			fmt.Fprintf(out, "\npods restart, because of %s\n", strings.Join(r.plan.Restarts, ", "))
		} else {
			fmt.Fprintf(out, "\npods do not restart\n")
		}
	}
	for _, child := range r.plan.Children {
		state := presence(child.Present)
		if r.before != "" && r.before != state {
			state = r.before + " → " + state
		}
		why := "it is unconditional"
		if child.Because != "" {
			why = "because of " + child.Because
		}
		fmt.Fprintf(out, "\nchild instance of %s: %s, %s\n", child.Task, state, why)
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
