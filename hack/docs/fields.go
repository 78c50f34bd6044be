package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// fields returns the page "Which fields are immutable?" for one Kubernetes minor; the newest one is the page to begin
// with, fields.md.
func fields(minor string) string {
	kinds, err := builtin.For(minor)
	if err != nil {
		panic(err) // minor comes from builtin.Minors
	}
	all := slices.DeleteFunc(kinds.All(), func(k *builtin.Kind) bool { return !k.Locked() })
	slices.SortStableFunc(all, func(a, b *builtin.Kind) int { return cmp.Compare(a.Kind, b.Kind) })
	var b strings.Builder
	fmt.Fprintf(&b, `# Which fields are immutable?

Every field of Kubernetes' own kinds that an API server of **Kubernetes %s** refuses to change, or that only the cluster
can decide about, and the way out. Other minors: %s. `+"`fieldlock locks`"+` prints the same list, and `+"`fieldlock check`"+`
applies it to your manifests.

`, minor, otherMinors(minor))
	for i, k := range all {
		if i > 0 {
			b.WriteString(" · ")
		}
		fmt.Fprintf(&b, "[%s](#%s)", k.Kind, anchor(k, all))
	}
	b.WriteString("\n")
	for _, k := range all {
		kind(&b, k, all)
	}
	return b.String()
}

// kind writes the section of one kind.
func kind(b *strings.Builder, k *builtin.Kind, all []*builtin.Kind) {
	fmt.Fprintf(b, "\n## %s {#%s}\n\n`%s`\n\n| field | lock | what the server says |\n|---|---|---|\n", title(k, all), anchor(k, all), k.APIVersion())
	for _, r := range k.Rows() {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.Path, lock(r), cell(says(r)))
	}
	r := k.Replacement(map[string]any{"apiVersion": k.APIVersion(), "kind": k.Kind, "metadata": map[string]any{"name": "NAME"}}, nil, builtin.Verdict{})
	fmt.Fprintf(b, "\nReplacing it costs **%s**", r.Cost)
	if r.Message != "" {
		fmt.Fprintf(b, ": %s", r.Message)
	}
	b.WriteString(".\n")
	edit := strings.NewReplacer("{path}", "it", ": {null}", " with `kubectl patch`")
	for i, row := range k.Rows() {
		if row.Edit != "" && !slices.ContainsFunc(k.Rows()[:i], func(before builtin.Row) bool { return before.Edit == row.Edit }) {
			fmt.Fprintf(b, "\n- Without a replacement, for `%s`: %s", row.Path, edit.Replace(row.Edit))
		}
	}
	for _, how := range r.How {
		command, comment, _ := strings.Cut(how, "   # ")
		if strings.HasPrefix(command, "kubectl ") {
			command = "`" + command + "`"
		}
		if comment != "" {
			comment = " (" + comment + ")"
		}
		fmt.Fprintf(b, "\n- %s%s", command, comment)
	}
	b.WriteString("\n")
}

// lock names the lock of a row, with its condition.
func lock(r builtin.Row) string {
	text := strings.ReplaceAll(r.Lock, ",", ", ")
	switch {
	case r.Unknown != "":
		text = "unknown"
	case r.Note != "":
		text = "ignored"
	case r.Lock == "rule":
		text = "`" + cell(r.Rule) + "`"
	}
	if r.When != "" {
		text += ", when `" + cell(r.When) + "`"
	}
	if len(r.Except) > 0 {
		text += ", except " + strings.Join(r.Except, ", ")
	}
	return text
}

func says(r builtin.Row) string { return cmp.Or(r.Unknown, r.Note, r.Message) }

// cell makes text fit into a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "{{", "{ {").Replace(text)
}

// title is the kind's name, with its group where another kind has the same name.
func title(k *builtin.Kind, all []*builtin.Kind) string {
	for _, other := range all {
		if other != k && other.Kind == k.Kind {
			return k.Kind + " (" + cmp.Or(k.Group, "core") + ")"
		}
	}
	return k.Kind
}

func anchor(k *builtin.Kind, all []*builtin.Kind) string {
	return strings.NewReplacer(" (", "-", ")", "", ".", "-").Replace(strings.ToLower(title(k, all)))
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
