package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// markdownFormat is for job summaries, comments on pull requests and reference documentation.
var markdownFormat = Format{Name: "markdown", Check: checkMarkdown, Locks: locksMarkdown}

// checkMarkdown prints a table of the violations, the ways out, and what else there is to know.
func checkMarkdown(w io.Writer, r *compare.Report) error {
	fmt.Fprintf(w, "### fieldlock: %s\n", headline(r))
	if len(r.Violations) > 0 {
		fmt.Fprint(w, "\n"+markdownRow("Object", "Field", "Change", "Why")+"|---|---|---|---|\n")
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		object := markdownText(v.Kind+" "+v.Object) + "<br>" + markdownCode(fmt.Sprintf("%s:%d", v.File, v.Line))
		fmt.Fprint(w, markdownRow(object, cmp.Or(markdownCode(v.Path), "the whole object"), changeCell(v), whyCell(v)))
	}
	for i := range r.Replacements {
		re := &r.Replacements[i]
		fmt.Fprintf(w, "\n**To get there, %s** (cost: %s): %s\n", markdownText(re.Kind+" "+re.Object), markdownText(re.Cost), markdownText(re.Message))
		if len(re.How) > 0 {
			fmt.Fprintln(w)
		}
		for _, how := range re.How {
			switch text, command := WayOut(how); {
			case command == "":
				fmt.Fprintf(w, "- %s\n", markdownText(text))
			case text == "":
				fmt.Fprintf(w, "- %s\n", markdownCode(command))
			default:
				fmt.Fprintf(w, "- %s: %s\n", markdownText(text), markdownCode(command))
			}
		}
	}
	list := func(title string, remarks []compare.Remark) {
		if len(remarks) > 0 {
			fmt.Fprintf(w, "\n**%s**\n\n", title)
		}
		for _, m := range remarks {
			fmt.Fprintf(w, "- %s %s: %s\n", markdownText(m.Kind+" "+m.Object), markdownCode(m.Path), markdownText(m.Message))
		}
	}
	list("Only the cluster can decide", r.Unknown)
	list("Notes", r.Notes)
	gone, more := losses(r)
	if len(gone) > 0 {
		fmt.Fprint(w, "\n**What goes away**\n\n")
	}
	for _, d := range gone {
		cost := "cost: " + markdownText(d.Cost)
		if d.Kept {
			cost = "kept"
		}
		fmt.Fprintf(w, "- %s (%s): %s\n", markdownText(d.Kind+" "+d.Object), markdownText(cost), markdownText(d.Message))
	}
	if more > 0 {
		fmt.Fprintf(w, "- and %s\n", Count(more, "more deletion"))
	}
	for _, e := range r.Errors {
		fmt.Fprintf(w, "\n**Error:** %s\n", markdownText(e.Text))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "\n**Warning:** %s\n", markdownText(warning))
	}
	fmt.Fprintf(w, "\n%s\n", markdownText(summary(r, false)))
	return nil
}

func headline(r *compare.Report) string {
	objects, violations, accepted := refusals(r)
	switch {
	case violations > 0:
		return fmt.Sprintf("a cluster will refuse %s (%s)", Count(objects, "object"), Count(violations, "violation"))
	case len(r.Errors) > 0:
		return "some input could not be read"
	case accepted > 0:
		return "every refused change is accepted"
	}
	return "no refused change"
}

func changeCell(v *compare.Violation) string {
	var lines []string
	for _, line := range changes(v, false) {
		lines = append(lines, markdownCode(line))
	}
	return strings.Join(lines, "<br>")
}

func whyCell(v *compare.Violation) string {
	text := markdownText(explain(v))
	switch {
	case v.AcceptedNew:
		text += "<br>**" + markdownText(acceptance(v)) + "**"
	case v.Accepted:
		text += "<br>" + markdownText(acceptance(v))
	case v.Replaced:
		text += "<br>not counted: " + replaced
	}
	if v.OnlyOld && v.Policy == "" {
		text += "<br>only OLD has this lock"
	}
	if v.EnforcedBy != "" {
		text += "<br>" + markdownText("refused by "+v.EnforcedBy+": "+v.Source)
	}
	return text
}

// locksMarkdown prints a table for each group with locks.
func locksMarkdown(w io.Writer, l *audit.Locks) error {
	groups, unlocked := withLocks(l.Groups)
	if len(groups) == 0 {
		fmt.Fprintf(w, "No field is locked in %s.\n", markdownText(strings.Join(unlocked, ", ")))
	}
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "### %s %s\n\n", markdownText(g.Kind), markdownText(strings.Join(g.Versions, ", ")))
		if len(g.Fields) == 0 {
			fmt.Fprintln(w, "No field is locked in this version.")
			continue
		}
		last := "Can still change by"
		if g.File == "" {
			last = "Remarks"
		}
		fmt.Fprint(w, markdownRow("Field", "Lock", "After creation", last)+"|---|---|---|---|\n")
		for _, f := range g.Fields {
			var means, holes []string
			switch {
			case f.Note != "":
				means = append(means, "the change is accepted")
			case f.Unknown != "":
				means = append(means, meanings[alertUnknown])
			default:
				for _, l := range f.Locks {
					means = append(means, meanings[immutability.Lock(l)])
				}
			}
			for _, remark := range f.Remarks() {
				holes = append(holes, markdownText(remark))
			}
			for _, h := range f.Holes {
				holes = append(holes, markdownText(h.Short))
			}
			fmt.Fprint(w, markdownRow(markdownCode(f.Path), markdownText(f.Words()), strings.Join(means, "; "), cmp.Or(strings.Join(holes, "; "), "–")))
		}
	}
	return nil
}
