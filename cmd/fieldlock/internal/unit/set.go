package unit

import (
	"cmp"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Rendered is a unit with its objects.
type Rendered struct {
	*Unit
	Objects []Object
	Changed bool
}

// Set is what is deployed from a tree: its units with their objects, and the files that no unit reads.
type Set struct {
	Units      []Rendered
	Files      []manifest.File
	NotCovered []result.NotCovered
	// Errs are the mistakes of units.
	Errs []error

	side *side
}

// Place returns where an object of a unit is written: the file of the tree as messages name it, and the line.
func (s *Set) Place(u *Unit, o Object) (file string, line int) {
	at := s.side.place(u, o).Place(nil)
	return at.File, at.Line
}

// Manifests returns the objects of the set, those of each unit as one file, and the files that no unit reads.
func (s *Set) Manifests() []manifest.File {
	var files []manifest.File
	for _, u := range s.Units {
		files = append(files, s.side.manifests(u.Unit, u.Objects)...)
	}
	return append(files, s.Files...)
}

// Load finds and renders all units of a tree, and parses the files that are left. If the only path is a directory that
// is a kustomization or a chart, it renders that one alone.
func Load(in *Side, o Options) (*Set, error) {
	e := newEngine(o)
	defer e.close()
	s, err := e.find(in.Tree)
	if err != nil {
		return nil, err
	}
	in, excluded, _ := s.takeExcluded(in)
	units := slices.DeleteFunc(slices.Clone(s.units), func(u *Unit) bool { return !in.selects(u) })
	alone := false
	if len(in.Paths) == 1 {
		if own := s.at(in.Paths[0]); own != nil {
			units, alone = own, true
		}
	}
	for _, u := range units {
		s.resolve(u)
	}
	s.renderAll(units)
	set := &Set{side: s}
	for _, u := range units {
		objects, err := s.objectsOf(u)
		err = cmp.Or(err, u.outside)
		switch {
		case isMissing(err):
			set.NotCovered = append(set.NotCovered, s.changedNotCovered(u, err))
		case err != nil:
			set.Errs = append(set.Errs, s.mistakeOf(u, err))
		default:
			if lacks := s.lackedBy(u); lacks != nil {
				set.NotCovered = append(set.NotCovered, s.changedNotCovered(u, lacks))
			}
			set.Units = append(set.Units, Rendered{u, objects, true})
		}
	}
	if !alone {
		set.NotCovered = append(set.NotCovered, s.missingUnits(in, func(*Unit) bool { return false })...)
	}
	for _, f := range excluded {
		if !alone && !s.isInput(f.Path) {
			set.NotCovered = append(set.NotCovered,
				result.NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Reason: Excluded})
		}
	}
	for _, f := range in.Files {
		if alone || s.isInput(f.Path) {
			continue
		}
		f = in.parse(f, e.shared, nil)
		if f.Err != nil && !o.Plain && !mayHoldObject(&f) {
			continue
		}
		if reason := unreadable(&f); reason != "" && !o.Plain {
			set.NotCovered = append(set.NotCovered,
				result.NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Reason: reason, Changed: true})
			continue
		}
		set.Files = append(set.Files, f)
	}
	return set, nil
}
