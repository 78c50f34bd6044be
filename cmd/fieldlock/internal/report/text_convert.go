package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fieldlock/fieldlock/internal/convert"
)

// Export prints the result of an export for people.
func Export(w io.Writer, r *convert.Export) {
	p := PaletteFor(w)
	for _, lock := range r.Exported {
		fmt.Fprintf(w, "%s %s\n", p.Green("exported"),
			Printable(fmt.Sprintf("%s %s: %s on %s", lock.CRD, lock.Version, lock.Lock, lock.Path)))
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
		fmt.Fprintf(w, "%s %s\n", p.Yellow("not exported"),
			Printable(fmt.Sprintf("%s %s: %s on %s", rest.CRD, rest.Version, rest.Lock, rest.Path)))
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

// WriteInPlace prints the files, what would change in those that are out of date, and the locks without a rule. again
// is the command that writes them.
func WriteInPlace(w io.Writer, r *InPlace, again string) {
	p := PaletteFor(w)
	for i := range r.Files {
		f := &r.Files[i]
		name := Printable(f.File)
		switch {
		case !f.Changed:
			fmt.Fprintf(w, "%s %s: up to date\n", p.Green("✓"), name)
		case f.Written:
			fmt.Fprintf(w, "%s %s: written, %s\n",
				p.Green("✓"), name, exportCounts(&convert.Export{Exported: f.Exported, Rest: f.Rest}))
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

// lineDiff prints the lines that are removed from was and added to is. It looks for the nearest line that goes on in
// both, which is good for a text that was changed in a few places.
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
	return fmt.Sprintf("%d of %s exported, on %d of %s",
		done, Count(len(locks), "lock"), len(exported), Count(len(fields), "locked field"))
}

// Import prints the result of an import for people.
func Import(w io.Writer, r *convert.Import) {
	p := PaletteFor(w)
	messages := 0
	for i := range r.Recognized {
		rule := &r.Recognized[i]
		fmt.Fprintf(w, "%s %s: %s\n", p.Green("lock"), whereRule(rule), Shorten(quoted(rule.Rule)))
		fmt.Fprintf(w, "     %s\n", becomes(rule))
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
		fmt.Fprintf(w, "%s dropped: a lock has its own text, and export cel writes that\n",
			Count(messages, "custom message"))
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
	return Printable(cmp.Or(strings.Join(locks, ", "), r.Reason))
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	var b strings.Builder
	if err := WriteJSON(&b, text); err != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}
