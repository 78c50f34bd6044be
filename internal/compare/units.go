package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
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
		doubtful := p.inDoubt(violation.Path) || p.inDoubtBelow(&violation)
		if !doubtful && len(violation.Differences) > 0 && violation.MoreDifferences == 0 {
			doubtful = !slices.ContainsFunc(violation.Differences, func(d Difference) bool { return !p.inDoubt(d.Path) })
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
func (p pair) inDoubt(path string) bool {
	return slices.ContainsFunc([]*manifest.Object{p.new, p.old}, func(o *manifest.Object) bool { return isUnknown(o, namesOf(o, path)) })
}

// inDoubtBelow reports whether all members are in doubt that differ in the objects of a violation.
func (p pair) inDoubtBelow(v *Violation) bool {
	newVal, isObject := v.new.v.(map[string]any)
	oldVal, both := v.old.v.(map[string]any)
	if !isObject || !both || !v.new.ok || !v.old.ok || len(newVal) != len(oldVal) {
		return false
	}
	for name, member := range newVal {
		was, ok := oldVal[name]
		below := append(namesOf(p.new, v.Path), name)
		if !ok || !jsonvalue.Equal(member, was) && !isUnknown(p.new, below) && !isUnknown(p.old, below) {
			return false
		}
	}
	return true
}

// namesOf returns the names of the steps of a path.
func namesOf(o *manifest.Object, path string) []string {
	steps, ok := yamldoc.Steps(o.Value(), path)
	if !ok && !strings.ContainsAny(path, ".[") {
		return []string{path} // the server writes it, as it writes the data of a Secret
	}
	names := make([]string, len(steps))
	for i, step := range steps {
		names[i] = fmt.Sprint(step)
	}
	return names
}

// isUnknown reports whether the files do not tell the value that names lead to.
func isUnknown(o *manifest.Object, names []string) bool {
	return slices.ContainsFunc(o.Document.Unknown, func(place string) bool {
		unknown := pointer.Names(place)
		return len(unknown) <= len(names) && slices.Equal(unknown, names[:len(unknown)])
	})
}
