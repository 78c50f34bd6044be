package report

import (
	"strings"

	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

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
func changes(v *compare.Violation, p Palette) []string {
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
func acceptance(v *compare.Violation) string {
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
