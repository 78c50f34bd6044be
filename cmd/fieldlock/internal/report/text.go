package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/audit"
)

// textFormat is for people. Its parts are in check_text.go, this file and tree.go.
var textFormat = Format{Name: "text", Check: checkText, Lint: lintText, Locks: locksText}

// lintText prints the findings by CRD. A finding that several versions share is printed once.
func lintText(w io.Writer, r *audit.Report) error {
	p := PaletteFor(w)
	type subject struct{ file, crd string }
	var last subject
	for i := range r.Findings {
		f := &r.Findings[i]
		if slices.ContainsFunc(r.Findings[:i], func(g audit.Finding) bool { return f.Same(&g) }) {
			continue
		}
		if s := (subject{f.File, f.CRD}); s != last {
			fmt.Fprintf(w, "%s %s\n", p.Bold(Printable(f.CRD)), p.Dim("("+Printable(f.File)+")"))
			last = s
		}
		severity := p.Yellow(f.Severity)
		if f.IsError() {
			severity = p.Red(f.Severity)
		}
		fmt.Fprintf(w, "  %s  %s  %s\n      %s\n", p.Bold(Printable(cmp.Or(f.Path, "the whole object"))), severity+" "+f.Rule,
			p.Dim(Printable(linesOf(f, r.Findings[i:]))), Printable(f.Message))
		switch {
		case f.AcceptedNew:
			fmt.Fprintf(w, "      %s\n", p.Yellow("accepted by an entry that this change adds"))
		case f.Accepted:
			fmt.Fprintf(w, "      %s\n", p.Green("accepted"))
		}
		if r.Explained || f.Witness != nil {
			if err := writeDetails(w, f, p); err != nil {
				return err
			}
		}
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(w)
	}
	errs, notes := 0, 0
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.IsError():
			errs++
		case f.IsNote():
			notes++
		}
	}
	mark := p.Green("✓")
	if r.Refused() {
		mark = p.Red("✗")
	}
	counts := Count(errs, "error") + ", " + Count(len(r.Findings)-errs-notes, "warning")
	if notes > 0 {
		counts += ", " + Count(notes, "note")
	}
	fmt.Fprintf(w, "%s %s in %s\n", mark, counts, Count(r.CRDs, "CRD"))
	return nil
}

// linesOf lists the lines of f and of its equals among findings.
func linesOf(f *audit.Finding, findings []audit.Finding) string {
	var lines []string
	for i := range findings {
		switch g := &findings[i]; {
		case !f.Same(g):
		case g.Version == "":
			lines = append(lines, fmt.Sprintf("line %d", g.Line))
		default:
			lines = append(lines, fmt.Sprintf("line %d (%s)", g.Line, g.Version))
		}
	}
	return strings.Join(lines, ", ")
}

// locksText prints a tree for each group, and one line for the CRDs without locks.
func locksText(w io.Writer, l *audit.Locks) error {
	p := PaletteFor(w)
	fields, open, known := 0, 0, false
	groups, unlocked := withLocks(l.Groups)
	for _, g := range groups {
		from := ""
		if g.File != "" {
			from = " " + p.Dim(fmt.Sprintf("(%s, %s)", Printable(g.Name), Printable(g.File)))
		}
		fmt.Fprintf(w, "%s %s%s\n", p.Bold(Printable(g.Kind)), Printable(strings.Join(g.Versions, ", ")), from)
		if len(g.Fields) == 0 {
			fmt.Fprintln(w, "  "+p.Yellow("no locks in this version"))
		}
		treeOf(g.Fields).write(w, "  ", p)
		fmt.Fprintln(w)
		fields += lockedFields(g.Fields) * len(g.Versions)
		for _, f := range g.Fields {
			if len(f.Holes) > 0 {
				open += len(g.Versions)
			}
			known = known || f.CRD != "" // the holes of built-in kinds are not listed
		}
	}
	if len(unlocked) > 0 {
		fmt.Fprintf(w, "%s %s\n\n", p.Dim("no locks:"), Printable(strings.Join(unlocked, ", ")))
	}
	text := Count(fields, "locked field")
	switch {
	case fields == 0 || !known:
	case open == 0:
		text += ", " + p.Green("no hole")
	default:
		text += fmt.Sprintf(", %s with a hole (%s); fieldlock lint says how to close it", p.Yellow(fmt.Sprint(open)), p.Yellow("!"))
	}
	fmt.Fprintln(w, text)
	return nil
}

// lockedFields counts the fields that can be refused; a field of a built-in kind can have several locks.
func lockedFields(fields []audit.Field) int {
	n := 0
	for i, f := range fields {
		if f.Note == "" && !slices.ContainsFunc(fields[:i], func(before audit.Field) bool { return before.Path == f.Path }) {
			n++
		}
	}
	return n
}

// withLocks returns the groups of the kinds that have a lock in some version, and the kinds of the others.
func withLocks(groups []audit.Group) (locked []audit.Group, unlocked []string) {
	type kind struct{ name, kind string }
	has := map[kind]bool{}
	for _, g := range groups {
		has[kind{g.Name, g.Kind}] = has[kind{g.Name, g.Kind}] || len(g.Fields) > 0
	}
	for _, g := range groups {
		if has[kind{g.Name, g.Kind}] {
			locked = append(locked, g)
		} else {
			unlocked = append(unlocked, g.Kind)
		}
	}
	return locked, unlocked
}
