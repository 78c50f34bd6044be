package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/crdfacts"
)

// crdsPage is the page of the CRDs whose transition rules are known, by project.
func crdsPage(kinds []*crdfacts.Kind) string {
	var b strings.Builder
	b.WriteString(`# CRDs that are known

The transition rules of these CRDs, in one published version of each project, are part of fieldlock. ` + "`fieldlock check`" + ` uses them for
objects whose CRD is neither in the repository nor in ` + "`--schema`" + `, and ` + "`fieldlock locks KIND`" + ` prints them. *Locked* fields cannot
change as the CRD's rules say; for a change of the fields in the last column, only the CRD can tell.

The rules were recognized as ` + "`fieldlock import cel`" + ` does it, and compared with the API server's validator on random updates. What
operators refuse in code is on [another page](operators.md).
`)
	byProject := slices.SortedStableFunc(slices.Values(kinds), func(a, b *crdfacts.Kind) int {
		byName := cmp.Compare(strings.ToLower(a.Project.Name), strings.ToLower(b.Project.Name))
		return cmp.Or(byName, cmp.Compare(strings.ToLower(a.Kind), strings.ToLower(b.Kind)))
	})
	for len(byProject) > 0 {
		p := byProject[0].Project
		n := slices.IndexFunc(byProject, func(k *crdfacts.Kind) bool { return k.Project != p })
		if n < 0 {
			n = len(byProject)
		}
		writeProject(&b, p, byProject[:n])
		byProject = byProject[n:]
	}
	return b.String()
}

// writeProject writes the kinds of a project: those with rules in a table, the others in a sentence.
func writeProject(b *strings.Builder, p *crdfacts.Project, kinds []*crdfacts.Kind) {
	fmt.Fprintf(b, "\n## %s\n\n`%s` %s\n", cell(p.Name), p.Module, p.Version)
	var free []string
	header := "\n| kind | locked | only the CRD can tell |\n|---|---|---|\n"
	for _, k := range kinds {
		if len(k.Rows) == 0 {
			free = append(free, k.Kind+" ("+k.Group+"/"+strings.Join(k.Versions, ", ")+")")
			continue
		}
		locked, open := factFields(k)
		fmt.Fprintf(b, "%s| %s (%s/%s) | %s | %s |\n",
			header, k.Kind, k.Group, strings.Join(k.Versions, ", "), locked, open)
		header = ""
	}
	if len(free) > 0 {
		fmt.Fprintf(b, "\nWithout transition rules: %s.\n", strings.Join(free, ", "))
	}
}

// factFields names the fields with locks, and those of which only the CRD can tell.
func factFields(k *crdfacts.Kind) (locked, open string) {
	var fields [2]fieldSet
	for _, r := range k.Rows {
		if r.Unknown {
			fields[1].add(r.Path)
		} else {
			fields[0].add(r.Path)
		}
	}
	return fields[0].summary(), fields[1].summary()
}

// factsSection is the part of an operator's page about the CRD, "" if nothing is known of it.
func factsSection(apiVersion, kind string) string {
	k, ok := crdfacts.Find(apiVersion, kind)
	if !ok || len(k.Rows) == 0 {
		return ""
	}
	locked, open := factFields(k)
	text := fmt.Sprintf("\n\n## Rules of the CRD\n\nThe CRD of %s %s has transition rules of its own.",
		k.Project.Name, k.Project.Version)
	if locked != "" {
		text += " They lock " + locked + "."
	}
	if open != "" {
		text += " Of a change of " + open + ", only the CRD can tell."
	}
	return text + " `fieldlock locks " + k.Plural + "." + k.Group + "` lists them."
}
