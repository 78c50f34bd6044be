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
		fmt.Fprint(w, "\n| Object | Field | Change | Why |\n|---|---|---|---|\n")
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		fmt.Fprintf(w, "| %s<br>%s | %s | %s | %s |\n", cell(strings.TrimSpace(v.Kind+" "+v.Object)), codeCell(fmt.Sprintf("%s:%d", v.File, v.Line)),
			cmp.Or(codeCell(v.Path), "the whole object"), changeCell(v), whyCell(v))
	}
	for i := range r.Replacements {
		re := &r.Replacements[i]
		fmt.Fprintf(w, "\n**To get there, %s** (cost: %s): %s\n", cell(strings.TrimSpace(re.Kind+" "+re.Object)), re.Cost, cell(re.Message))
		if len(re.How) > 0 {
			fmt.Fprintln(w)
		}
		for _, how := range re.How {
			switch text, command := WayOut(how); {
			case command == "":
				fmt.Fprintf(w, "- %s\n", cell(text))
			case text == "":
				fmt.Fprintf(w, "- %s\n", codeCell(command))
			default:
				fmt.Fprintf(w, "- %s: %s\n", cell(text), codeCell(command))
			}
		}
	}
	list := func(title string, remarks []compare.Remark) {
		if len(remarks) > 0 {
			fmt.Fprintf(w, "\n**%s**\n\n", title)
		}
		for _, m := range remarks {
			fmt.Fprintf(w, "- %s %s: %s\n", cell(strings.TrimSpace(m.Kind+" "+m.Object)), codeCell(m.Path), cell(m.Message))
		}
	}
	list("Only the cluster can decide", r.Unknown)
	list("Notes", r.Notes)
	for _, e := range r.Errors {
		fmt.Fprintf(w, "\n**Error:** %s\n", cell(e.Text))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "\n**Warning:** %s\n", cell(warning))
	}
	fmt.Fprintf(w, "\n%s\n", cell(summary(r, false)))
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
		lines = append(lines, codeCell(line))
	}
	return strings.Join(lines, "<br>")
}

func whyCell(v *compare.Violation) string {
	text := cell(explain(v))
	switch {
	case v.AcceptedNew:
		text += "<br>**" + cell(acceptance(v)) + "**"
	case v.Accepted:
		text += "<br>" + cell(acceptance(v))
	case v.Replaced:
		text += "<br>not counted: " + replaced
	}
	if v.OnlyOld {
		text += "<br>only OLD has this lock"
	}
	return text
}

// locksMarkdown prints a table for each group with locks.
func locksMarkdown(w io.Writer, l *audit.Locks) error {
	groups, unlocked := withLocks(l.Groups)
	if len(groups) == 0 {
		fmt.Fprintf(w, "No field is locked in %s.\n", cell(strings.Join(unlocked, ", ")))
	}
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "### %s %s\n\n", cell(g.Kind), cell(strings.Join(g.Versions, ", ")))
		if len(g.Fields) == 0 {
			fmt.Fprintln(w, "No field is locked in this version.")
			continue
		}
		last := "Can still change by"
		if g.File == "" {
			last = "Remarks"
		}
		fmt.Fprintf(w, "| Field | Lock | After creation | %s |\n", last)
		fmt.Fprintln(w, "|---|---|---|---|")
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
				holes = append(holes, cell(remark))
			}
			for _, h := range f.Holes {
				holes = append(holes, cell(h.Short))
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", codeCell(f.Path), f.Words(), strings.Join(means, "; "), cmp.Or(strings.Join(holes, "; "), "–"))
		}
	}
	return nil
}

// cell makes text from outside harmless in a table of Markdown: no markup, links, mentions or HTML.
func cell(text string) string { return markdownText.Replace(Printable(text)) }

var markdownText = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "&", "&amp;", "`", "\\`", "[", `\[`, "@", "&#64;")

// codeCell is cell for text that is shown as code.
func codeCell(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("|", `\|`, "`", "'").Replace(Printable(text)) + "`"
}
