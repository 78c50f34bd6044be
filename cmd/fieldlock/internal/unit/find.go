package unit

import (
	"bytes"
	"path"
	"regexp"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// The units of a tree are found in three steps, since a file that a unit reads is not an object as it is written:
//
//	find      kustomizations and charts, which are files by themselves
//	discover  units that objects define (nested.go)
//	claim     the files that are input of these units

// find finds the units of a tree.
func (e *engine) find(t Tree) (*side, error) {
	s := &side{
		engine: e, tree: t, byKey: map[string]*Unit{}, input: map[string]bool{}, doubts: map[string][]*Unit{},
		candidates: newCandidates(t, e.shared, e.Builtin),
	}
	if e.Plain {
		return s, nil
	}
	for _, name := range kindNames {
		units, err := e.kinds[name].find(t, &e.Options)
		if err != nil {
			return nil, err
		}
		for _, u := range units {
			if s.byKey[u.pairKey()] == nil {
				s.close(u)
				s.units, s.byKey[u.pairKey()] = append(s.units, u), u
			}
		}
	}
	s.discover()
	s.exclude()
	s.claim()
	return s, nil
}

// exclude takes out the units whose definition is left out.
func (s *side) exclude() {
	if s.Exclude == nil {
		return
	}
	s.units = slices.DeleteFunc(s.units, func(u *Unit) bool {
		if s.Exclude(u.File) {
			s.excluded = append(s.excluded, u)
			delete(s.byKey, u.pairKey())
			return true
		}
		return false
	})
	s.elsewhere = slices.DeleteFunc(s.elsewhere, func(u *Unit) bool { return s.Exclude(u.File) })
}

// claim notes the files that are input of units.
func (s *side) claim() {
	owners := map[string][]*Unit{}
	dirs := map[string]bool{}   // of units whose files are not known
	mayFail := map[*Unit]bool{} // units whose rules may count as they are written
	claim := func(u *Unit, name string) {
		switch {
		case !mayFail[u] || !s.hasRules(name):
			s.input[name] = true
		case u.Err == nil && !slices.Contains(s.doubts[name], u):
			s.doubts[name] = append(s.doubts[name], u)
		}
	}
	for _, u := range s.units {
		mayFail[u] = s.mayFail(u)
		for _, name := range u.Reads {
			if u.peeks || u.tree != nil {
				break
			}
			if u.owns == nil && !isBeside(u.Reads, name) ||
				u.owns != nil && (u.owns(name) || !rendered.Below(name, u.dir)) {
				claim(u, name)
			}
		}
		if u.owns != nil {
			owners[u.dir] = append(owners[u.dir], u)
		}
		if u.Err != nil && u.kind.find != nil {
			dirs[u.dir] = true
		}
	}
	for _, name := range s.tree.Paths() {
		if dirs[path.Dir(name)] && !s.hasRules(name) {
			s.input[name] = true
		}
		for dir := path.Dir(name); !s.input[name]; dir = path.Dir(dir) {
			for _, u := range owners[dir] {
				if u.owns(name) {
					claim(u, name)
				}
			}
			if dir == "." {
				break
			}
		}
	}
}

// isInput reports whether some unit reads a file, so that it is not objects as they are written. It renders the units
// that are in doubt.
func (s *side) isInput(name string) bool {
	return s.input[name] || slices.ContainsFunc(s.doubts[name], func(u *Unit) bool {
		_, err := s.objectsOf(u)
		return !isMissing(err)
	})
}

// rules matches the text of a definition that judges objects: a CRD, or an admission policy.
var rules = regexp.MustCompile(`(?m)^kind: *["']?(?:CustomResourceDefinition|ValidatingAdmissionPolicy)`)

// mayFail reports whether a unit cannot be rendered, or lacks something: whether it can be rendered without that, only
// rendering tells.
func (s *side) mayFail(u *Unit) bool {
	if u.Err != nil || u.lacking.First != nil {
		return true
	}
	data, err := u.in(s.tree).ReadFile(path.Join(u.dir, "Chart.yaml"))
	return err == nil && bytes.Contains(data, []byte("dependencies:"))
}

// hasRules reports whether a file holds CRDs or policies as plain YAML. They judge the objects of the tree even if no
// unit that reads them can be rendered, so they are read as they are written.
func (s *side) hasRules(name string) (found bool) {
	if !manifest.HasObjects(name) {
		return false
	}
	scan(s.tree, name, func(data []byte) {
		found = rules.Match(data) && (path.Base(path.Dir(name)) == "crds" || !bytes.Contains(data, []byte("{{")))
	})
	return found
}
