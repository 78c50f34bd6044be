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
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// textFormat is for people. The text of check is a chapter of its own, check_text.go.
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
		if s := (subject{f.Position.Filename, f.CRD}); s != last {
			fmt.Fprintf(w, "%s %s\n", p.Bold(Printable(f.CRD)), p.Dim("("+Printable(f.Position.Filename)+")"))
			last = s
		}
		severity := p.Yellow(string(f.Severity))
		if f.Severity == immutability.SeverityError {
			severity = p.Red(string(f.Severity))
		}
		fmt.Fprintf(w, "  %s  %s  %s\n      %s\n", p.Bold(Printable(cmp.Or(f.Path, "the whole object"))), severity+" "+f.Rule,
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

// lintSummary is the last line of the text. Where some input could not be read, it has no tick.
func lintSummary(r *audit.Report, p Palette) string {
	errs, notes := 0, 0
	for i := range r.Findings {
		switch r.Findings[i].Severity {
		case immutability.SeverityError:
			errs++
		case immutability.SeverityNote:
			notes++
		}
	}
	mark := p.Green("✓") + " "
	switch {
	case r.Refused():
		mark = p.Red("✗") + " "
	case len(r.Errors) > 0:
		mark = ""
	}
	counts := mark + Count(errs, "error") + ", " + Count(len(r.Findings)-errs-notes, "warning")
	if notes > 0 {
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

// writeDetails prints the objects of a finding's witness as one YAML stream, with comments that say what to do with each
// and what refuses the direct way, and the fix; what the finding lacks is left out.
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
		fmt.Fprintf(&b, "# directly from the first to the last is refused: %s\n", strings.ReplaceAll(r.String(), "\n", " "))
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

// Export prints the result of an export for people.
func Export(w io.Writer, r *convert.Export) {
	p := PaletteFor(w)
	for _, lock := range r.Exported {
		fmt.Fprintf(w, "%s %s\n", p.Green("exported"), Printable(fmt.Sprintf("%s %s: %s on %s", lock.CRD, lock.Version, lock.Lock, lock.Path)))
		fmt.Fprintf(w, "         %s\n", Printable(cmp.Or(lock.Rule, "needs no rule: no update can change it")))
	}
	notExported(w, r.Rest)
	fmt.Fprintln(w, exportCounts(r))
	if r.ByPolicy > 0 && len(r.Remaining) == 0 {
		which := fmt.Sprintf("%d of them", r.ByPolicy)
		if r.ByPolicy == len(r.Rest) {
			which = fmt.Sprintf("all %d of them", r.ByPolicy)
			if r.ByPolicy == 1 {
				which = "it"
			}
		}
		fmt.Fprintf(w, "fieldlock export policy takes %s\n", which)
	}
	for _, step := range r.Remaining {
		fmt.Fprintf(w, "%s %s\n", p.Yellow("still to do:"), Printable(step))
	}
}

func notExported(w io.Writer, locks []convert.UnexportedLock) {
	p := PaletteFor(w)
	for _, rest := range locks {
		fmt.Fprintf(w, "%s %s\n", p.Yellow("not exported"), Printable(fmt.Sprintf("%s %s: %s on %s", rest.CRD, rest.Version, rest.Lock, rest.Path)))
		fmt.Fprintf(w, "         %s\n", Printable(rest.Reason))
		if rest.Remedy != "" {
			fmt.Fprintf(w, "         what would help: %s\n", Printable(rest.Remedy))
		}
	}
}

// InPlace is the result of an export into the files themselves.
type InPlace struct {
	UpToDate bool          `json:"upToDate"` // what the files are when the command ends
	Files    []InPlaceFile `json:"files"`
}

// InPlaceFile is one file of CRDs.
type InPlaceFile struct {
	File     string                   `json:"file"`
	Changed  bool                     `json:"changed"` // it is, or would be, another text
	Written  bool                     `json:"written"`
	Exported []convert.ExportedLock   `json:"exported"`
	Rest     []convert.UnexportedLock `json:"notExported"`
	Was, Is  []byte                   `json:"-"`
}

// WriteInPlace prints the files, what would change in those that are out of date, and the locks without a rule. again is the
// command that writes them.
func WriteInPlace(w io.Writer, r *InPlace, again string) {
	p := PaletteFor(w)
	for i := range r.Files {
		f := &r.Files[i]
		name := Printable(f.File)
		switch {
		case !f.Changed:
			fmt.Fprintf(w, "%s %s: up to date\n", p.Green("✓"), name)
		case f.Written:
			fmt.Fprintf(w, "%s %s: written, %s\n", p.Green("✓"), name, exportCounts(&convert.Export{Exported: f.Exported, Rest: f.Rest}))
		default:
			fmt.Fprintf(w, "%s %s: out of date; run %s\n", p.Red("✗"), name, Printable(again))
			lineDiff(w, string(f.Was), string(f.Is))
		}
		notExported(w, f.Rest)
	}
	if len(r.Files) == 0 {
		fmt.Fprintln(w, "no CustomResourceDefinitions")
	}
}

// lineDiff prints the lines that are removed from was and added to is. It looks for the nearest line that goes on in both, which
// is good for a text that was changed in a few places.
func lineDiff(w io.Writer, was, is string) {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
			continue
		}
		removed, added := nextCommon(a[i:], b[j:])
		fmt.Fprintf(w, "@@ line %d @@\n", i+1)
		for _, line := range a[i : i+removed] {
			fmt.Fprintf(w, "-%s\n", Printable(line))
		}
		for _, line := range b[j : j+added] {
			fmt.Fprintf(w, "+%s\n", Printable(line))
		}
		i, j = i+removed, j+added
	}
}

// nextCommon returns how many lines of a and b come before the first ones that both have.
func nextCommon(a, b []string) (int, int) {
	first := map[string]int{}
	for n := 0; n < len(a) || n < len(b); n++ {
		if n < len(a) {
			if _, seen := first["a"+a[n]]; !seen {
				first["a"+a[n]] = n
			}
			if j, ok := first["b"+a[n]]; ok {
				return n, j
			}
		}
		if n < len(b) {
			if _, seen := first["b"+b[n]]; !seen {
				first["b"+b[n]] = n
			}
			if i, ok := first["a"+b[n]]; ok {
				return i, n
			}
		}
	}
	return len(a), len(b)
}

// exportCounts says how many locks were exported, and on how many of the fields that fieldlock locks counts.
func exportCounts(r *convert.Export) string {
	if len(r.Exported)+len(r.Rest) == 0 {
		return "no locks to export; CEL rules are not locks, but fieldlock import cel can turn them into locks"
	}
	type field struct{ crd, version, path string }
	type lock struct {
		field
		name string
	}
	exported, fields, locks := map[field]bool{}, map[field]bool{}, map[lock]bool{} // true if exported
	for _, e := range r.Exported {
		f := field{e.CRD, e.Version, e.Path}
		exported[f], fields[f], locks[lock{f, e.Lock}] = true, true, true
	}
	for _, rest := range r.Rest {
		f := field{rest.CRD, rest.Version, rest.Path}
		delete(exported, f)
		fields[f], locks[lock{f, rest.Lock}] = true, false
	}
	done := 0
	for _, isExported := range locks {
		if isExported {
			done++
		}
	}
	return fmt.Sprintf("%d of %s exported, on %d of %s", done, Count(len(locks), "lock"), len(exported), Count(len(fields), "locked field"))
}

// Import prints the result of an import for people.
func Import(w io.Writer, r *convert.Import) {
	p := PaletteFor(w)
	messages := 0
	for i := range r.Recognized {
		rule := &r.Recognized[i]
		fmt.Fprintf(w, "%s %s: %s\n", p.Green("lock"), whereRule(rule), Shorten(quoted(rule.Rule)))
		fmt.Fprintf(w, "     %s\n", becomes(rule))
		if rule.Rest != "" {
			fmt.Fprintf(w, "     what stays judges new values only: %s\n", Shorten(quoted(rule.Rest)))
		}
		if rule.Message != "" {
			messages++
			fmt.Fprintf(w, "     dropped message: %s\n", Shorten(quoted(rule.Message)))
		}
	}
	for i := range r.Left {
		rule := &r.Left[i]
		fmt.Fprintf(w, "%s %s: %s\n", p.Yellow("left"), whereRule(rule), Shorten(quoted(rule.Rule)))
		fmt.Fprintf(w, "     %s\n", Printable(rule.Reason))
		if rule.Liftable {
			fmt.Fprintln(w, "     after fieldlock lint --fix, which closes ways around it, it would become a lock")
		}
	}
	all := len(r.Recognized) + len(r.Left)
	if all == 0 {
		fmt.Fprintln(w, "no transition rules to import")
		return
	}
	fmt.Fprintf(w, "%d of %s became locks\n", len(r.Recognized), Count(all, "transition rule"))
	if messages > 0 {
		fmt.Fprintf(w, "%s dropped: a lock has its own text, and export cel writes that\n", Count(messages, "custom message"))
	}
}

func whereRule(r *convert.ImportedRule) string {
	path := r.Path
	if path == "" {
		path = "the root"
	}
	return Printable(fmt.Sprintf("%s %s %s", r.CRD, r.Version, path))
}

// becomes lists the locks of a rule, and what covers the rest.
func becomes(r *convert.ImportedRule) string {
	var locks []string
	for _, lock := range r.Locks {
		text := lock.Lock + " on " + lock.Path
		if lock.Normalize != "" {
			text += " (with x-kubernetes-normalize: " + lock.Normalize + ")"
		}
		locks = append(locks, text)
	}
	text := strings.Join(locks, ", ")
	if text != "" && r.Reason != "" {
		text += "; "
	}
	return Printable(text + r.Reason)
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	var b strings.Builder
	if err := WriteJSON(&b, text); err != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}
