package unit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/settings"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Options say how units are found and rendered.
type Options struct {
	// Plain leaves units out: all files are read as they are written.
	Plain bool
	// Values reads all documents that are not objects too, as the values of charts: those of files that units read, and
	// of files that both sides have alike.
	Values bool
	// Charts has, for directories of charts, how they are rendered.
	Charts map[string][]settings.Release
	// Exclude, unless nil, reports whether a file is left out, and with it the units that it defines.
	Exclude func(name string) bool
	// Tool, unless nil, returns who deploys a file or unit of which no unit tells, by the name of the file; "" if that
	// is not known.
	Tool func(name string) tool.Name
	// ReadExpected reads expected output of tests like any other file.
	ReadExpected bool
	// Fetch, unless nil, gets charts and bases that the tree does not have.
	Fetch *fetch.Client
	// Cluster is what charts learn of the cluster.
	Cluster rendered.Cluster
	// Builtin, unless nil, reports whether a kind is one of Kubernetes' own, which need no CRD.
	Builtin func(group, kind string) bool
	// Policies are documents with admission policies that are not in the trees. What they read is compared too.
	Policies []*yamldoc.Document
	// InTree, unless nil, reports whether the tree is a repository of a URL. Without it, every repository counts as the
	// tree.
	InTree func(url string) bool
	// Repository, unless nil, is what the tree is a revision of. Without it, sources are read from the tree, whatever
	// revision they name.
	Repository Repository
	// Texts keeps the texts of objects, for those who print them.
	Texts bool
	// Limits bound the rendering.
	Limits worker.Limits
	// Step, unless nil, is called after each unit that is rendered.
	Step func()
}

// Unit is what one tool applies together.
type Unit struct {
	// Kind is how reports name the kind of unit: "kustomization", "chart", "HelmRelease".
	Kind string
	// Name tells the unit from others of its kind: a directory, or namespace and name of the object that defines it.
	Name string
	// File is where the unit is defined.
	File string
	// Reads are the files that the unit is rendered from, sorted. If Err is set, they are all that it may read.
	Reads []string
	// Err is why the unit cannot be rendered, as far as that is known without rendering it: a *rendered.NotCovered if
	// the tree lacks something.
	Err error

	// Applier is how the tool applies objects: "server-side", "client-side", "replace", or "" where that is not known.
	// Prune tells whether it deletes what is gone, and Force whether it replaces what cannot be updated.
	Applier      string
	Prune, Force bool
	// Namespace is where objects go that name none, "" where that is not known.
	Namespace string

	kind *unitKind
	// document is the definition of the unit, if it was read from a file; parent is the unit that prints the
	// definition.
	document *yamldoc.Document
	parent   *Unit
	tree     Tree                      // with its files; nil for the tree of its definition
	missing  error                     // why the unit is not in the tree, where its definition tells
	refers   references                // of its definition
	keeps    map[flux.Reference]string // the files that some of them mean in OLD
	peeks    bool                      // other units and the files keep what it reads
	unread   bool                      // its definition has a field of the wrong type
	lacking  rendered.Lacking          // what its files show that it is rendered without
	charts   bool                      // a kustomization has helmCharts
	outside  error                     // why kustomize refuses a kustomization unless it may read any file of the tree
	values   bool                      // all files that it reads are values of charts elsewhere
	// lists, unless nil, reports whether the unit reads only the name of a file, not its content.
	lists func(name string) bool

	dir    string
	spec   []byte // of the job
	random bool   // two renderings may differ
	owns   func(name string) bool

	digestIn Tree // that digested is of
	digested string

	// With Options.Fetch, fetched has the chart of each directory below helm.Fetched that the definition of the unit
	// names, and elsewhere the charts that its files name.
	fetches   bool
	fetched   map[string]fetch.Chart
	elsewhere []helm.Dependency
}

// in returns the tree that has the files of the unit: t, unless its source is at another revision.
func (u *Unit) in(t Tree) Tree {
	if u.tree != nil {
		return u.tree
	}
	return t
}

// String names the unit in messages.
func (u *Unit) String() string { return u.Kind + " " + u.Name }

// unitKind is a kind of unit. To add one takes a chapter with such a value, and its row in kinds.
type unitKind struct {
	name string
	// group and object are the group and kind of the objects that define such units, and from returns the unit that one
	// of them defines; nil for none. They are empty for a kind of unit that is found as files.
	group, object string
	from          func(d *definer, o Object) *Unit
	// find returns the units of this kind that are files of a tree by themselves.
	find func(t Tree, o *Options) ([]*Unit, error)
	// at, unless nil, returns the units that a directory is by itself.
	at func(t Tree, dir string, o *Options) []*Unit
	// reads returns the files that a unit is rendered from.
	reads func(t Tree, u *Unit) ([]string, error)
	// builds, unless nil, returns the directory of the kustomization that the unit deploys unchanged, "" for other
	// units.
	builds func(t Tree, u *Unit) string
	// deploys, unless nil, returns the directories that the definitions which a unit prints may deploy, if they are not
	// known.
	deploys func(u *Unit) []string
	// render renders a unit, in a worker.
	render worker.Renderer
}

// definer is what reading the definition of a unit takes. Its lookup returns the object that a reference means.
type definer struct {
	*Options
	*revisions
	lookup func(r flux.Reference) (object map[string]any, ok bool)
}

// defines returns the specification of a unit that an object defines.
func (d *definer) defines(o Object, references []flux.Reference) *definedSpec {
	spec := &definedSpec{Object: o.Object, Cluster: d.Cluster}
	for _, r := range references {
		if found, ok := d.lookup(r); ok {
			spec.Referenced = append(spec.Referenced, found)
		}
	}
	return spec
}

// unread returns the unit of a definition that has a field of the wrong type, nil for one that is incomplete. Another
// unit may read the file and print the definition as it should be, with a variable or with text that YAML takes for a
// boolean.
func (k *unitKind) unread(d *definer, o Object, err error) *Unit {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return nil
	}
	return &Unit{
		Kind: k.name, Name: nameOf(o.Object), File: o.File, kind: k, spec: encode(d.defines(o, nil)), unread: true,
		missing: &rendered.NotCovered{File: o.File,
			Reason: "a field of its definition has the wrong type, " + wrong.Value},
	}
}

// maxJob bounds the files of one unit together.
const maxJob = 128 << 20

// job returns the job that renders the unit from a tree.
func (u *Unit) job(t Tree) (*worker.Job, error) {
	t = u.in(t)
	job := &worker.Job{Kind: u.kind.name, Dir: u.dir, Spec: u.spec, Files: map[string][]byte{},
		Links: map[string]string{}}
	size := 0
	for _, name := range u.Reads {
		if rendered.Below(name, helm.Fetched) {
			continue // a file of the tree cannot pretend to be fetched
		}
		if u.lists != nil && u.lists(name) {
			job.Files[name] = nil
			continue
		}
		info, err := t.Lstat(name)
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			text, err := t.ReadLink(name)
			if err != nil {
				return nil, err
			}
			if u.has(path.Join(path.Dir(name), text)) {
				job.Links[name] = text
				continue
			}
		}
		data, err := t.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > maxJob {
			return nil, fmt.Errorf("%s: its files have more than %d MB together", u, maxJob>>20)
		}
		job.Files[name] = data
	}
	return job, nil
}

// has reports whether the unit reads a path, or a link to a directory above it. A link to anything else is read as a
// file.
func (u *Unit) has(name string) bool {
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if _, ok := slices.BinarySearch(u.Reads, name); ok {
			return true
		}
	}
	return false
}

// pairKey identifies a unit among those of one side, and its counterpart on the other side. Several units may print one
// definition, each with its own patches.
func (u *Unit) pairKey() string {
	if u.parent == nil {
		return u.written()
	}
	return u.written() + "\x00" + u.parent.written()
}

// written identifies the definition of a unit, whoever prints it.
func (u *Unit) written() string {
	if u.kind.group == "" {
		return u.String()
	}
	return u.String() + "\x00" + u.File
}

// id identifies a definition, however a parent has changed it, and a chart, whatever its values.
func (u *Unit) id() string {
	if u.kind.group == "" {
		return u.Kind + "\x00" + u.File
	}
	return u.Kind + "\x00" + u.Name + "\x00" + u.File
}

// remote reports whether a unit is rendered from what is not in the tree.
func (u *Unit) remote() bool { return u.Err != nil && isMissing(u.Err) }

// clashes reports whether a unit is for another cluster than u: both are, or come from, units of one name that
// different files define.
func (u *Unit) clashes(other *Unit) bool {
	for x := u; x != nil; x = x.parent {
		for y := other; y != nil; y = y.parent {
			if x.String() == y.String() && x.File != y.File {
				return true
			}
		}
	}
	return false
}

// rootUnit returns the unit that a unit comes from in the end.
func (u *Unit) rootUnit() *Unit {
	for u.parent != nil {
		u = u.parent
	}
	return u
}

// inputDigest identifies what the unit is rendered from: units with equal digests print the same. Not safe for
// concurrent use with one unit.
func (u *Unit) inputDigest(t Tree) string {
	if u.digestIn != t {
		u.digestIn, u.digested = t, u.computeDigest(t)
	}
	return u.digested
}

func (u *Unit) computeDigest(t Tree) string {
	t = u.in(t)
	h := sha256.New()
	spec := u.definition()
	fmt.Fprintf(h, "%s\x00%d\x00%s", u.kind.name, len(spec), spec)
	for _, name := range u.Reads {
		if u.lists != nil && u.lists(name) {
			fmt.Fprintf(h, "\x00%s", name)
			continue
		}
		is := state(t, name)
		if u.values {
			is = cmp.Or(valuesOf(t, name), is)
		}
		fmt.Fprintf(h, "\x00%s\x00%s", name, is)
	}
	if u.Err == nil {
		fmt.Fprintf(h, "\x00%s", u.dir)
	} else {
		_, _, reason := u.place(u.Err)
		fmt.Fprintf(h, "\x00%s", reason)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// definition identifies the definition of the unit, of one that cannot be rendered only what decides about its objects:
// the objects that it may refer to, but not those of other clusters beside one of its own.
func (u *Unit) definition() []byte {
	if u.Err == nil || u.kind.group == "" {
		return u.spec
	}
	var contents []string
	for _, m := range u.refers {
		contents = slices.AppendSeq(contents, maps.Values(m.makers))
		for file, content := range m.contents {
			if len(m.files) == 0 || !m.apart[file] {
				contents = append(contents, content)
			}
		}
	}
	return append(u.deciding(), strings.Join(sorted(contents), "\x00")...)
}

// deciding returns what of the definition decides about the objects of the unit.
func (u *Unit) deciding() []byte {
	if u.kind.group == "" {
		return u.spec
	}
	return decode[definedSpec](u.spec).deciding()
}

// isMissing reports whether err says that a tree lacks something, and is not a mistake.
func isMissing(err error) bool {
	var missing *rendered.NotCovered
	return errors.As(err, &missing)
}

// place returns where a mistake of a unit is; the file of the unit where the error does not tell.
func (u *Unit) place(err error) (file string, line int, reason string) {
	var missing *rendered.NotCovered
	var invalid *rendered.Invalid
	switch {
	case errors.As(err, &missing) && missing.File != "":
		return missing.File, missing.Line, missing.Reason
	case errors.As(err, &missing):
		return u.File, 0, missing.Reason
	case errors.As(err, &invalid) && invalid.File != "":
		return invalid.File, invalid.Line, invalid.Err.Error()
	}
	return u.File, 0, err.Error()
}

// at gives a reason without a file the file of its unit.
func at(file string, err error) error {
	var missing *rendered.NotCovered
	if errors.As(err, &missing) && missing.File == "" {
		return &rendered.NotCovered{File: file, Reason: missing.Reason}
	}
	return err
}

// renderer returns a worker's renderer for a specification of type T.
func renderer[T any](do func(ctx context.Context, files fs.FS, job *worker.Job, spec *T) ([]rendered.Object,
	error)) worker.Renderer {
	return func(ctx context.Context, files fstest.MapFS, job *worker.Job) ([]rendered.Object, error) {
		spec := new(T)
		if err := json.Unmarshal(job.Spec, spec); err != nil {
			return nil, err
		}
		return do(ctx, files, job, spec)
	}
}

// sorted returns the names once each, sorted.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
