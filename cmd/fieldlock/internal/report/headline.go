package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// The headline is the first and the last line of the text, and the summary in the other formats: a mark, the counts
// behind it, and how many objects were checked.
//
//	✗ 1 object refused, 2 violations; not checked: 1 HelmRelease (media/films): 12 objects checked (12 updates)
//	? not checked: 2 files (apps/a.yaml, apps/b.yaml), 1 unknown verdict (Claim shop/data): 12 objects checked (12 updates)
//	! deleted: 1 PersistentVolumeClaim (data): 1 object checked (1 delete)
//	✓ no refused change: 12 objects checked (12 updates)

// named is how many names of a list the headline shows.
const named = 3

// headline is the first and the last line of the text.
func headline(r *compare.Report, p Palette) string {
	refused, gaps, lost := refusedText(r), gapsText(r), lostText(r)
	verdict, scope := p.Bold(joinTexts(refused, gaps, lost)), scopeText(r)
	switch {
	case refused != "":
		return p.Red("✗") + " " + verdict + ": " + scope
	case gaps != "":
		return p.Yellow("?") + " " + verdict + ": " + scope
	case lost != "":
		return p.Red("!") + " " + verdict + ": " + scope
	case r.Checked+r.Skipped == 0 && r.Unchanged+len(r.NotCovered)+len(r.Excluded) > 0 &&
		!slices.ContainsFunc(r.NotCovered, isChanged):
		return p.Green("✓") + " nothing changed" + excludedText(r)
	}
	return p.Green("✓") + " no refused change: " + scope
}

func isChanged(n result.NotCovered) bool { return n.Changed }

// joinTexts joins the texts that are not empty.
func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// refusedText counts what is refused, and what cannot be read; "" for nothing.
func refusedText(r *compare.Report) string {
	var parts []string
	if n := refusals(r); n.violations > 0 {
		parts = append(parts, fmt.Sprintf("%s refused, %s",
			Count(n.objects, "object"), Count(n.violations, "violation")))
	}
	if len(r.Errors) > 0 {
		parts = append(parts, Count(len(r.Errors), "error"))
	}
	return strings.Join(parts, "; ")
}

// gapsText counts what changed and was not checked, with the first few names; "" for nothing.
func gapsText(r *compare.Report) string {
	var parts []string
	groups := map[string][]string{}
	var kinds []string
	for _, n := range r.Uncovered() {
		if groups[n.Kind] == nil {
			kinds = append(kinds, n.Kind)
		}
		groups[n.Kind] = append(groups[n.Kind], n.Unit)
	}
	for _, kind := range kinds {
		names := slices.Compact(slices.Sorted(slices.Values(groups[kind])))
		parts = append(parts, Count(len(groups[kind]), Printable(kind))+" ("+someOf(names)+")")
	}
	if len(r.Unknown) > 0 {
		var names []string
		for _, m := range r.Unknown {
			if name := strings.TrimSpace(m.Kind + " " + m.Object); len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
		parts = append(parts, Count(len(r.Unknown), "unknown verdict")+" ("+someOf(names)+")")
	}
	skipped, unchecked := r.UncheckedChanges()
	if len(skipped) > 0 {
		parts = append(parts, countedKinds(skipped)+" without a schema")
	}
	if len(unchecked) > 0 {
		parts = append(parts, countedKinds(unchecked)+" whose rules are not known")
	}
	if parts == nil {
		return ""
	}
	return "not checked: " + strings.Join(parts, ", ")
}

// lostText counts the deletions that lose something; "" for none.
func lostText(r *compare.Report) string {
	var parts []string
	for _, cost := range []result.Cost{result.CostData, result.CostCascade} {
		var kinds []result.KindCount
		for _, d := range r.Lost() {
			if d.Cost == cost {
				kinds = append(kinds, result.KindCount{APIVersion: d.APIVersion, Kind: d.Kind, Objects: 1})
			}
		}
		if kinds != nil {
			parts = append(parts, countedKinds(kinds)+" ("+string(cost)+")")
		}
	}
	if parts == nil {
		return ""
	}
	return "deleted: " + strings.Join(parts, ", ")
}

// excludedText counts the changed files that the settings exclude, after a semicolon; "" for none.
func excludedText(r *compare.Report) string {
	if len(r.Excluded) == 0 {
		return ""
	}
	return "; excluded: " + Count(len(r.Excluded), "changed file") + " (" + someOf(r.Excluded) + ")"
}

// scopeText says how much was checked, and what was left out of it.
func scopeText(r *compare.Report) string {
	var parts []string
	for _, part := range [...]struct {
		n    int
		noun string
	}{{r.Updated, "update"}, {r.Created, "create"}, {r.Deleted, "delete"}} {
		if part.n > 0 {
			parts = append(parts, Count(part.n, part.noun))
		}
	}
	text := Count(r.Checked, "object") + " checked"
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	if skipped := skippedText(r); skipped != "" {
		text += "; skipped: " + skipped
	}
	text += excludedText(r)
	n := refusals(r)
	if n.accepted > 0 {
		text += "; " + Count(n.accepted, "accepted violation")
	}
	if n.requested > 0 {
		text += "; " + Count(n.requested, "requested replacement")
	}
	accepted := 0
	for _, u := range r.NotCovered {
		if u.Accepted {
			accepted++
		}
	}
	if accepted > 0 {
		text += fmt.Sprintf("; accepted: %d not checked", accepted)
	}
	return text
}

// skippedText names the objects without a schema that did not change, or only one side has, and what is not an object:
// "2 Secret, 1 document that is not an object".
func skippedText(r *compare.Report) string {
	var others []result.KindCount
	for _, k := range r.SkippedKinds {
		if k.Objects -= k.Changed; k.Objects > 0 {
			others = append(others, k)
		}
	}
	text := countedKinds(others)
	switch {
	case r.Others == 0:
		return text
	case text != "":
		text += ", "
	}
	if r.Others == 1 {
		return text + "1 document that is not an object"
	}
	return text + fmt.Sprintf("%d documents that are not objects", r.Others)
}

// someOf lists the first few names.
func someOf(names []string) string { return firstOf(names, named) }

// firstOf lists at most limit names, and counts the others.
func firstOf(names []string, limit int) string {
	text := Printable(strings.Join(names[:min(len(names), limit)], ", "))
	if more := len(names) - limit; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// verdictLine is the headline of a page: what its mark stands for, as a sentence.
func verdictLine(r *compare.Report) string {
	n := refusals(r)
	switch {
	case n.violations > 0:
		refused := fmt.Sprintf("a cluster will refuse %s (%s)",
			Count(n.objects, "object"), Count(n.violations, "violation"))
		return joinTexts(refused, lostText(r))
	case len(r.Errors) > 0:
		return joinTexts("some input could not be read", lostText(r))
	}
	if text := joinTexts(gapsText(r), lostText(r)); text != "" {
		return text
	}
	switch {
	case n.accepted > 0 && n.requested > 0:
		return "every refused change is accepted, or a requested replacement"
	case n.accepted > 0:
		return "every refused change is accepted"
	case n.requested > 0:
		return "every refused change is a requested replacement"
	}
	return "no refused change"
}
