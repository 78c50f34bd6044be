package unit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Side is one tree, and which of its files to read.
type Side struct {
	Tree Tree
	// Files are the files that hold objects as they are written, unless a unit reads them. They are not parsed yet.
	Files []manifest.File
	// Read returns the content of one of Files; nil reads it from the tree.
	Read func(f *manifest.File) ([]byte, error)
	// Paths select the units that read a file there; nil selects all. With paths, Others returns the files like Files that they
	// do not name.
	Paths  []string
	Others func() []manifest.File
	// Partial is set where a part of the tree is in another repository and may differ: a submodule at another commit.
	Partial bool
}

func (s *Side) content(f *manifest.File) ([]byte, error) {
	if s.Read != nil {
		return s.Read(f)
	}
	return s.Tree.ReadFile(f.Path)
}

// id identifies the content of one of Files.
func (s *Side) id(f *manifest.File) string {
	if s.Read == nil {
		if id, err := s.Tree.ID(f.Path); err == nil {
			return id
		}
		return ""
	}
	data, err := s.Read(f)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// selects reports whether a unit reads a file that the paths of the side name.
func (s *Side) selects(u *Unit) bool {
	if s.Paths == nil {
		return true
	}
	for _, p := range s.Paths {
		if below(u.File, p) || u.tree == nil && slices.ContainsFunc(u.Reads, func(name string) bool { return below(name, p) }) {
			return true
		}
	}
	return false
}

// names reports whether the paths of the side name a file.
func (s *Side) names(file string) bool {
	return s.Paths == nil || slices.ContainsFunc(s.Paths, func(p string) bool { return below(file, p) })
}

// NotCovered is what could not be read as it is deployed.
type NotCovered struct {
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
	File    string `json:"file,omitempty"` // as messages name it: where the change touches the unit, otherwise where the reason is
	Line    int    `json:"line,omitempty"`
	From    string `json:"-"` // where the reason is, if that is another file
	Reason  string `json:"reason"`
	Changed bool   `json:"-"`
	isNew   bool   // OLD has no such unit
	// Change is a digest of what both sides have at everything that the unit may read.
	Change string `json:"-"`
}

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
	NotCovered []NotCovered
	// Errs are the mistakes of units.
	Errs []error

	side *side
}

// Place returns where an object of a unit is written: the file of the tree as messages name it, and the line.
func (s *Set) Place(u *Unit, o Object) (file string, line int) {
	d := s.side.place(u, o)
	return d.File, d.Position().Line
}

// Manifests returns the objects of the set, those of each unit as one file, and the files that no unit reads.
func (s *Set) Manifests() []manifest.File {
	var files []manifest.File
	for _, u := range s.Units {
		files = append(files, s.side.manifests(u)...)
	}
	return append(files, s.Files...)
}

// at returns the units that a directory is by itself, also where others include it: the kustomization, or the chart with each
// of its files of values; nil for any other directory.
func (s *side) at(dir string) []*Unit {
	var units []*Unit
	for _, name := range kindNames {
		if k := s.kinds[name]; k.at != nil {
			units = append(units, k.at(s.tree, dir, &s.Options)...)
		}
	}
	for _, u := range units {
		s.close(u)
	}
	return units
}

// Load finds and renders all units of a tree, and parses the files that are left. If the only path is a directory that is a
// kustomization or a chart, it renders that one alone.
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
		objects, err := s.render(u)
		switch {
		case isMissing(err):
			set.NotCovered = append(set.NotCovered, s.changedNotCovered(u, err))
		case err != nil:
			set.Errs = append(set.Errs, s.mistake(u, err))
		default:
			if lacks := s.lacks(u); lacks != nil {
				set.NotCovered = append(set.NotCovered, s.changedNotCovered(u, lacks))
			}
			set.Units = append(set.Units, Rendered{u, objects, true})
		}
	}
	if !alone {
		set.NotCovered = append(set.NotCovered, s.missing(in, func(*Unit) bool { return false })...)
	}
	for _, f := range excluded {
		if !alone && !s.isInput(f.Path) {
			set.NotCovered = append(set.NotCovered, NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Reason: Excluded})
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
			set.NotCovered = append(set.NotCovered, NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Reason: reason, Changed: true})
			continue
		}
		set.Files = append(set.Files, f)
	}
	return set, nil
}

// Parse reads files of the side.
func (s *Side) Parse(files []manifest.File) []manifest.File {
	var parsed []manifest.File
	for _, f := range files {
		parsed = append(parsed, s.parse(f, &yamldoc.Shared{}, nil))
	}
	return parsed
}

// parse reads one of the files.
func (s *Side) parse(f manifest.File, shared *yamldoc.Shared, wanted func(text []byte) bool) manifest.File {
	if f.Err != nil {
		return f
	}
	data, err := s.content(&f)
	if err != nil {
		f.Err = &yamldoc.Error{File: f.Name, Message: "cannot be read: " + manifest.Cause(err).Error()}
		return f
	}
	f.ParseSome(data, shared, wanted)
	return f
}

// addElsewhere lists the definitions of units whose files are not in the tree.
func (c *comparison) addElsewhere() {
	olds, names := map[string][]*Unit{}, map[string]bool{}
	for _, u := range c.olds.elsewhere {
		if c.oldSide.names(u.File) {
			olds[u.String()] = append(olds[u.String()], u)
		}
		names[u.String()] = true
	}
	for _, u := range c.olds.units {
		names[u.String()] = true
	}
	news := c.news.missing(c.newSide, func(u *Unit) bool {
		return !slices.ContainsFunc(olds[u.String()], func(old *Unit) bool { return !c.differ(u, old) })
	})
	for i := range news {
		news[i].isNew = !names[news[i].Kind+" "+news[i].Unit]
	}
	c.out.NotCovered = append(c.out.NotCovered, news...)
}

// missing lists the units whose files are not in the tree, and whose definitions are in files that the side names.
func (s *side) missing(in *Side, changed func(u *Unit) bool) []NotCovered {
	var list []NotCovered
	for _, u := range s.elsewhere {
		if in.names(u.File) {
			n := s.notCovered(u, u.Err)
			n.Line = u.document.Position().Line
			if n.Changed = changed(u); n.Changed {
				s.placeEdit(&n, u)
			}
			list = append(list, n)
		}
	}
	return list
}

// notCovered describes a unit that cannot be rendered.
func (s *side) notCovered(u *Unit, err error) NotCovered {
	file, line, reason := u.place(err)
	return NotCovered{Unit: u.Name, Kind: u.Kind, File: s.tree.Name(file), Line: line, Reason: reason}
}

// changedNotCovered describes a unit that the change touches and that cannot be rendered.
func (s *side) changedNotCovered(u *Unit, err error) NotCovered {
	n := s.notCovered(u, err)
	n.Changed = true
	s.placeEdit(&n, u)
	return n
}

// placeEdit gives a unit that is not covered the first line of the change that touches it, unless the change touches its own file.
func (s *side) placeEdit(n *NotCovered, u *Unit) {
	if s.edits == nil {
		return
	}
	list := s.edits.touching(u)
	own := slices.IndexFunc(list, func(e edit) bool { return s.tree.Name(e.file) == n.File })
	switch {
	case own >= 0 && n.Line == 0:
		n.Line = list[own].line
	case own < 0 && len(list) > 0:
		n.File, n.Line, n.From = s.tree.Name(list[0].file), list[0].line, n.File
	}
}

// identifyChanges adds a digest to what changed and is not covered, of all that both sides have of it. An acceptance that has it does
// not accept the next change.
func (c *comparison) identifyChanges() {
	for i := range c.out.NotCovered {
		if n := &c.out.NotCovered[i]; n.Changed {
			sum := sha256.Sum256([]byte(c.news.textOf(n) + "\x00" + c.olds.textOf(n)))
			n.Change = hex.EncodeToString(sum[:8])
		}
	}
}

// textOf describes what a side has of a file or unit, and of all files that the unit reads.
func (s *side) textOf(n *NotCovered) string {
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

// mistake returns the error of a unit that its tool refuses.
func (s *side) mistake(u *Unit, err error) error {
	file, line, reason := u.place(err)
	return &yamldoc.Error{File: s.tree.Name(file), Line: line, Message: u.String() + " cannot be rendered: " + strings.TrimPrefix(reason, file+": ")}
}

// files returns what manifests does for a unit that may have to be rendered; nil if that fails.
func (s *side) files(u *Unit) []manifest.File {
	objects, err := s.render(u)
	if err != nil {
		return nil
	}
	return s.manifests(Rendered{Unit: u, Objects: objects})
}

// manifests returns the objects of a unit as a file of objects; those that Helm installs once as one of their own.
func (s *side) manifests(r Rendered) []manifest.File {
	name := s.tree.Name(r.File)
	ordinary := manifest.File{Name: name, Path: r.key(), Unit: r.String(), AppliedBy: r.applier(name), Found: true}
	if s.Tool != nil {
		ordinary.AppliedBy = ordinary.AppliedBy.By(s.Tool(r.File))
	}
	once := ordinary
	once.AppliedBy.InstallsOnce = !ordinary.AppliedBy.Lone || ordinary.AppliedBy.Tool == tool.Helm
	for _, o := range r.Objects {
		into := &ordinary
		if o.Role == rendered.CRD {
			into = &once
		}
		into.Documents = append(into.Documents, s.place(r.Unit, o))
	}
	return []manifest.File{ordinary, once}
}

// mentions reports whether a text has all of words.
func mentions(data []byte, words ...string) bool {
	for _, w := range words {
		if !bytes.Contains(data, []byte(w)) {
			return false
		}
	}
	return true
}
