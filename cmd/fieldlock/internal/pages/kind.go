package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// kindPage is the page of one kind: what may change, what may not, what the refusal says, and what to do about it.
type kindPage struct {
	kind       string
	short      string    // its short names, "" for most kinds
	of         string    // what distinguishes it from kinds of the same name
	about      string    // its API version and who refuses, as Markdown
	free, some []string  // fields that may change, and that may change with restrictions; nil: not known
	rows       []row     // what is refused
	refusals   []refusal // what is said then
	undecided  remarks   // what only the cluster can decide
	accepted   remarks   // what is accepted without effect
	applier    remarks   // what depends on who applies
	edits      remarks   // ways to do without a replacement
	own        remarks   // ways of some fields, in place of how
	around     remarks   // steps around a replacement
	cost, why  string    // of a replacement
	how        []string  // ways to replace it
	refused    tool.Refused
	appliers   []tool.Applier // that have forms of the ways of their own
	guide      string         // a link to the recipe; "" for most kinds
	notes      string         // Markdown at the end
}

// row is one lock: the field, the refused changes in words, and the versions or objects that have the lock ("" for
// all).
type row struct {
	path, refuses, where string
	immutable            bool // each change is refused; otherwise some are
}

// refusal is a sentence of the server or operator, and the versions of Kubernetes that say it; nil for an operator.
type refusal struct {
	sentence string
	versions []string
}

// remark is a sentence about some fields.
type remark struct {
	paths []string
	text  string
}

// remarks are the sentences about fields, each once.
type remarks []remark

func (r *remarks) add(path, text string) {
	for i := range *r {
		if (*r)[i].text == text {
			(*r)[i].paths = append((*r)[i].paths, path)
			return
		}
	}
	*r = append(*r, remark{[]string{path}, text})
}

// fields names fields as code.
func fields(paths []string) string { return "`" + strings.Join(paths, "`, `") + "`" }

// write returns the page as Markdown; d has what its rows name by number. What people look for first stands first:
// which fields, the error message, and the way out.
func (p *kindPage) write(d *details) string {
	var b strings.Builder
	kind := withArticle(p.kind)
	if p.short != "" {
		kind += " (" + p.short + ")"
	}
	if p.of != "" {
		kind += " of " + p.of
	}
	fmt.Fprintf(&b, "# Which fields of %s are immutable?%s\n\n%s\n", kind, p.named(), p.about)
	if p.cost != "" {
		fmt.Fprintf(&b, "\nTo %s, [replace the %s](#how-to-%s) (cost: %s).",
			p.replaces(), p.kind, strings.ReplaceAll(p.replaces(), " ", "-"), p.cost)
		if p.guide != "" {
			fmt.Fprintf(&b, " Step by step: %s.", p.guide)
		}
		b.WriteString("\n")
	}
	p.writeFields(&b, d)
	p.writeRefusals(&b)
	p.writeWayOut(&b)
	for _, part := range []struct {
		title   string
		remarks remarks
	}{{"Only the cluster can decide", p.undecided}, {"Depends on who applies", p.applier},
		{"Accepted without effect", p.accepted}} {
		if len(part.remarks) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", part.title)
		}
		for _, r := range part.remarks {
			fmt.Fprintf(&b, "- %s: %s\n", fields(r.paths), cell(r.text))
		}
	}
	if p.notes != "" {
		fmt.Fprintf(&b, "\n%s\n", p.notes)
	}
	return b.String()
}

// replaces says what a replacement is for.
func (p *kindPage) replaces() string {
	if slices.ContainsFunc(p.rows, func(r row) bool { return r.immutable }) {
		return "change an immutable field anyway"
	}
	return "make a refused change anyway"
}

// named names the first immutable fields in the title, for those who search for one.
func (p *kindPage) named() string {
	const most = 3
	var locked fieldSet
	for _, r := range p.rows {
		if r.immutable && !strings.ContainsAny(r.path, "[{") { // not part of a list or map
			locked.add(r.path)
		}
	}
	paths := locked.outermost()
	if len(paths) > most {
		paths = append(paths[:most], "…")
	}
	return strings.TrimSuffix(" "+strings.Join(paths, ", "), " ")
}

func (p *kindPage) writeFields(b *strings.Builder, d *details) {
	for _, part := range []struct {
		intro string
		paths []string
	}{{"You may change", p.free}, {"Restricted, as listed below", p.some}} {
		if len(part.paths) > 0 {
			fmt.Fprintf(b, "\n**%s:** %s.\n", part.intro, fields(part.paths))
		}
	}
	p.writeRows(b, "Immutable", true)
	p.writeRows(b, "Restricted", false)
	d.write(b)
}

// addRow adds a row of a table; except are the fields below its own that may change. It is current if the newest
// version has it.
func (p *kindPage) addRow(r *builtin.Row, except []string, where string, current bool, d *details) {
	p.rows = append(p.rows, row{r.Path, d.refuses(p.kind, *r, except), where, current && isImmutable(p.kind, r)})
}

// writeRows writes the table of the immutable fields, with all their rows, or of the restricted ones.
func (p *kindPage) writeRows(b *strings.Builder, title string, immutable bool) {
	rows := slices.DeleteFunc(slices.Clone(p.rows), func(r row) bool {
		isImmutable := slices.ContainsFunc(p.rows, func(other row) bool {
			return other.path == r.path && other.immutable
		})
		return isImmutable != immutable
	})
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s:**\n\n", title)
	where := slices.ContainsFunc(rows, func(r row) bool { return r.where != "" })
	if where {
		b.WriteString("| field | after creation | where |\n|---|---|---|\n")
	} else {
		b.WriteString("| field | after creation |\n|---|---|\n")
	}
	for _, r := range rows {
		fmt.Fprintf(b, "| `%s` | %s |", r.path, r.refuses)
		if where {
			fmt.Fprintf(b, " %s |", cmp.Or(r.where, "everywhere"))
		}
		b.WriteString("\n")
	}
}

// addRefusal adds what is said in one version, once.
func (p *kindPage) addRefusal(sentence string, version ...string) {
	at := slices.IndexFunc(p.refusals, func(r refusal) bool { return r.sentence == sentence })
	if at < 0 {
		at = len(p.refusals)
		p.refusals = append(p.refusals, refusal{sentence: sentence})
	}
	for _, v := range version {
		if !slices.Contains(p.refusals[at].versions, v) {
			p.refusals[at].versions = append(p.refusals[at].versions, v)
		}
	}
}

// writeRefusals writes the sentences of each set of versions together.
func (p *kindPage) writeRefusals(b *strings.Builder) {
	var sets [][]string
	for _, r := range p.refusals {
		if !slices.ContainsFunc(sets, func(set []string) bool { return slices.Equal(set, r.versions) }) {
			sets = append(sets, r.versions)
		}
	}
	if len(sets) > 0 {
		b.WriteString("\n## Error messages\n")
	}
	for _, set := range sets {
		if len(sets) > 1 {
			fmt.Fprintf(b, "\nKubernetes %s:\n", strings.Join(set, ", "))
		}
		b.WriteString("\n```text\n")
		for _, r := range p.refusals {
			if slices.Equal(r.versions, set) {
				b.WriteString(r.sentence + "\n")
			}
		}
		b.WriteString("```\n")
	}
}

// writeWayOut writes the ways out, the gentlest first: for kubectl, and then for the tools that apply what is merged.
func (p *kindPage) writeWayOut(b *strings.Builder) {
	if p.cost == "" {
		return
	}
	fmt.Fprintf(b, "\n## How to %s\n\nThe [cost](../replacements.md#costs) of a replacement is **%s**",
		p.replaces(), p.cost)
	if p.why != "" {
		fmt.Fprintf(b, ": %s", p.why)
	}
	b.WriteString(".\n\n" + revert)
	for _, e := range p.edits {
		fmt.Fprintf(b, "- For %s, without a replacement: %s\n", fields(e.paths), wayOut(e.text))
	}
	for _, a := range p.around {
		writeSteps(b, fmt.Sprintf("For %s:", fields(a.paths)), strings.Split(a.text, tool.Step))
	}
	p.writeWays(b, func(how string) []string { return []string{how} })
	for _, by := range p.appliers {
		fmt.Fprintf(b, "\n<details><summary>With %s</summary>\n\n%s", by.Tool, revert)
		if len(p.edits)+len(p.around) > 0 {
			b.WriteString("- Single fields need the edits and steps above.\n")
		}
		p.writeWays(b, func(how string) []string { return by.WaysOut([]string{how}, p.refused) })
		b.WriteString("\n</details>\n")
	}
}

const revert = "- Revert the change. The cluster has nothing of it, as it was refused.\n"

// writeWays writes the replacements as a list; by returns the forms of one way.
func (p *kindPage) writeWays(b *strings.Builder, by func(how string) []string) {
	write := func(prefix, how string) {
		for _, form := range by(how) {
			heading, steps := tool.Steps(form)
			writeSteps(b, prefix+heading, steps)
		}
	}
	for _, o := range p.own {
		if !slices.Contains(p.how, o.text) {
			write(fmt.Sprintf("For %s: ", fields(o.paths)), o.text)
		}
	}
	for _, how := range p.how {
		write(p.unless(how), how)
	}
}

// unless names the fields whose own ways are some of those of the kind, and this one not.
func (p *kindPage) unless(how string) string {
	var paths fieldSet
	for _, o := range p.own {
		switch {
		case o.text == how:
			return ""
		case slices.Contains(p.how, o.text):
			for _, path := range o.paths {
				paths.add(path)
			}
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return fmt.Sprintf("Unless %s changes, ", strings.ReplaceAll(fields(paths), "`, `", "` or `"))
}

// writeSteps writes a way out as an item of a list, with its steps as a numbered list in it.
func writeSteps(b *strings.Builder, heading string, steps []string) {
	switch {
	case len(steps) == 1:
		fmt.Fprintf(b, "- %s\n", strings.TrimSpace(heading+" "+wayOut(steps[0])))
		return
	case heading == "":
		heading = "In this order:"
	}
	fmt.Fprintf(b, "- %s\n", strings.TrimSpace(heading))
	for i, step := range steps {
		fmt.Fprintf(b, "  %d. %s\n", i+1, wayOut(step))
	}
}

// wayOut returns one step as Markdown: a sentence, followed by its command. A link to the documentation is one to
// another page.
func wayOut(how string) string {
	how = recipeLinks.ReplaceAllStringFunc(how, func(link string) string {
		page, anchor, _ := strings.Cut(strings.TrimPrefix(link, documentation), "#")
		return fmt.Sprintf("[%s](../%s#%s)", strings.ReplaceAll(anchor, "-", " "), page, anchor)
	})
	switch text, command := report.WayOut(how); {
	case command == "":
		return text
	case text == "":
		return "`" + command + "`"
	default:
		return text + ": `" + command + "`"
	}
}

// documentation is where links in ways out lead to.
const documentation = "https://github.com/fieldlock/fieldlock/blob/main/docs/"

var recipeLinks = regexp.MustCompile(regexp.QuoteMeta(documentation) + `[a-z.-]+#[a-z-]+`)

// addAround adds the steps of a row around a replacement, and the ways of its own.
func (p *kindPage) addAround(path, first, then string, own []string) {
	steps := []string{first, "replace the object in one of the ways below", then}
	if steps = slices.DeleteFunc(steps, func(step string) bool { return step == "" }); len(steps) > 1 {
		p.around.add(path, strings.Join(steps, tool.Step))
	}
	for _, way := range own {
		p.own.add(path, way)
	}
}

// details are the words of a kind's table, and its long lists of fields, which it names by number.
type details struct {
	words words
	lists []string
}

// refuses returns the changes that the lock of a row refuses, in words.
func (d *details) refuses(kind string, row builtin.Row, except []string) string {
	text := d.lock(row)
	if condition, _ := d.words.condition(row); condition != "" {
		text += " " + condition
	}
	if exception := exceptions[kind+" "+row.Path]; exception != "" {
		text += ", " + exception
	}
	const short = 4
	switch {
	case len(except) > short:
		text += fmt.Sprintf(", except list %d", number(&d.lists, fields(except)))
	case len(except) > 0:
		text += ", except " + fields(except)
	}
	return text
}

// lock says what a row refuses where it applies.
func (d *details) lock(row builtin.Row) string {
	if row.Rule != "" {
		return d.words.rules[oneLine(row.Rule)]
	}
	if row.Means != "" {
		return cell(row.Means)
	}
	var names []string
	for _, lock := range row.Locks {
		names = append(names, string(lock))
	}
	return lockWords[strings.Join(names, ",")]
}

// oneLine returns an expression without line breaks.
func oneLine(expression string) string { return strings.Join(strings.Fields(expression), " ") }

// number returns the number of text in list, beginning with 1, and adds it if needed.
func number(list *[]string, text string) int {
	if i := slices.Index(*list, text); i >= 0 {
		return i + 1
	}
	*list = append(*list, text)
	return len(*list)
}

// write writes the lists by their numbers.
func (d *details) write(b *strings.Builder) {
	if len(d.lists) == 0 {
		return
	}
	b.WriteString("\n<details><summary>Lists of fields</summary>\n\n")
	for i, text := range d.lists {
		fmt.Fprintf(b, "%d. %s\n", i+1, text)
	}
	b.WriteString("\n</details>\n")
}

// cell makes text fit into a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "{{", "{ {").Replace(text)
}

// withArticle puts a or an before a kind, as it is spoken: an Issuer, an HTTPRoute, a User.
func withArticle(kind string) string {
	vowels := "AEIO"
	if len(kind) > 1 && kind[1] >= 'A' && kind[1] <= 'Z' {
		vowels = "AEFHILMNORSX"
	}
	if strings.Contains(vowels, kind[:1]) {
		return "an " + kind
	}
	return "a " + kind
}
