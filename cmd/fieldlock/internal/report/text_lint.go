package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// textFormat is for people. The text of check is a chapter of its own, text_check.go.
var textFormat = Format{Name: "text", Check: checkText, Lint: lintText, Locks: locksText}

// lintText prints the findings by CRD. A finding that several versions share is printed once.
func lintText(w io.Writer, r *audit.Report) error {
	p := PaletteFor(w)
	type subject struct{ file, crd string }
	var last subject
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.SameAsOneOf(r.Findings[:i]) {
			continue
		}
		if s := (subject{f.Position.Filename, f.CRD}); s != last {
			fmt.Fprintf(w, "%s %s\n", p.Bold(Printable(f.CRD)), p.Dim("("+Printable(f.Position.Filename)+")"))
			last = s
		}
		severity := p.Yellow(string(f.Severity))
		if f.Severity == immutability.SeverityError {
			severity = p.Red(string(f.Severity))
		}
		fmt.Fprintf(w, "  %s  %s  %s\n      %s\n",
			p.Bold(Printable(cmp.Or(f.Path, "the whole object"))), severity+" "+f.Rule,
			p.Dim(Printable(linesOf(f, r.Findings[i:]))), Printable(f.Message))
		if at := goPlaces(f, r.Findings[i:], func(g *audit.Finding) *audit.GoPlace { return g.Go }); at != "" {
			fmt.Fprintf(w, "      %s\n", p.Dim(Printable("in Go: "+at)))
		}
		if f.Fix != nil && !r.Explained {
			for _, marker := range f.Fix.Markers {
				fmt.Fprintf(w, "      %s\n", p.Dim(Printable(markersOn(f, r.Findings[i:])+": "+marker)))
			}
		}
		switch {
		case f.AcceptedNew:
			fmt.Fprintf(w, "      %s\n", p.Yellow("accepted by an entry that this change adds"))
		case f.Accepted:
			fmt.Fprintf(w, "      %s\n", p.Green("accepted"))
		}
		if r.Explained || f.Witness != nil {
			if err := writeDetails(w, f, r.Findings[i:], p); err != nil {
				return err
			}
		}
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, lintSummary(r, p))
	return nil
}

// lintSummary is the last line of the text, which counts what is printed. Where some input could not be read, it has no
// tick.
func lintSummary(r *audit.Report, p Palette) string {
	count := map[immutability.Severity]int{}
	for i := range r.Findings {
		if f := &r.Findings[i]; !f.SameAsOneOf(r.Findings[:i]) {
			count[f.Severity]++
		}
	}
	mark := p.Green("✓") + " "
	switch {
	case r.Refused():
		mark = p.Red("✗") + " "
	case len(r.Errors) > 0:
		mark = ""
	}
	counts := mark + Count(count[immutability.SeverityError], "error") + ", " +
		Count(count[immutability.SeverityWarning], "warning")
	if notes := count[immutability.SeverityNote]; notes > 0 {
		counts += ", " + Count(notes, "note")
	}
	return counts + " in " + Count(r.CRDs, "CRD")
}

// linesOf lists the lines of f and of its equals among findings.
func linesOf(f *audit.Finding, findings []audit.Finding) string {
	var lines []string
	for i := range findings {
		switch g := &findings[i]; {
		case !f.Same(g):
		case g.Version == "":
			lines = append(lines, fmt.Sprintf("line %d", g.Position.Line))
		default:
			lines = append(lines, fmt.Sprintf("line %d (%s)", g.Position.Line, g.Version))
		}
	}
	return strings.Join(lines, ", ")
}

// goPlaces lists the places in Go of f and of its equals among findings.
func goPlaces(f *audit.Finding, findings []audit.Finding, of func(*audit.Finding) *audit.GoPlace) string {
	var places []string
	for i := range findings {
		g := &findings[i]
		if at := of(g); at != nil && f.Same(g) {
			places = append(places, fmt.Sprintf("%s:%d (%s)", at.File, at.Line, at.Name))
		}
	}
	return strings.Join(slices.Compact(places), ", ")
}

// markersOn says where the markers of a fix belong.
func markersOn(f *audit.Finding, findings []audit.Finding) string {
	text := "in Go, on " + f.MarkersOn()
	if at := goPlaces(f, findings, func(g *audit.Finding) *audit.GoPlace { return g.MarkersAt }); at != "" {
		text += ", " + at
	}
	return text
}

// writeDetails prints the objects of a finding's witness as one YAML stream, with comments that say what to do with
// each and what refuses the direct way, and the fix; what the finding lacks is left out.
func writeDetails(w io.Writer, f *audit.Finding, findings []audit.Finding, p Palette) error {
	var b strings.Builder
	shown := f.Witness
	if shown == nil {
		shown = &witness.Witness{}
	}
	last := len(shown.Objects) - 1
	for i, obj := range shown.Objects {
		text, err := yaml.Marshal(obj)
		if err != nil {
			return err
		}
		switch i {
		case 0:
			b.WriteString("# create this\n")
		case last:
			b.WriteString("---\n# then update it to this\n")
		default:
			b.WriteString("---\n# update it to this\n")
		}
		b.Write(text)
	}
	for _, r := range shown.Refused {
		fmt.Fprintf(&b, "# directly from the first to the last is refused: %s\n",
			strings.ReplaceAll(r.String(), "\n", " "))
	}
	if f.Fix != nil {
		b.WriteString("# fix:\n" + f.Fix.Text)
		if len(f.Fix.Markers) > 0 {
			fmt.Fprintf(&b, "# %s:\n%s\n", markersOn(f, findings), strings.Join(f.Fix.Markers, "\n"))
		}
		if f.Fix.Refuses != "" {
			fmt.Fprintf(&b, "# with the fix the API server refuses %s\n", f.Fix.Refuses)
		}
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, "        "+p.Dim(Printable(strings.TrimSuffix(line, "\n"))))
	}
	return nil
}
