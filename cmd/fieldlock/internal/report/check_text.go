package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

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
	for _, edit := range edits(objects) {
		writeEdit(w, edit, limit, p)
		fmt.Fprintln(w)
	}
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
	for _, line := range NotCovered(slices.DeleteFunc(slices.Clone(r.NotCovered), func(n result.NotCovered) bool { return !n.Changed || !n.Accepted })) {
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
	writeWays(w, waysToKeep(g, limit), p)
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

// namedObjects is how many of the objects that one line refuses are named.
const namedObjects = 5

// writeEdit prints what one edit refuses: a block, or several of different kinds, which are indented below a line that
// counts them.
func writeEdit(w io.Writer, edit []*refusedObject, limit int, p Palette) {
	if len(edit) == 1 {
		writeObject(w, edit[0], limit, p)
		return
	}
	all := &block{}
	var blocks bytes.Buffer
	for _, o := range edit {
		all.subjects = append(all.subjects, o.block().subjects...)
		fmt.Fprintln(&blocks)
		writeObject(&blocks, o, limit, p)
	}
	first := &edit[0].violations[0]
	fmt.Fprintf(w, "%s %s %s\n", markOf(edit, p), p.Bold(all.title()), p.Dim("("+lineText(&first.Subject, first.Line)+")"))
	for line := range strings.Lines(blocks.String()) {
		if line != "\n" {
			line = "  " + line
		}
		io.WriteString(w, line)
	}
}

// markOf returns the mark of blocks: red if one of them has a violation that counts.
func markOf(blocks []*refusedObject, p Palette) string {
	for _, o := range blocks {
		if slices.ContainsFunc(o.violations, result.Violation.Refused) {
			return p.Red("✗")
		}
	}
	return p.Green("✓")
}

// writeObject prints the violations of one object, or of the objects that one line refuses, and what replacing it
// takes.
func writeObject(w io.Writer, o *refusedObject, limit int, p Palette) {
	violations := o.violations
	first := &violations[0]
	mark := markOf([]*refusedObject{o}, p)
	moved := ""
	if first.Moved {
		moved = fmt.Sprintf("; in OLD %s:%d", Printable(first.OldFile), first.OldLine)
	}
	line := first.ObjectLine
	if first.Unit != "" { // the file is the one of the change, which the object may not be in
		line = first.Line
	}
	place := placeText(&first.Subject, line)
	if len(o.others) > 0 {
		place = fmt.Sprintf("%s:%d", Printable(first.File), first.Line)
	}
	fmt.Fprintf(w, "%s %s %s\n", mark, p.Bold(Printable(o.title())), p.Dim("("+place+moved+")"))
	if len(o.others) > 0 {
		fmt.Fprintf(w, "  %s\n", o.names(limit))
	}
	switch also := o.alsoIn(); {
	case len(o.others) > 0:
		if units := o.block().inUnits(limit); units != "" {
			fmt.Fprintf(w, "  %s\n", p.Dim(units))
		}
	case len(also) > 0:
		fmt.Fprintf(w, "  %s\n", p.Dim("the same in "+strings.Join(also, ", ")))
	}
	for i := range violations {
		writeViolation(w, &violations[i], first.File, p)
	}
	if o.differ() {
		fmt.Fprintf(w, "      %s\n", p.Dim("these are the values of "+Printable(first.Object)+"; the others differ"))
	}
	if re := o.replacement; re != nil && len(re.How) > 0 {
		writeReplacement(w, re, o.ways(limit), p)
	}
}

// writeViolation prints a violation below its object, whose header names a file.
func writeViolation(w io.Writer, v *result.Violation, file string, p Palette) {
	item := ""
	if v.Item != "" {
		item = " (" + Printable(v.Item) + ")"
	}
	path := v.Path
	if path == "" {
		path = "the whole object"
	}
	place := ""
	switch {
	case v.File != file:
		place = fmt.Sprintf("%s:%d: ", Printable(v.File), v.Line)
	case v.Line > 0:
		place = fmt.Sprintf("line %d: ", v.Line)
	}
	fmt.Fprintf(w, "  %s%s  %s\n", p.Bold(Printable(path)), item, p.Dim(place+explain(v)))
	for _, line := range changes(v, p) {
		fmt.Fprintf(w, "      %s\n", line)
	}
	if v.OnlyOld && v.Policy == "" { // the message of a policy says so
		fmt.Fprintf(w, "      %s\n", p.Yellow("only OLD has this lock: the change drops it and breaks it at once"))
	}
	switch {
	case v.AcceptedNew:
		fmt.Fprintf(w, "      %s\n", p.Yellow(Printable(acceptance(v))))
	case v.Replaced:
		fmt.Fprintf(w, "      %s\n", p.Yellow("not counted: "+replaced))
	case v.Accepted:
		fmt.Fprintf(w, "      %s\n", p.Green(Printable(acceptance(v))))
	}
	if evidence := v.Evidence(); evidence != "" {
		fmt.Fprintf(w, "      %s\n", p.Dim(Printable(evidence)))
	}
	if v.Owners != "" {
		fmt.Fprintf(w, "      %s\n", p.Dim(Printable(v.Owners)))
	}
}

// explain says why the change is refused: with the message of the CEL rules that equal the lock, otherwise by what the
// lock means. It adds the version of the lock when the two sides have different ones.
func explain(v *result.Violation) string {
	text := v.Lock
	if meaning, ok := meanings[immutability.Lock(v.Lock)]; ok && v.Lock != string(immutability.LockImmutable) {
		text = meaning + " (" + v.Lock + ")"
	}
	switch {
	case v.Says != "" && v.LockFile != "" && v.Reason == "":
		text = Printable(v.Says)
		if v.Version != "" {
			text += " (in " + Printable(v.Version) + ")"
		}
		return text
	case v.Reason != "":
		text = Printable(v.Reason)
	case v.LockFile == "" && v.Message != "" || v.Lock == "rule":
		text = Printable(v.Message)
	}
	if v.Version != "" {
		text += " in " + Printable(v.Version)
	}
	return text
}

// writeReplacement prints the ways out.
func writeReplacement(w io.Writer, r *result.Replacement, ways waysOut, p Palette) {
	cost := string(r.Cost)
	if r.Cost == result.CostData || r.Cost == result.CostCascade {
		cost = p.Red(cost)
	}
	asked := ""
	if r.Requested {
		asked = "; " + replaced
	}
	if r.RequestedNew {
		asked += p.Yellow(", and the change itself adds the request")
	}
	fmt.Fprintf(w, "\n  %s%s\n", replacementHead(r, cost, Printable), asked)
	writeWays(w, ways, p)
}

// replacementHead says what a replacement costs, before the ways out. escape makes the texts harmless.
func replacementHead(r *result.Replacement, cost string, escape func(string) string) string {
	if r.Must {
		return fmt.Sprintf("to apply this change, the %s must be replaced (cost: %s): %s", escape(r.Kind), cost, escape(r.Message))
	}
	return fmt.Sprintf("%s (cost of a replacement: %s)", escape(r.Message), cost)
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
	accepted            int // violations that somebody has accepted
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

// arrow shows two values as JSON texts, nil for an absent one.
func arrow(oldVal, newVal []byte, p Palette) string {
	text := func(v []byte) string {
		if v == nil {
			return "absent"
		}
		return Printable(string(v))
	}
	oldText, newText := jsonvalue.Excerpts(text(oldVal), text(newVal), shownValue)
	return p.Red(oldText) + " → " + p.Green(newText)
}

// changes are the lines that show what changed.
func changes(v *result.Violation, p Palette) []string {
	switch {
	case v.Redacted:
		return []string{"the values are not shown"}
	case v.Key != nil && v.Reason == "":
		return []string{p.Red("- " + Shorten(string(v.Key)))}
	case v.Key != nil:
		return []string{"key " + Shorten(string(v.Key))}
	case len(v.Differences) == 0 && v.Old == nil && v.New == nil:
		return nil
	case len(v.Differences) == 0:
		return []string{arrow(v.Old, v.New, p)}
	}
	var lines []string
	for i, d := range v.Differences {
		if i == shownDifferences {
			break
		}
		name := strings.TrimPrefix(strings.TrimPrefix(d.Path, v.Path), ".")
		if name != "" {
			name = Printable(name) + "  "
		}
		change := arrow(d.Old, d.New, p)
		switch {
		case d.Old == nil:
			change = p.Green("+ " + Shorten(string(d.New)))
		case d.New == nil:
			change = p.Red("- " + Shorten(string(d.Old)))
		}
		lines = append(lines, name+change)
	}
	if more := len(v.Differences) - len(lines) + v.MoreDifferences; more > 0 {
		lines = append(lines, "and "+Count(more, "more difference"))
	}
	return lines
}

// acceptance says why a violation does not count.
func acceptance(v *result.Violation) string {
	text := "accepted: "
	if v.AcceptedNew {
		text = "accepted by an entry that this change adds: "
	}
	return text + v.AcceptedReason
}

// replaced is why a violation does not count whose object is replaced.
const replaced = "the object asks its tool to replace it"

// The limit of the differences that text shows below one violation.
const shownDifferences = 10

// tree is a node of a tree of locked fields: a step of their paths.
type tree struct {
	label    string
	fields   []*audit.Field // several locks of a built-in kind can be on one field
	children []*tree
}

// treeOf arranges fields, sorted by path, as a tree.
func treeOf(fields []audit.Field) *tree {
	root := &tree{}
	for i := range fields {
		at := root
		path := cmp.Or(fields[i].Path, "the whole object")
		for _, label := range strings.Split(strings.ReplaceAll(path, "[*]", ".[*]"), ".") {
			next := slices.IndexFunc(at.children, func(c *tree) bool { return c.label == label })
			if next < 0 {
				at.children = append(at.children, &tree{label: label})
				next = len(at.children) - 1
			}
			at = at.children[next]
		}
		at.fields = append(at.fields, &fields[i])
	}
	return root
}

// write prints the children of t; a node with one child and no lock shares its line.
func (t *tree) write(w io.Writer, indent string, p Palette) {
	width := 0
	for i, c := range t.children {
		t.children[i] = c.joined()
		width = max(width, len(t.children[i].label))
	}
	for _, c := range t.children {
		if len(c.fields) == 0 {
			fmt.Fprintln(w, indent+Printable(c.label))
			c.write(w, indent+"  ", p)
			continue
		}
		for i, field := range c.fields {
			label := p.Bold(Printable(c.label)) + strings.Repeat(" ", width-len(c.label))
			if i > 0 {
				label = strings.Repeat(" ", width)
			}
			fmt.Fprintf(w, "%s%s  %s\n", indent, label, p.Green(field.Words()))
			for _, remark := range field.Remarks() {
				fmt.Fprintf(w, "%s%s  %s\n", indent, strings.Repeat(" ", width), p.Dim(Printable(remark)))
			}
			for _, hole := range field.Holes {
				fmt.Fprintf(w, "%s%s  %s\n", indent, strings.Repeat(" ", width), p.Yellow("! "+Printable(hole.Short)))
			}
		}
		c.write(w, indent+"  ", p)
	}
}

// joined follows a chain of single children down to the next lock or fork.
func (t *tree) joined() *tree {
	for len(t.fields) == 0 && len(t.children) == 1 {
		c := t.children[0]
		label := t.label + "." + c.label
		if c.label == "[*]" {
			label = t.label + c.label
		}
		t = &tree{label: label, fields: c.fields, children: c.children}
	}
	return t
}
