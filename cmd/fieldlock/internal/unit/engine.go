package unit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/settings"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Options say how units are found and rendered.
type Options struct {
	// Plain leaves units out: all files are read as they are written.
	Plain bool
	// Values reads all documents that are not objects too, as the values of charts: those of files that units read, and of files
	// that both sides have alike.
	Values bool
	// Charts has, for directories of charts, how they are rendered.
	Charts map[string][]settings.Release
	// Exclude, unless nil, reports whether a file is left out, and with it the units that it defines.
	Exclude func(name string) bool
	// Tool, unless nil, returns who deploys a file or unit of which no unit tells, by the name of the file; "" if that is not known.
	Tool func(name string) tool.Name
	// ReadExpected reads expected output of tests like any other file.
	ReadExpected bool
	// Fetch, unless nil, gets charts and bases that the tree does not have.
	Fetch *fetch.Client
	// KubeVersion is the version of Kubernetes that charts see, "" for the newest known one; APIVersions are what the cluster
	// serves besides Kubernetes' own kinds.
	KubeVersion string
	APIVersions []string
	// Builtin, unless nil, reports whether a kind is one of Kubernetes' own, which need no CRD.
	Builtin func(group, kind string) bool
	// Policies are documents with admission policies that are not in the trees. What they read is compared too.
	Policies []*yamldoc.Document
	// InTree, unless nil, reports whether the tree is a repository of a URL. Without it, every repository counts as the tree.
	InTree func(url string) bool
	// Repository, unless nil, is what the tree is a revision of. Without it, sources are read from the tree, whatever revision they name.
	Repository Repository
	// Texts keeps the texts of objects, and Origins asks for their origins at once, for those who print all objects.
	Texts, Origins bool
	// Limits bound the rendering.
	Limits worker.Limits
	// Step, unless nil, is called after each unit that is rendered.
	Step func()
}

// engine finds and renders the units of one or two trees. What both trees have alike is read and rendered once.
type engine struct {
	Options
	kinds  map[string]*kind
	pool   *worker.Pool
	shared *yamldoc.Shared

	mu      sync.Mutex
	results map[string]*result // by digest
	closed  map[string]closure // by kind, directory and specification

	definitions map[string]*fileDefinitions // by the ID of the file
	revisions   map[string]revision         // by their names
}

// closure is the files that a unit reads, with what was looked at to find out.
type closure struct {
	trace     *trace
	reads     []string
	lacking   rendered.Lacking
	elsewhere []helm.Dependency
	err       error
}

func newEngine(o Options) *engine {
	return &engine{
		Options: o, kinds: kinds(), pool: worker.NewPool(o.Limits), shared: &yamldoc.Shared{},
		results: map[string]*result{}, closed: map[string]closure{}, definitions: map[string]*fileDefinitions{}, revisions: map[string]revision{},
	}
}

func (e *engine) close() {
	e.pool.Close()
	for _, r := range e.revisions {
		if r.err == nil {
			r.done()
		}
	}
}

// side is a tree and its units.
type side struct {
	*engine
	tree  Tree
	units []*Unit
	byKey map[string]*Unit
	// input are the files that some unit surely reads, and those that belong to a unit although this one does not read them: they are
	// not objects as they are written.
	input      map[string]bool
	doubts     map[string][]*Unit // the units that read a file with rules, if they can be rendered
	elsewhere  []*Unit            // whose files are not in the tree
	excluded   []*Unit
	leftOut    []*Unit                      // those beyond maxUnits
	defined    []*Unit                      // those that are files or that files define, as they are written
	readers    map[string][]*Unit           // the units that read a file, also those that are not deployed as they are written
	found      map[string][]fileObject      // what objects has found
	generators map[string][]byte            // the kustomization files that generate objects
	generates  map[string]map[string]string // what generated has found
	edits      *edits                       // what the change touches; nil if there is only one side
}

// find finds the units of a tree.
func (e *engine) find(t Tree) (*side, error) {
	s := &side{engine: e, tree: t, byKey: map[string]*Unit{}, input: map[string]bool{}, doubts: map[string][]*Unit{}, found: map[string][]fileObject{},
		generates: map[string]map[string]string{}}
	if e.Plain {
		return s, nil
	}
	for _, name := range kindNames {
		units, err := e.kinds[name].find(t, &e.Options)
		if err != nil {
			return nil, err
		}
		for _, u := range units {
			if s.byKey[u.key()] == nil {
				s.close(u)
				s.units, s.byKey[u.key()] = append(s.units, u), u
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
			delete(s.byKey, u.key())
			return true
		}
		return false
	})
	s.elsewhere = slices.DeleteFunc(s.elsewhere, func(u *Unit) bool { return s.Exclude(u.File) })
}

// close finds the files that a unit reads. What was found in the other tree is taken over if this tree has all of it alike.
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
		u.elsewhere, u.lacking, u.fetches = nil, rendered.Lacking{}, s.Fetch != nil
		c.reads, c.err = u.kind.reads(c.trace, u)
		c.elsewhere, c.lacking = u.elsewhere, u.lacking
		if c.err != nil {
			c.reads = sorted(slices.Concat(c.reads, c.trace.seen()))
		}
		s.mu.Lock()
		s.closed[key] = c
		s.mu.Unlock()
	}
	u.Reads, u.lacking, u.elsewhere, u.Err, u.digestIn = c.reads, c.lacking, c.elsewhere, c.err, nil
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
			if u.owns == nil && !isBeside(u.Reads, name) || u.owns != nil && (u.owns(name) || !below(name, u.dir)) {
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

// isInput reports whether some unit reads a file, so that it is not objects as they are written. It renders the units that are in doubt.
func (s *side) isInput(name string) bool {
	return s.input[name] || slices.ContainsFunc(s.doubts[name], func(u *Unit) bool {
		_, err := s.render(u)
		return !isMissing(err)
	})
}

// rules matches the text of a definition that judges objects: a CRD, or an admission policy.
var rules = regexp.MustCompile(`(?m)^kind: *["']?(?:CustomResourceDefinition|ValidatingAdmissionPolicy)`)

// mayFail reports whether a unit cannot be rendered, or lacks something: whether it can be rendered without that, only rendering tells.
func (s *side) mayFail(u *Unit) bool {
	if u.Err != nil || u.lacking.First != nil {
		return true
	}
	data, err := u.in(s.tree).ReadFile(path.Join(u.dir, "Chart.yaml"))
	return err == nil && bytes.Contains(data, []byte("dependencies:"))
}

// hasRules reports whether a file holds CRDs or policies as plain YAML. They judge the objects of the tree even if no unit that reads
// them can be rendered, so they are read as they are written.
func (s *side) hasRules(name string) (found bool) {
	if !manifest.HasObjects(name) {
		return false
	}
	scan(s.tree, name, func(data []byte) {
		found = rules.Match(data) && (path.Base(path.Dir(name)) == "crds" || !bytes.Contains(data, []byte("{{")))
	})
	return found
}

// result is what came of rendering.
type result struct {
	once    sync.Once
	objects []Object
	lacks   *rendered.NotCovered // what they were rendered without
	err     error
}

// Object is one object of a unit.
type Object struct {
	// Document is the object as it is rendered. Its positions are not those of a file.
	*yamldoc.Document
	// File is the file of the tree that the object is written in, or the template that prints it, "" where that is not known;
	// Cause is the file that last changed it on its way, if any.
	File, Cause string
	Role        rendered.Role
	Unknown     []string // places whose values the tree does not tell, as JSON pointers
	Text        []byte   // with Options.Texts, as the tool prints it
}

// render renders a unit of the side.
func (s *side) render(u *Unit) ([]Object, error) {
	if u.Err != nil {
		return nil, u.Err
	}
	r := s.result(u)
	return r.objects, r.err
}

// result renders a unit that has no error.
func (s *side) result(u *Unit) *result {
	digest := u.digest(s.tree)
	s.mu.Lock()
	r := s.results[digest]
	if r == nil {
		r = &result{}
		s.results[digest] = r
	}
	s.mu.Unlock()
	r.once.Do(func() {
		if k := s.builds(u); k != nil {
			of := s.result(k)
			r.objects, r.lacks, r.err = of.objects, of.lacks, of.err
			return
		}
		r.objects, r.lacks, r.err = s.renderAnew(u, s.Origins)
		if s.Step != nil {
			s.Step()
		}
	})
	return r
}

// lacks returns what a unit was rendered without, nil for nothing.
func (s *side) lacks(u *Unit) *rendered.NotCovered {
	if u == nil || u.Err != nil {
		return nil
	}
	return s.result(u).lacks
}

// decides identifies all that decides about the missing part of a unit: its definition, and all files but those of which each decides only
// about its own objects.
func (s *side) decides(u *Unit) string {
	h := sha256.New()
	h.Write(u.spec)
	for _, name := range u.Reads {
		if !u.lacking.Apart[name] && !s.printsAlone(u, name) {
			fmt.Fprintf(h, "\x00%s\x00%s", name, state(u.in(s.tree), name))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// printsAlone reports whether a file is a template of a chart, and not one of which others use a part.
func (s *side) printsAlone(u *Unit, name string) (alone bool) {
	if !strings.Contains(name, "templates/") || !exists(u.in(s.tree), path.Join(u.dir, "Chart.yaml")) {
		return false
	}
	scan(u.in(s.tree), name, func(data []byte) {
		alone = !naming.Match(data)
	})
	return alone
}

// naming matches an action of a template that gives a part of it a name, by which others use it.
var naming = regexp.MustCompile(`\{\{-?\s*(?:define|block)\b`)

// builds returns the kustomization that a unit of another kind deploys unchanged, from the same files. Any other unit has none: nil.
func (s *side) builds(u *Unit) *Unit {
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

// renderAnew renders a unit once more.
func (s *side) renderAnew(u *Unit, origins bool) (objects []Object, lacks *rendered.NotCovered, err error) {
	job, err := u.job(s.tree)
	if err == nil {
		err = s.fetch(u, job)
	}
	if err != nil {
		return nil, nil, err
	}
	job.Origins = origins
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
			object := Object{Document: d, File: o.File, Cause: o.Cause, Role: o.Role, Unknown: o.Unknown}
			if below(o.File, helm.Fetched) {
				object.File = u.File
			}
			if below(o.Cause, helm.Fetched) {
				object.Cause = ""
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
	manifest.Each(len(units), func(i int) { s.render(units[i]) })
}

// exists reports whether a tree has a file.
func exists(t Tree, name string) bool {
	info, err := fs.Stat(t, name)
	return err == nil && !info.IsDir()
}
