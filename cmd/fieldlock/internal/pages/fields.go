package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// catalogue has the built-in kinds of each minor.
type catalogue map[string]*builtin.Kinds

func newCatalogue() catalogue {
	all := catalogue{}
	for _, minor := range builtin.Minors() {
		kinds, err := builtin.For(minor)
		if err != nil {
			panic(err) // builtin.For knows its own minors
		}
		all[minor] = kinds
	}
	return all
}

// fields returns the page "Which fields are immutable?" for one Kubernetes minor; the newest one is the page to begin
// with, fields.md.
func (c catalogue) fields(minor string) string {
	all := slices.DeleteFunc(c[minor].All(), func(k *builtin.Kind) bool { return len(k.Rows()) == 0 })
	slices.SortStableFunc(all, func(a, b *builtin.Kind) int { return cmp.Compare(a.Kind, b.Kind) })
	var b strings.Builder
	fmt.Fprintf(&b, `# Which fields are immutable?

Every field of Kubernetes' own kinds that an API server of **Kubernetes %s** refuses to change, or that only the cluster
can decide about, and what to do about it. Other minors: %s. `+"`fieldlock locks KIND`"+` lists the fields of one kind, and
`+"`fieldlock check`"+` finds the changes in your manifests. If your cluster is older than 1.35, begin with the page for 1.35.

`, minor, otherMinors(minor))
	for i, k := range all {
		if i > 0 {
			b.WriteString(" · ")
		}
		fmt.Fprintf(&b, "[%s](#%s)", k.Kind, anchor(k, all))
	}
	b.WriteString("\n")
	for _, k := range all {
		c.kind(&b, k, all)
	}
	return b.String()
}

// kind writes the section of one kind.
func (c catalogue) kind(b *strings.Builder, k *builtin.Kind, all []*builtin.Kind) {
	fmt.Fprintf(b, "\n## %s\n\n`%s`\n\n| field | after creation | what the server says |\n|---|---|---|\n", title(k, all), k.APIVersion())
	var rules ruleList
	rows := k.Rows()
	for _, r := range rows {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.Path, rules.lock(r), cell(c.says(k, r)))
	}
	rules.write(b)
	r := k.Replacement(map[string]any{"apiVersion": k.APIVersion(), "kind": k.Kind, "metadata": map[string]any{"name": "NAME"}}, nil, builtin.Verdict{})
	fmt.Fprintf(b, "\nReplacing it costs **%s**", r.Cost)
	if r.Message != "" {
		fmt.Fprintf(b, ": %s", r.Message)
	}
	b.WriteString(".\n")
	edit := strings.NewReplacer("{path}", "it", "{null} && {apply}   # ", "")
	for i, row := range rows {
		if row.Edit != "" && !slices.ContainsFunc(rows[:i], func(before builtin.Row) bool { return before.Edit == row.Edit }) {
			fmt.Fprintf(b, "\n- Without a replacement, for `%s`: %s", row.Path, edit.Replace(row.Edit))
		}
	}
	first := strings.NewReplacer("{name}", "NAME", "{migrated}", `'{"status":{"storedVersions":["VERSION"]}}'`)
	for _, row := range rows {
		switch text, command := report.WayOut(first.Replace(row.First)); {
		case row.First == "":
		case command == "":
			fmt.Fprintf(b, "\n- Where `%s` changes, %s", row.Path, text)
		default:
			fmt.Fprintf(b, "\n- Where `%s` changes, `%s` (%s)", row.Path, command, text)
		}
	}
	for _, how := range r.How {
		switch text, command := report.WayOut(how); {
		case command == "":
			fmt.Fprintf(b, "\n- %s", text)
		case text == "":
			fmt.Fprintf(b, "\n- `%s`", command)
		default:
			fmt.Fprintf(b, "\n- `%s` (%s)", command, text)
		}
	}
	b.WriteString("\n")
}

// ruleList holds the CEL rules and conditions of a kind, which its table names by number.
type ruleList []string

func (l *ruleList) number(rule string) int {
	if i := slices.Index(*l, rule); i >= 0 {
		return i + 1
	}
	*l = append(*l, rule)
	return len(*l)
}

// write writes the rules by their numbers.
func (l ruleList) write(b *strings.Builder) {
	if len(l) == 0 {
		return
	}
	b.WriteString("\n<details><summary>The rules, in CEL</summary>\n\n")
	for i, rule := range l {
		fmt.Fprintf(b, "%d. `%s`\n", i+1, strings.Join(strings.Fields(rule), " "))
	}
	b.WriteString("\n</details>\n")
}

// lockWords says what each lock of a built-in kind means.
var lockWords = map[string]string{
	"immutable":        "cannot be set, changed or removed",
	"NoModify":         "cannot be changed once set",
	"NoSet":            "cannot be set later",
	"NoUnset":          "cannot be removed",
	"NoUnset,NoModify": "can be set once, then neither changed nor removed",
	"addition-only":    "keys can be added, not removed",
	"deletion-only":    "keys can be removed, not added",
}

// lock says in words what a row refuses.
func (l *ruleList) lock(r builtin.Row) string {
	var text string
	switch {
	case r.Unknown != "":
		text = "only the cluster can decide"
	case r.Note != "":
		text = "accepted"
	case r.Lock == "rule":
		text = fmt.Sprintf("refused by rule %d", l.number(r.Rule))
	default:
		words, ok := lockWords[r.Lock]
		if !ok {
			panic("no words for the lock " + r.Lock)
		}
		text = words
	}
	if r.When != "" {
		text += fmt.Sprintf(", where rule %d holds", l.number(r.When))
	}
	if len(r.Except) > 0 {
		text += ", except " + strings.Join(r.Except, ", ")
	}
	return text
}

// says is what the server answers, with the texts of other minors that differ: people search for the text that they met.
func (c catalogue) says(k *builtin.Kind, r builtin.Row) string {
	said := cmp.Or(r.Unknown, r.Note, r.Message)
	if said != r.Message {
		return said
	}
	texts := []string{said}
	for _, minor := range slices.Backward(builtin.Minors()) {
		other, ok := c[minor].Find(k.APIVersion(), k.Kind)
		if !ok {
			continue
		}
		for _, o := range other.Rows() {
			if o.Path == r.Path && o.Lock == r.Lock && o.Rule == r.Rule && o.When == r.When && o.Unknown+o.Note == "" && !slices.Contains(texts, o.Message) {
				said += "; in " + minor + ": " + o.Message
				texts = append(texts, o.Message)
			}
		}
	}
	return strings.NewReplacer("{value}", "VERSION", "{change}", "update").Replace(said)
}

// cell makes text fit into a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "{{", "{ {").Replace(text)
}

// title is the kind's name, with its group where another kind has the same name.
func title(k *builtin.Kind, all []*builtin.Kind) string {
	for _, other := range all {
		if other != k && other.Kind == k.Kind {
			group, _, _ := strings.Cut(cmp.Or(k.Group, "core"), ".")
			return k.Kind + " (" + group + ")"
		}
	}
	return k.Kind
}

// anchor is the link to a section, as GitHub and the site's generator make it of its title.
func anchor(k *builtin.Kind, all []*builtin.Kind) string {
	return strings.NewReplacer(" (", "-", ")", "").Replace(strings.ToLower(title(k, all)))
}

// fieldsPage is the name of the page for a minor.
func fieldsPage(minor string) string {
	minors := builtin.Minors()
	if minor == minors[len(minors)-1] {
		return "fields.md"
	}
	return "fields-" + minor + ".md"
}

func otherMinors(minor string) string {
	var links []string
	for _, m := range builtin.Minors() {
		if m != minor {
			links = append(links, fmt.Sprintf("[%s](%s)", m, fieldsPage(m)))
		}
	}
	return strings.Join(links, ", ")
}
