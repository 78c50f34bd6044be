package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fieldlock/fieldlock/internal/convert"
)

// Export prints the result of an export for people.
func Export(w io.Writer, r *convert.Export) {
	p := PaletteFor(w)
	for _, lock := range r.Exported {
		fmt.Fprintf(w, "%s %s\n", p.Green("exported"), Printable(fmt.Sprintf("%s %s: %s on %s", lock.CRD, lock.Version, lock.Lock, lock.Path)))
		fmt.Fprintf(w, "         %s\n", Printable(lock.Rule))
	}
	for _, rest := range r.Rest {
		fmt.Fprintf(w, "%s %s\n", p.Yellow("not exported"), Printable(fmt.Sprintf("%s %s: %s on %s", rest.CRD, rest.Version, rest.Lock, rest.Path)))
		fmt.Fprintf(w, "         %s\n", Printable(rest.Reason))
		if rest.Remedy != "" {
			fmt.Fprintf(w, "         what would help: %s\n", Printable(rest.Remedy))
		}
	}
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

// exportCounts says how many locks were exported, and on how many of the fields that fieldlock locks counts.
func exportCounts(r *convert.Export) string {
	if len(r.Exported)+len(r.Rest) == 0 {
		return "no locks to export; CEL rules are not locks, but fieldlock import cel can turn them into locks"
	}
	type field struct{ crd, version, path string }
	exported, all := map[field]bool{}, map[field]bool{}
	for _, lock := range r.Exported {
		f := field{lock.CRD, lock.Version, lock.Path}
		exported[f], all[f] = true, true
	}
	for _, lock := range r.Rest {
		f := field{lock.CRD, lock.Version, lock.Path}
		delete(exported, f)
		all[f] = true
	}
	return fmt.Sprintf("%d of %s exported, on %d of %s",
		len(r.Exported), Count(len(r.Exported)+len(r.Rest), "lock"), len(exported), Count(len(all), "locked field"))
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
		locks = append(locks, lock.Lock+" on "+lock.Path)
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
