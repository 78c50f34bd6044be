package unit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// engine finds and renders the units of one or two trees. What both trees have alike is read and rendered once.
type engine struct {
	Options
	kinds  map[string]*unitKind
	pool   *worker.Pool
	shared *yamldoc.Shared

	mu      sync.Mutex
	results map[string]*rendering // by digest
	closed  map[string]closure    // by kind, directory and specification

	definitions map[string]*fileDefinitions // by the ID of the file
	revisions   *revisions
}

// closure is the files that a unit reads, with what was looked at to find out.
type closure struct {
	trace     *trace
	reads     []string
	lacking   rendered.Lacking
	charts    bool
	outside   error
	elsewhere []helm.Dependency
	err       error
}

func newEngine(o Options) *engine {
	return &engine{
		Options: o, kinds: kinds(), pool: worker.NewPool(o.Limits), shared: &yamldoc.Shared{},
		results: map[string]*rendering{}, closed: map[string]closure{}, definitions: map[string]*fileDefinitions{},
		revisions: newRevisions(o.Repository),
	}
}

func (e *engine) close() {
	e.pool.Close()
	e.revisions.close()
}

// side is a tree and its units.
type side struct {
	*engine
	tree  Tree
	units []*Unit
	byKey map[string]*Unit
	// input are the files that some unit surely reads, and those that belong to a unit although this one does not read
	// them: they are not objects as they are written.
	input      map[string]bool
	doubts     map[string][]*Unit // the units that read a file with rules, if they can be rendered
	elsewhere  []*Unit            // whose files are not in the tree
	excluded   []*Unit
	leftOut    []*Unit            // those beyond maxUnits
	defined    []*Unit            // those that are files or that files define, as they are written
	readers    map[string][]*Unit // the units that read a file, also those that are not deployed as they are written
	candidates *candidates        // the objects that its definitions may refer to
	edits      *edits             // what the change touches; nil if there is only one side
}

// close finds the files that a unit reads. What was found in the other tree is taken over if this tree has all of it
// alike.
func (s *side) close(u *Unit) {
	key := u.kind.name + "\x00" + u.dir + "\x00" + string(u.spec)
	if u.missing != nil {
		u.Err = u.missing
		return
	}
	t := u.in(s.tree)
	s.mu.Lock()
	c, ok := s.closed[key]
	s.mu.Unlock()
	if !ok || c.trace.Tree != t && !c.trace.sameIn(t) {
		c.trace = newTrace(t)
		u.elsewhere, u.lacking, u.charts, u.outside, u.fetches = nil, rendered.Lacking{}, false, nil, s.Fetch != nil
		c.reads, c.err = u.kind.reads(c.trace, u)
		c.elsewhere, c.lacking, c.charts, c.outside = u.elsewhere, u.lacking, u.charts, u.outside
		if c.err != nil {
			c.reads = sorted(slices.Concat(c.reads, c.trace.seen()))
		}
		s.mu.Lock()
		s.closed[key] = c
		s.mu.Unlock()
	}
	u.Reads, u.lacking, u.charts, u.outside, u.elsewhere = c.reads, c.lacking, c.charts, c.outside, c.elsewhere
	u.Err, u.digestIn = c.err, nil
}

// rendering is what came of rendering a unit.
type rendering struct {
	once    sync.Once
	objects []Object
	lacks   *rendered.NotCovered // what they were rendered without
	err     error
}

// objectsOf renders a unit of the side.
func (s *side) objectsOf(u *Unit) ([]Object, error) {
	if u.Err != nil {
		return nil, u.Err
	}
	r := s.resultOf(u)
	return r.objects, r.err
}

// resultOf renders a unit that has no error.
func (s *side) resultOf(u *Unit) *rendering {
	digest := u.inputDigest(s.tree)
	s.mu.Lock()
	r := s.results[digest]
	if r == nil {
		r = &rendering{}
		s.results[digest] = r
	}
	s.mu.Unlock()
	r.once.Do(func() {
		if k := s.deployedAs(u); k != nil {
			of := s.resultOf(k)
			r.objects, r.lacks, r.err = of.objects, of.lacks, of.err
			return
		}
		r.objects, r.lacks, r.err = s.renderAnew(u)
		if s.Step != nil {
			s.Step()
		}
	})
	return r
}

// lackedBy returns what a unit was rendered without, nil for nothing.
func (s *side) lackedBy(u *Unit) *rendered.NotCovered {
	if u == nil || u.Err != nil {
		return nil
	}
	return s.resultOf(u).lacks
}

// decidingParts identifies all that decides about the missing part of a unit: its definition, what its files say about
// it, and the names of objects to which it may refer.
func (s *side) decidingParts(u *Unit) string {
	t := u.in(s.tree)
	has := func(name string, is func(data []byte) bool) (found bool) {
		scan(t, name, func(data []byte) { found = is(data) })
		return found
	}
	var of rendered.Decision
	if u.lacking.Decides != nil {
		of, _ = u.lacking.Decides(has)
	}
	var runs images
	if lacks := s.lackedBy(u); u.lacking.First == nil && lacks != nil && lacks.Encrypted && !of.Copies {
		objects, _ := s.objectsOf(u)
		runs = imagesOf(objects)
	}
	h := sha256.New()
	h.Write(u.deciding())
	for _, name := range u.Reads {
		text, inPart := of.Files[name]
		encrypted := has(name, yamldoc.IsEncrypted)
		switch {
		case encrypted, !inPart && len(runs) == 0:
			text = name + "\x00" + state(t, name)
		case !inPart:
			scan(t, name, func(data []byte) { text = string(data) })
			text = name + "\x00" + text
		}
		if text != "" {
			fmt.Fprintf(h, "\x00%s", runs.blank(text))
		}
	}
	if of.Renames || of.Hashes {
		objects, _ := s.objectsOf(u)
		for _, o := range objects {
			if kind, _ := o.Object["kind"].(string); of.Renames || kind == "ConfigMap" || kind == "Secret" {
				fmt.Fprintf(h, "\x00%s %s", kind, nameOf(o.Object))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// deployedAs returns the kustomization that a unit of another kind deploys unchanged, from the same files. Any other
// unit has none: nil.
func (s *side) deployedAs(u *Unit) *Unit {
	if u.kind.builds == nil || u.tree != nil || s.Fetch != nil {
		return nil
	}
	dir := u.kind.builds(s.tree, u)
	if dir == "" {
		return nil
	}
	for _, k := range s.at(dir) {
		if k.kind.name == "kustomization" && k.Err == nil && slices.Equal(k.Reads, u.Reads) {
			return k
		}
	}
	return nil
}

// at returns the units that a directory is by itself, also where others include it: the kustomization, or the chart
// with each of its files of values; nil for any other directory.
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

// renderAnew renders a unit once more.
func (s *side) renderAnew(u *Unit) (objects []Object, lacks *rendered.NotCovered, err error) {
	job, err := u.job(s.tree)
	if err == nil {
		err = u.addFetches(s.Fetch, s.tree, job)
	}
	if err != nil {
		return nil, nil, err
	}
	job.Texts = s.Texts
	list, lacks, err := s.pool.Render(job)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range list {
		documents, _, err := s.shared.Read(u.String(), o.YAML)
		if err != nil && !errors.Is(err, yamldoc.ErrNotObject) {
			return nil, nil, fmt.Errorf("it prints what is not an object: %w", err)
		}
		for _, d := range documents {
			object := Object{Document: d, File: o.File, Role: o.Role, Unknown: o.Unknown}
			if rendered.Below(o.File, helm.Fetched) {
				object.File = u.File
			}
			if s.Texts {
				object.Text = o.YAML
			}
			objects = append(objects, object)
		}
	}
	if u.Kind == "Application" {
		objects = lastOfEach(objects, u.Namespace)
	}
	return objects, lacks, nil
}

// renderAll renders units on all processors, so that render has their results.
func (s *side) renderAll(units []*Unit) {
	manifest.Each(len(units), func(i int) { s.objectsOf(units[i]) })
}

// kinds returns all kinds of units by their names.
func kinds() map[string]*unitKind {
	all := map[string]*unitKind{}
	for _, k := range []*unitKind{kustomizations(), chartKind(), fluxKustomizations(), helmReleases(), applications(),
		applicationSets()} {
		all[k.name] = k
	}
	return all
}

// kindNames are the kinds in the order in which they are found.
var kindNames = []string{"kustomization", "chart"}

// Renderers returns what a worker renders.
func Renderers() map[string]worker.Renderer {
	all := map[string]worker.Renderer{}
	for name, k := range kinds() {
		all[name] = k.render
	}
	return all
}

// fileDefinitions are the definitions in a text, and which other words it has.
type fileDefinitions struct {
	defines        bool // it may have definitions
	named          bool // it has the words of one: group and kind
	documents      []*yamldoc.Document
	holds          bool // a template that may define others
	templated      bool
	policies, crds bool
}

// kindOf returns the kind of unit that an object defines; nil for none.
func (e *engine) kindOf(object map[string]any) *unitKind {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	for _, k := range e.kinds {
		if k.group != "" && k.group == group && k.object == name {
			return k
		}
	}
	return nil
}
