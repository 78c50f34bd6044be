package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/ownership"
)

// jsonReport is what check -o json prints.
type jsonReport struct {
	Allowed    bool            `json:"allowed"`
	Checked    int             `json:"checked"`
	Skipped    int             `json:"skipped"`
	Violations []jsonViolation `json:"violations"`
	More       int             `json:"moreViolations,omitempty"` // beyond the limit of a report
}

type jsonViolation struct {
	Object      string           `json:"object"`
	Kind        string           `json:"kind"`
	Path        string           `json:"path"`
	Lock        string           `json:"lock"`
	SchemaPath  string           `json:"schemaPath"`
	Old         json.RawMessage  `json:"old,omitempty"`
	New         json.RawMessage  `json:"new,omitempty"`
	LeftOut     bool             `json:"valuesLeftOut,omitempty"` // old and new, which were printed often enough
	Key         json.RawMessage  `json:"key,omitempty"`
	Differences []jsonDifference `json:"differences,omitempty"`
	More        int              `json:"moreDifferences,omitempty"` // beyond the limit of a report
	Message     string           `json:"message"`
}

type jsonDifference struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// maxRepeated is how many bytes of containers are printed: each of the keys that one has lost would print it once more.
const maxRepeated = 16 << 20

func checkReport(found *outcome) *jsonReport {
	report := &jsonReport{
		Allowed: found.allowed(), Checked: found.checked(), Skipped: len(found.skipped), Violations: []jsonViolation{},
	}
	repeated := 0
	for _, r := range found.results {
		for i := range r.breaches {
			b := &r.breaches[i]
			v := jsonViolation{
				Object: r.new.String(), Kind: r.new.kind, Path: b.Path.String(), Lock: string(b.Lock), SchemaPath: b.SchemaPath,
				Key: raw(b.Key, b.HasKey), More: b.MoreDifferences, Message: b.Message(),
			}
			if v.LeftOut = b.HasKey && repeated > maxRepeated; !v.LeftOut {
				v.Old, v.New = raw(b.Old, b.HasOld), raw(b.New, b.HasNew)
			}
			if b.HasKey {
				repeated += len(v.Old) + len(v.New)
			}
			for _, d := range b.Differences {
				v.Differences = append(v.Differences, jsonDifference{d.Path.String(), raw(d.Old, d.HasOld), raw(d.New, d.HasNew)})
			}
			report.Violations = append(report.Violations, v)
		}
		report.More += r.more
	}
	return report
}

// raw encodes a value that is there, null included; an absent one is left out.
func raw(v any, ok bool) json.RawMessage {
	if !ok {
		return nil
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return json.RawMessage("null") // decoded JSON always encodes
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// The limit of the differences that stand below one violation in text.
const shownDifferences = 10

// writeCheck prints the violations by object, and a summary.
func writeCheck(w io.Writer, found *outcome, p palette) {
	for _, r := range found.results {
		writeResult(w, r, p)
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, summary(found, p))
}

func writeResult(w io.Writer, r result, p palette) {
	d := r.new.document
	fmt.Fprintf(w, "%s %s %s\n", p.red("✗"), p.bold(printable(r.new.kind+" "+r.new.identity.String())),
		p.dim(fmt.Sprintf("(%s:%d)", printable(d.File), d.Position().Line)))
	managers, _ := ownership.Read(r.old.document.Object) // what cannot be read is not said
	for i := range r.breaches {
		b := &r.breaches[i]
		item := itemKeys(b.version.Schema, d.Object, b.Path.String())
		if item != "" {
			item = " (" + item + ")"
		}
		fmt.Fprintf(w, "  %s%s  %s\n", p.bold(printable(b.Path.String())), item,
			p.dim(fmt.Sprintf("%s, line %d", explain(b, r.pair), d.Locate(b.Path.String()).Line)))
		for _, line := range changes(b, p) {
			fmt.Fprintf(w, "      %s\n", line)
		}
		owners := managers.Owners(b.Path, r.new.document.Object)
		if b.HasKey {
			owners = managers.OwnersOfKey(b.Path, b.Key, r.new.document.Object)
		}
		if text := ownership.Text(owners); text != "" {
			fmt.Fprintf(w, "      %s\n", p.dim(printable(text)))
		}
	}
	if r.more > 0 {
		fmt.Fprintf(w, "  and %s\n", count(r.more, "more violation"))
	}
}

// explain says what the lock is, and whose when the versions differ.
func explain(b *breach, p pair) string {
	text := string(b.Lock)
	if b.Lock == immutability.Incomparable {
		text = printable(strings.TrimPrefix(b.Message(), "field is immutable: "))
	}
	if p.old.version != p.new.version {
		text += " in " + b.version.Name
	}
	return text
}

// changes are the lines that show what changed.
func changes(b *breach, p palette) []string {
	switch {
	case b.HasKey && b.Lock != immutability.Incomparable:
		return []string{p.red("- " + show(b.Key))}
	case b.HasKey:
		return []string{"key " + show(b.Key)}
	case len(b.Differences) == 0:
		return []string{arrow(b.Old, b.HasOld, b.New, b.HasNew, p)}
	}
	var lines []string
	for i, d := range b.Differences {
		if i == shownDifferences {
			break
		}
		name := strings.TrimPrefix(strings.TrimPrefix(d.Path.String(), b.Path.String()), ".")
		if name != "" {
			name = printable(name) + "  "
		}
		change := arrow(d.Old, d.HasOld, d.New, d.HasNew, p)
		switch {
		case !d.HasOld:
			change = p.green("+ " + show(d.New))
		case !d.HasNew:
			change = p.red("- " + show(d.Old))
		}
		lines = append(lines, name+change)
	}
	if more := len(b.Differences) - len(lines) + b.MoreDifferences; more > 0 {
		lines = append(lines, "and "+count(more, "more difference"))
	}
	return lines
}

func arrow(old any, hasOld bool, new any, hasNew bool, p palette) string {
	text := func(v any, ok bool) string {
		if !ok {
			return "absent"
		}
		return show(v)
	}
	return p.red(text(old, hasOld)) + " → " + p.green(text(new, hasNew))
}

// summary is the last line of the text.
func summary(found *outcome, p palette) string {
	var parts []string
	for _, part := range [...]struct {
		n    int
		noun string
	}{{found.updated, "update"}, {found.created, "create"}, {found.deleted, "delete"}} {
		if part.n > 0 {
			parts = append(parts, count(part.n, part.noun))
		}
	}
	text := count(found.checked(), "object") + " checked"
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	if n := len(found.skipped); n > 0 {
		text += fmt.Sprintf(", %d skipped, as no schema covers %s", n, found.skippedKinds())
	}
	if found.allowed() {
		if found.updated == 0 {
			return text
		}
		return p.green("✓") + " no lock is broken: " + text
	}
	return p.red("✗") + " " + p.bold(fmt.Sprintf("%s refused, %s", count(len(found.results), "object"), count(found.violations(), "violation"))) + ": " + text
}
