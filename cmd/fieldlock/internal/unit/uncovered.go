package unit

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// What cannot be read as it is deployed: a unit that lacks something is not covered, and one that its tool refuses is a
// mistake. Either is placed at the line of the change that touches it, if there is one.

// noBaseline begins the reason why the objects of a unit are compared with nothing.
const noBaseline = "there is nothing to compare with, since OLD cannot be rendered: "

// notCovered describes a unit that cannot be rendered.
func (s *side) notCovered(u *Unit, err error) result.NotCovered {
	file, line, reason := u.place(err)
	return result.NotCovered{Unit: u.Name, Kind: u.Kind, File: s.tree.Name(file), Line: line, Reason: reason}
}

// changedNotCovered describes a unit that the change touches and that cannot be rendered.
func (s *side) changedNotCovered(u *Unit, err error) result.NotCovered {
	n := s.notCovered(u, err)
	n.Changed = true
	s.placeEdit(&n, u)
	return n
}

// placeEdit gives a unit that is not covered the first line of the change that touches it, in its own file if there is
// one, and there in its own definition. A line that the reason names stays.
func (s *side) placeEdit(n *result.NotCovered, u *Unit) {
	if s.edits == nil {
		return
	}
	list := s.edits.touching(u)
	ownFrom := func(line int) int {
		return slices.IndexFunc(list, func(e edit) bool { return s.tree.Name(e.file) == n.File && e.line >= line })
	}
	own := ownFrom(0)
	switch {
	case own >= 0 && n.Line <= u.definedAt():
		n.Line = list[max(own, ownFrom(u.definedAt()))].line
	case own < 0 && len(list) > 0:
		n.File, n.Line, n.From = s.tree.Name(list[0].file), list[0].line, n.File
	}
}

// mistakeOf returns the error of a unit that its tool refuses.
func (s *side) mistakeOf(u *Unit, err error) error {
	file, line, reason := u.place(err)
	return &yamldoc.Error{File: s.tree.Name(file), Line: line,
		Message: u.String() + " cannot be rendered: " + strings.TrimPrefix(reason, file+": ")}
}

// textOf describes what a side has of a file or unit, and of all files that the unit reads.
func (s *side) textOf(n *result.NotCovered) string {
	lines := []string{n.Kind + "\x00" + n.Unit}
	if n.Kind == "file" {
		return lines[0] + "\x00" + state(s.tree, n.Unit)
	}
	for _, u := range slices.Concat(s.units, s.elsewhere) {
		if u.Kind != n.Kind || u.Name != n.Unit {
			continue
		}
		lines = append(lines, s.record(u))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\x00")
}
