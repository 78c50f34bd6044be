package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// The output format text of check. It arranges what package compare found: the sentences of verdicts come from there, or
// from the data of kinds.

// checkText prints the headline, the refused objects with the ways out, then what is unknown, notes, deletions and what
// is not covered, and the headline again. A report without details is one line.
func checkText(w io.Writer, r *compare.Report) error {
	p := PaletteFor(w)
	line := headline(r, p)
	var details bytes.Buffer
	writeCheck(&details, r, p)
	if details.Len() > 0 {
		fmt.Fprintln(w, line)
		fmt.Fprintln(w)
		w.Write(details.Bytes())
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// writeCheck prints what stands between the headlines, and ends it with an empty line.
func writeCheck(w io.Writer, r *compare.Report, p Palette) {
	objects, limit := refusedObjects(r), namedObjects
	if r.ListAll {
		limit = math.MaxInt
	}
	writeRefusals(w, edits(objects), limit, p)
	for _, u := range remarkGroups(r.Unknown) {
		writeRemark(w, p.Yellow("?"), u, limit, p)
	}
	for _, n := range remarkGroups(r.Notes) {
		writeRemark(w, p.Dim("i"), n, limit, p)
	}
	gone := losses(r)
	for i := range gone {
		writeDeletion(w, gone[i], limit, p)
	}
	missed := NotCovered(r.Uncovered())
	for _, line := range missed {
		fmt.Fprintf(w, "%s %s\n", p.Yellow("?"), line)
	}
	for _, line := range NotCovered(slices.DeleteFunc(slices.Clone(r.NotCovered),
		func(n result.NotCovered) bool { return !n.Changed || !n.Accepted })) {
		fmt.Fprintf(w, "%s %s\n", p.Dim("i"), line)
	}
	if len(r.Unknown)+len(r.Notes)+len(gone)+len(missed) > 0 {
		fmt.Fprintln(w)
	}
}

// writeDeletion prints what deletions lose, and the ways to keep the objects.
func writeDeletion(w io.Writer, g group[result.Deletion], limit int, p Palette) {
	d := g.first()
	mark, cost := p.Dim("-"), Printable(string(d.Cost))
	switch {
	case d.Loses():
		mark, cost = p.Red("!"), p.Red(cost)
	case !d.Kept:
		mark = p.Yellow("-")
	}
	fmt.Fprintf(w, "%s %s %s\n", mark, Printable(g.title()), p.Dim("("+g.places()+")"))
	writeObjects(w, g.block, limit, p)
	fmt.Fprintf(w, "    %s\n", deletionText(d, cost, Printable))
	ways := waysToKeep(g, limit)
	for i := range ways {
		writeWays(w, &ways[i], p)
	}
}

// writeObjects prints the names of the objects of a block and the units that have them, where there are several.
func writeObjects(w io.Writer, b *block, limit int, p Palette) {
	if names := b.names(limit); names != "" {
		fmt.Fprintf(w, "    %s\n", names)
	}
	if units := b.inUnits(limit); units != "" {
		fmt.Fprintf(w, "    %s\n", p.Dim(units))
	}
}

// deletionText says what becomes of an object that NEW no longer has, and what that means. escape makes the texts
// harmless.
func deletionText(d *result.Deletion, cost string, escape func(string) string) string {
	means, byHand := strings.CutPrefix(d.Message, compare.IfDeleted)
	switch {
	case d.Kept:
		return "kept: " + escape(means)
	case byHand:
		return fmt.Sprintf("if you delete it (cost: %s): %s", cost, escape(means))
	}
	return fmt.Sprintf("deleted (cost: %s): %s", cost, escape(means))
}

func writeRemark(w io.Writer, mark string, g group[result.Remark], limit int, p Palette) {
	path := ""
	if g.first().Path != "" {
		path = " " + p.Bold(Printable(g.first().Path))
	}
	fmt.Fprintf(w, "%s %s%s %s\n", mark, Printable(g.title()), path, p.Dim("("+g.places()+")"))
	writeObjects(w, g.block, limit, p)
	fmt.Fprintf(w, "    %s\n", Printable(g.first().Message))
}

// counts are the numbers of a summary.
type counts struct {
	objects, violations int // that are refused
	accepted            int // accepted violations
	requested           int // objects that ask their tool to replace them
}

func refusals(r *compare.Report) counts {
	n := counts{violations: r.MoreViolations}
	var refused, requested *result.Violation
	for i := range r.Violations {
		switch v := &r.Violations[i]; {
		case v.Accepted:
			n.accepted++
		case v.Replaced:
			if requested == nil || !v.Same(requested.Subject) {
				n.requested++
			}
			requested = v
		default:
			if n.violations++; refused == nil || !v.Same(refused.Subject) {
				n.objects++
			}
			refused = v
		}
	}
	return n
}
