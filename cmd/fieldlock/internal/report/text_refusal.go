package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// What one edit refuses is a block: the objects, the locks with the values, and the ways out, of each kind of object and
// of each tool its own:
//
//	✗ 2 Deployments, 1 StatefulSet (base/kustomization.yaml:5)
//	  Deployment shop/web, StatefulSet shop/db, Deployment shop/api
//	  spec.selector  line 5: Invalid value: field is immutable
//	      matchLabels.team  "blue" → "green"
//
//	  to apply this change, the Deployment must be replaced (cost: downtime): …
//	  • add the new Deployment under another name …
//
//	  to apply this change, the StatefulSet must be replaced (cost: downtime): …
//	  • …
//
// Blocks that are longer than a screen together say the same once: a later block refers to the ways out of an earlier
// one, unless they are short, and a long reason is not repeated.

// namedObjects is how many of the objects that one line refuses are named.
const namedObjects = 5

// A screen is what people see of a log at once.
const (
	screenLines   = 45
	screenColumns = 120
)

// shortWays is how many lines the ways out have at most that every block repeats, so that their commands can be copied;
// those that name only some of the objects are not.
const shortWays = 6

// writeRefusals prints a block for each edit, and an empty line behind it.
func writeRefusals(w io.Writer, edits [][]*refusedObject, limit int, p Palette) {
	print := func(w io.Writer, p Palette, said map[string]string) {
		t := &refusalText{w: w, p: p, limit: limit, said: said}
		for _, edit := range edits {
			t.write(edit)
			fmt.Fprintln(w)
		}
	}
	var plain bytes.Buffer
	print(&plain, false, nil)
	if limit == math.MaxInt || screenHeight(plain.String()) <= screenLines {
		print(w, p, nil)
		return
	}
	print(w, p, map[string]string{})
}

// screenHeight returns how many lines a text has on a screen, which breaks long ones.
func screenHeight(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n += 1 + max(0, utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))-1)/screenColumns
	}
	return n
}

// refusalText prints blocks.
type refusalText struct {
	w     io.Writer
	p     Palette
	limit int // of the objects that a block names
	// said has the reasons and ways out that were printed, with the object that they were printed for; nil to print
	// each of them again.
	said map[string]string
}

func (t *refusalText) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// write prints a block. An edit that refuses only one object has the place of the object in its title; the object may
// be in several units and files.
func (t *refusalText) write(edit []*refusedObject) {
	all := subjectsOf(edit)
	mark := markOf(edit, t.p)
	if o := edit[0]; len(edit) == 1 && len(o.others) == 0 {
		t.line("%s %s %s", mark, t.p.Bold(Printable(o.title())), t.p.Dim("("+o.placeText()+")"))
		if also := o.alsoIn(); len(also) > 0 {
			t.line("  %s", t.p.Dim("the same in "+strings.Join(also, ", ")))
		}
	} else {
		t.line("%s %s %s", mark, t.p.Bold(Printable(all.title())), t.p.Dim("("+all.places()+")"))
		if names := all.names(t.limit); names != "" {
			t.line("  %s", names)
		}
		if units := all.inUnits(t.limit); units != "" && t.said == nil {
			t.line("  %s", t.p.Dim(units))
		}
	}
	t.writeViolations(edit)
	t.writeReplacements(edit)
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

// placeText names the line of an object, and where OLD has it, if that is another file.
func (o *refusedObject) placeText() string {
	first := &o.violations[0]
	line := first.ObjectLine
	if first.Unit != "" { // the file is the one of the change, which the object may not be in
		line = first.Line
	}
	text := placeText(&first.Subject, line)
	if first.Moved {
		text += fmt.Sprintf("; in OLD %s:%d", Printable(first.OldFile), first.OldLine)
	}
	return text
}

// writeViolations prints the violations of all objects, each once.
func (t *refusalText) writeViolations(edit []*refusedObject) {
	type common struct {
		v  *result.Violation
		of []*refusedObject
	}
	var list []*common
	known := map[string]*common{}
	for _, o := range edit {
		for i := range o.violations {
			var text strings.Builder
			v := &o.violations[i]
			writeViolation(&text, v, o.violations[0].File, "", explain(v), false)
			c := known[text.String()]
			if c == nil {
				c = &common{v: v}
				known[text.String()], list = c, append(list, c)
			}
			c.of = append(c.of, o)
		}
	}
	for _, c := range list {
		of := ""
		if len(c.of) < len(edit) {
			of = " of " + someBlocks(c.of, edit)
		}
		writeViolation(t.w, c.v, edit[0].violations[0].File, of, t.reason(c.v), t.p)
	}
	if i := slices.IndexFunc(edit, (*refusedObject).differ); i >= 0 {
		t.line("      %s",
			t.p.Dim("these are the values of "+Printable(edit[i].violations[0].Object)+"; the others differ"))
	}
}

// someBlocks names some blocks of an edit: by the kinds of their objects, or by the first of them if other blocks have
// the same kinds.
func someBlocks(some, edit []*refusedObject) string {
	var kinds []string
	for _, o := range some {
		kind := o.violations[0].Kind
		for _, other := range edit {
			if other.violations[0].Kind == kind && !slices.Contains(some, other) {
				return firstOf(subjectsOf(some).kindsAndNames(), 2)
			}
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = strings.TrimPrefix(Count(2, Printable(kind)), "2 ")
	}
	return compare.Enumerate(kinds)
}

// reason says why a change is refused; a long reason is printed once for each field of a kind.
func (t *refusalText) reason(v *result.Violation) string {
	text := explain(v)
	field := fmt.Sprintf("%q", []string{v.APIVersion, v.Kind, v.Path, text})
	if t.said == nil || len(v.Path)+len(text) < screenColumns {
		return text
	}
	if t.said[field] != "" {
		return "refused as above"
	}
	t.said[field] = v.Object
	return text
}

// writeViolation prints a violation below its object, whose header names a file: the field, and of which objects it is if
// others do not break its lock, and the reason.
func writeViolation(w io.Writer, v *result.Violation, file, of, reason string, p Palette) {
	item := of
	if v.Item != "" {
		item = " (" + Printable(v.Item) + ")" + of
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
	fmt.Fprintf(w, "  %s%s  %s\n", p.Bold(Printable(path)), item, p.Dim(place+reason))
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

// writeReplacements prints what replacing the objects costs, and the ways out: those of each kind, and of each tool.
func (t *refusalText) writeReplacements(edit []*refusedObject) {
	type costOfKind struct{ kind, text string }
	var heads []costOfKind
	remedies := map[costOfKind][]remedy{}
	for _, o := range edit {
		for _, of := range o.all() {
			re := of.replacement
			if re == nil || len(re.How) == 0 {
				continue
			}
			head := costOfKind{re.Kind, t.replacementHead(re)}
			if remedies[head] == nil {
				heads = append(heads, head)
			}
			remedies[head] = append(remedies[head], remedy{&re.Subject, re.How})
		}
	}
	var above []string // the objects whose ways are printed above
	for _, head := range heads {
		ways := waysOf(remedies[head], t.limit)
		text := head.text
		for _, of := range ways {
			text += "\n" + of.form
		}
		if of := t.said[text]; of != "" {
			above = append(above, of)
			continue
		}
		var printed strings.Builder
		fmt.Fprintf(&printed, "\n  %s\n", head.text)
		for i := range ways {
			writeWays(&printed, &ways[i], t.p)
		}
		io.WriteString(t.w, printed.String())
		isShort := !ways[0].left && strings.Count(printed.String(), "\n") <= shortWays
		if first := ways[0].of[0]; t.said != nil && !isShort {
			t.said[text] = first.Kind + " " + first.Object
		}
	}
	if above != nil && len(above) < len(heads) {
		t.line("")
	}
	if above != nil {
		t.line("  ways out: as for %s above%s",
			Printable(compare.Enumerate(above)), t.p.Dim(" (--all prints them with the names of these objects)"))
	}
}

func (t *refusalText) replacementHead(r *result.Replacement) string {
	cost := string(r.Cost)
	if r.Cost == result.CostData || r.Cost == result.CostCascade {
		cost = t.p.Red(cost)
	}
	asked := ""
	if r.Requested {
		asked = "; " + replaced
	}
	if r.RequestedNew {
		asked += t.p.Yellow(", and the change itself adds the request")
	}
	return replacementHead(r, cost, Printable) + asked
}

// replacementHead says what a replacement costs, before the ways out. escape makes the texts harmless.
func replacementHead(r *result.Replacement, cost string, escape func(string) string) string {
	if r.Must {
		return fmt.Sprintf("to apply this change, the %s must be replaced (cost: %s): %s",
			escape(r.Kind), cost, escape(r.Message))
	}
	return fmt.Sprintf("%s (cost of a replacement: %s)", escape(r.Message), cost)
}

// arrow shows two values as JSON.
func arrow(oldVal, newVal result.Value, p Palette) string {
	text := func(v result.Value) string {
		if !v.OK {
			return "absent"
		}
		return Printable(v.String())
	}
	oldText, newText := jsonvalue.Excerpts(text(oldVal), text(newVal), shownValue)
	return p.Red(oldText) + " → " + p.Green(newText)
}

// changes are the lines that show what changed.
func changes(v *result.Violation, p Palette) []string {
	switch {
	case v.Redacted:
		return []string{"the values are not shown"}
	case v.Key.OK && v.Reason == "":
		return []string{p.Red("- " + Shorten(v.Key.String()))}
	case v.Key.OK:
		return []string{"key " + Shorten(v.Key.String())}
	case len(v.Differences) == 0 && !v.Old.OK && !v.New.OK:
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
		case !d.Old.OK:
			change = p.Green("+ " + Shorten(d.New.String()))
		case !d.New.OK:
			change = p.Red("- " + Shorten(d.Old.String()))
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
