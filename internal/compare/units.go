package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Unit is what one tool applies together, such as a kustomization or a chart.
type Unit struct {
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
	Objects int    `json:"objects"` // that were rendered; 0 for a unit that is the same on both sides
	Changed bool   `json:"changed"`
}

// NotCovered is a unit or file that could not be read as it is deployed.
type NotCovered struct {
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Reason  string `json:"reason"`
	Changed bool   `json:"changed"`
}

// doubt makes violations unknown whose values depend on what the files do not tell, such as a variable in an encrypted Secret.
func (v *verdict) doubt(p pair) {
	if p.new == nil || p.old == nil || len(v.violations) == 0 || len(p.new.Document.Unknown)+len(p.old.Document.Unknown) == 0 {
		return
	}
	v.violations = slices.DeleteFunc(v.violations, func(violation Violation) bool {
		doubtful := inDoubt(p, violation.Path)
		if !doubtful && len(violation.Differences) > 0 && violation.MoreDifferences == 0 {
			doubtful = !slices.ContainsFunc(violation.Differences, func(d Difference) bool { return !inDoubt(p, d.Path) })
		}
		if doubtful {
			v.unknown = append(v.unknown, Remark{Path: violation.Path, Message: fmt.Sprintf(
				"the value depends on a variable or a Secret that the files do not tell; if it changes, the update is refused: %s", violation.summary())})
		}
		return doubtful
	})
	if len(v.violations)+v.more == 0 {
		v.replacement = nil
	}
}

// inDoubt reports whether a path is at or below a place whose value one of the sides does not tell.
func inDoubt(p pair, path string) bool {
	for _, o := range [...]*manifest.Object{p.new, p.old} {
		steps, _ := yamldoc.Steps(o.Value(), path)
		names := make([]string, len(steps))
		for i, step := range steps {
			names[i] = fmt.Sprint(step)
		}
		for _, place := range o.Document.Unknown {
			unknown := pointer.Names(place)
			if len(unknown) <= len(names) && slices.Equal(unknown, names[:len(unknown)]) {
				return true
			}
		}
	}
	return false
}
