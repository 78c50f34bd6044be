package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// markdownFormat is for job summaries, comments on pull requests and reference documentation.
var markdownFormat = Format{Name: "markdown", Check: checkMarkdown, Locks: locksMarkdown}

// checkMarkdown prints a table of the violations, the ways out, and what else there is to know, within the limit of a
// comment on GitHub. Long parts are folded. What does not fit is counted.
func checkMarkdown(w io.Writer, r *compare.Report) error {
	m := &markdownPage{}
	m.add("### fieldlock: %s\n", markdownText(verdictLine(r)))
	objects := refusedObjects(r)
	var rows, ways []string
	for i := range objects {
		o := objects[i]
		for j := range o.violations {
			v := &o.violations[j]
			rows = append(rows, markdownRow(objectCell(o, v), cmp.Or(markdownCode(v.Path), "the whole object"),
				changeCell(v), whyCell(v)))
		}
		if o.replacement != nil && len(o.replacement.How) > 0 {
			ways = append(ways, waysMarkdown(o))
		}
	}
	head := markdownRow("Object", "Field", "Change", "Why") + "|---|---|---|---|\n"
	m.section("", head, "refusal", rows, 15, 40_000)
	m.section("", "", "replacement", ways, 3, 52_000)
	m.section("**What goes away**", "", "deletion", goneRows(r), 21, 54_000)
	m.section("**Only the cluster can decide**", "", "unknown verdict", remarkRows(r.Unknown), 10, 56_000)
	m.section("**Not checked**", "", "file or unit", notCoveredRows(r), 10, 57_000)
	m.section("**Notes**", "", "note", remarkRows(r.Notes), 5, 58_000)
	var errs, warnings []string
	for _, e := range r.Errors {
		errs = append(errs, "**Error:** "+markdownText(e.Text)+"\n\n")
	}
	for _, warning := range r.Warnings {
		warnings = append(warnings, "**Warning:** "+markdownText(warning)+"\n\n")
	}
	m.section("", "", "error", errs, 10, 62_000)
	m.section("", "", "warning", warnings, 5, 63_000)
	if text := markdownText(headline(r, false)); len(m.text)+len(text) < maxMarkdown {
		m.add("\n%s\n", text)
	}
	_, err := w.Write(m.text)
	return err
}

// maxMarkdown is how many bytes the Markdown of a check has at most. GitHub takes 65,536 characters in a comment.
const maxMarkdown = 65_000

// markdownPage is a text of limited length.
type markdownPage struct{ text []byte }

func (m *markdownPage) add(format string, args ...any) { m.text = fmt.Appendf(m.text, format, args...) }

// section adds rows below a title and the head of a table; either can be "". It shows the first rows and folds the
// others. Rows that would make the page longer than limit are left out and counted.
func (m *markdownPage) section(title, head, noun string, rows []string, shown, limit int) {
	if len(rows) == 0 {
		return
	}
	m.add("\n")
	if title != "" {
		m.add("%s\n\n", title)
	}
	left := 0
	add := func(rows []string) {
		m.add("%s", head)
		for _, row := range rows {
			if len(m.text)+len(row) > limit {
				left++
				continue
			}
			m.add("%s", row)
		}
		m.text = append(bytes.TrimRight(m.text, "\n"), '\n')
	}
	add(rows[:min(shown, len(rows))])
	if len(rows) > shown {
		m.add("\n<details><summary>%s</summary>\n\n", Count(len(rows)-shown, "more "+noun))
		add(rows[shown:])
		m.add("\n</details>\n")
	}
	if left > 0 {
		m.add("\nToo long for this page: %s. `-o text` prints everything.\n", Count(left, noun))
	}
}

// objectCell names an object, or the objects that one line refuses, and all places that have it.
func objectCell(o *refusedObject, v *result.Violation) string {
	const shown = 3
	place := func(v *result.Violation) string {
		text := markdownCode(fmt.Sprintf("%s:%d", v.File, v.Line))
		if v.Unit != "" && len(o.others) == 0 {
			text += " in " + markdownCode(v.Unit)
		}
		return text
	}
	cell := markdownText(o.title())
	if len(o.others) > 0 {
		cell += ": " + markdownText(o.names(namedObjects))
	}
	cell += "<br>" + place(v)
	for i, also := range o.also {
		if i == shown && len(o.also) > shown+1 {
			cell += fmt.Sprintf("<details><summary>and %d more</summary>", len(o.also)-shown)
		} else {
			cell += "<br>"
		}
		cell += place(&also.violations[0])
	}
	if len(o.also) > shown+1 {
		cell += "</details>"
	}
	return cell
}

// waysMarkdown lists the ways out, after what replacing the object costs.
func waysMarkdown(o *refusedObject) string {
	re := o.replacement
	head := replacementHead(re, markdownText(string(re.Cost)), markdownText)
	return fmt.Sprintf("**Ways out for %s**: %s\n\n%s\n",
		markdownText(re.Kind+" "+re.Object), head, listsMarkdown(o.ways(namedObjects), ""))
}

func remarkRows(remarks []result.Remark) []string {
	var rows []string
	for _, g := range remarkGroups(remarks) {
		row := "- " + markdownText(g.title())
		if g.first().Path != "" {
			row += " " + markdownCode(g.first().Path)
		}
		rows = append(rows, row+": "+markdownText(g.first().Message)+objectsText(g.block)+"\n")
	}
	return rows
}

// objectsText names the objects of a block, their places and their units, in brackets.
func objectsText(b *block) string {
	texts := []string{b.names(namedObjects), b.places(), b.inUnits(namedObjects)}
	return " (" + markdownText(joinTexts(texts...)) + ")"
}

// notCoveredRows lists what changed and is not covered, one row for each reason.
func notCoveredRows(r *compare.Report) []string {
	var rows []string
	for _, line := range NotCovered(slices.DeleteFunc(slices.Clone(r.NotCovered),
		func(n result.NotCovered) bool { return !n.Changed })) {
		rows = append(rows, "- "+markdownText(line)+"\n")
	}
	return rows
}

// goneRows lists the deletions that cost something.
func goneRows(r *compare.Report) []string {
	var rows []string
	for _, g := range losses(r) {
		mark := ""
		if g.first().Loses() {
			mark = "⚠️ "
		}
		text := deletionText(g.first(), markdownText(string(g.first().Cost)), markdownText)
		row := fmt.Sprintf("- %s%s: %s%s\n", mark, markdownText(g.title()), text, objectsText(g.block))
		rows = append(rows, row+listsMarkdown(waysToKeep(g, namedObjects), "  "))
	}
	return rows
}

func changeCell(v *result.Violation) string {
	var lines []string
	for _, line := range changes(v, false) {
		lines = append(lines, markdownCode(line))
	}
	return strings.Join(lines, "<br>")
}

func whyCell(v *result.Violation) string {
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
	if evidence := v.Evidence(); evidence != "" {
		text += "<br>" + markdownText(evidence)
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
			fmt.Fprint(w, markdownRow(markdownCode(f.Path), markdownText(f.Words()), strings.Join(means, "; "),
				cmp.Or(strings.Join(holes, "; "), "–")))
		}
	}
	return nil
}
