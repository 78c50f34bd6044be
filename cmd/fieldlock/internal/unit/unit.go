// Package unit reads a tree of files as the tools that deploy it do. A unit is what one tool applies together: a kustomization,
// a chart, a Flux Kustomization, a HelmRelease, an Argo CD Application. The package finds the units of a tree, the files that
// each of them reads, and renders them.
//
// [Load] does this for one tree, and [Compare] for two, of which it renders only what differs. Renderers run in child processes
// (package worker) and see only the files of their unit. Nothing outside of a tree is read.
package unit

import (
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
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Unit is what one tool applies together.
type Unit struct {
	// Kind is how reports name the kind of unit: "kustomization", "chart", "HelmRelease".
	Kind string
	// Name tells the unit from others of its kind: a directory, or namespace and name of the object that defines it.
	Name string
	// File and Line are where the unit is defined; Line is 0 where it is not known.
	File string
	Line int
	// Reads are the files that the unit is rendered from, sorted. If Err is set, they are all that it may read.
	Reads []string
	// Err is why the unit cannot be rendered, as far as that is known without rendering it: a *rendered.NotCovered if the tree
	// lacks something.
	Err error

	// Applier is how the tool applies objects: "server-side", "client-side", "replace", or "" where that is not known. Prune tells whether it
	// deletes what is gone, and Force whether it replaces what cannot be updated.
	Applier      string
	Prune, Force bool
	// Namespace is where objects go that name none, "" where that is not known.
	Namespace string

	kind *kind
	// document is the definition of the unit, if it was read from a file; parent is the unit that prints the definition.
	document *yamldoc.Document
	parent   *Unit
	tree     Tree                      // with its files; nil for the tree of its definition
	missing  error                     // why the unit is not in the tree, where its definition tells
	refers   references                // of its definition
	keeps    map[flux.Reference]string // the files that some of them mean in OLD
	unclear  string                    // why nothing tells what one of them means
	peeks    bool                      // other units and the files keep what it reads
	unread   bool                      // its definition has a field of the wrong type
	lacking  rendered.Lacking          // what its files show that it is rendered without
	// lists, unless nil, reports whether the unit reads only the name of a file, not its content.
	lists func(name string) bool

	dir    string
	spec   []byte // of the job
	random bool   // two renderings may differ
	owns   func(name string) bool

	digestIn Tree // that digested is of
	digested string

	// With Options.Fetch, fetched has the chart of each directory below helm.Fetched that the definition of the unit names, and
	// elsewhere the charts that its files name.
	fetches   bool
	fetched   map[string]fetch.Chart
	elsewhere []helm.Dependency
}

// applier returns what is known about who applies the objects of the unit; name is how messages name its file. Who applies a
// kustomization is not known. Helm's method depends on its version and on how the release was installed; force is a PUT, and has no
// effect on a server-side apply.
func (u *Unit) applier(name string) tool.Applier {
	dir := shell.Quote(path.Dir(name))
	own, _, _ := strings.Cut(u.Name, " ") // without the object that it was read again with
	namespace, object := path.Split(own)
	flux := func(command string) string {
		if command += " " + shell.Quote(shell.Resolved(object, "NAME")); namespace != "" {
			command += " -n " + shell.Quote(shell.Resolved(path.Clean(namespace), "NAMESPACE"))
		}
		return command + " --with-source"
	}
	switch u.Kind {
	case "kustomization":
		return tool.Applier{Apply: "kubectl apply -k " + dir}
	case "Flux Kustomization":
		return tool.Applier{Tool: tool.Flux, Forced: u.Force, Keeps: !u.Prune, Apply: flux("flux reconcile kustomization")}
	case "chart":
		release, namespace := "RELEASE", "NAMESPACE"
		if spec := decode[chartSpec](u.spec); spec.Name != "" {
			release = shell.Quote(shell.Resolved(spec.Name, release))
		}
		if u.Namespace != "" {
			namespace = shell.Quote(shell.Resolved(u.Namespace, namespace))
		}
		return tool.Applier{Tool: tool.Helm, Namespace: u.Namespace, Lone: true, Unplaced: u.Namespace == "",
			Apply: "helm upgrade " + release + " " + dir + " -n " + namespace}
	case "HelmRelease":
		by := tool.Applier{Tool: tool.Helm, Namespace: u.Namespace}
		by.Apply = flux("flux reconcile helmrelease") + " --force" // also after failed upgrades
		if u.Force {
			by.Methods = []tool.Method{tool.ServerSide, tool.Replace}
		}
		return by
	case "Application":
		by := tool.Applier{Tool: tool.ArgoCD, Apply: "argocd app sync " + shell.Quote(strings.TrimPrefix(own, "argocd/")), Keeps: !u.Prune, Namespace: u.Namespace}
		if u.Applier == "" { // it cannot be read
			by.Methods, by.Keeps = []tool.Method{tool.ServerSide, tool.ClientSide, tool.Replace}, false
			return by
		}
		by.Methods = []tool.Method{tool.Method(u.Applier)}
		return by
	case "ApplicationSet": // what it prints are Applications, with the options of its template
		return tool.Applier{Tool: tool.ArgoCD, Methods: []tool.Method{tool.ServerSide, tool.ClientSide}, Keeps: !u.Prune}
	}
	return tool.Applier{}
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

// kind is a kind of unit. To add one takes a chapter with such a value, and its row in kinds.
type kind struct {
	name string
	// group and object are the group and kind of the objects that define such units, and from returns the unit that one of
	// them defines; nil for none. They are empty for a kind of unit that is found as files.
	group, object string
	from          func(d *definer, o Object) *Unit
	// find returns the units of this kind that are files of a tree by themselves.
	find func(t Tree, o *Options) ([]*Unit, error)
	// at, unless nil, returns the units that a directory is by itself.
	at func(t Tree, dir string, o *Options) []*Unit
	// reads returns the files that a unit is rendered from.
	reads func(t Tree, u *Unit) ([]string, error)
	// builds, unless nil, returns the directory of the kustomization that the unit deploys unchanged, "" for other units.
	builds func(t Tree, u *Unit) string
	// deploys, unless nil, returns the directories that the definitions which a unit prints may deploy, if they are not known.
	deploys func(u *Unit) []string
	// render renders a unit, in a worker.
	render worker.Renderer
}

// kinds returns all kinds of units by their names.
func kinds() map[string]*kind {
	all := map[string]*kind{}
	for _, k := range []*kind{kustomizations(), charts(), fluxKustomizations(), helmReleases(), applications(), applicationSets()} {
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

// encode returns the specification of a job.
func encode(spec any) []byte {
	data, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it is made of strings
	}
	return data
}

// maxJob bounds the files of one unit together.
const maxJob = 128 << 20

// job returns the job that renders the unit from a tree.
func (u *Unit) job(t Tree) (*worker.Job, error) {
	t = u.in(t)
	job := &worker.Job{Kind: u.kind.name, Dir: u.dir, Spec: u.spec, Files: map[string][]byte{}, Links: map[string]string{}}
	size := 0
	for _, name := range u.Reads {
		if below(name, helm.Fetched) {
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

// has reports whether the unit reads a path, or a link to a directory above it. A link to anything else is read as a file.
func (u *Unit) has(name string) bool {
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if _, ok := slices.BinarySearch(u.Reads, name); ok {
			return true
		}
	}
	return false
}

// digest identifies what the unit is rendered from: units with equal digests print the same. Not safe for concurrent use with one
// unit.
func (u *Unit) digest(t Tree) string {
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
		fmt.Fprintf(h, "\x00%s\x00%s", name, state(t, name))
	}
	if u.Err == nil {
		fmt.Fprintf(h, "\x00%s", u.dir)
	} else {
		_, _, reason := u.place(u.Err)
		fmt.Fprintf(h, "\x00%s", reason)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// definition identifies the definition of the unit, of one that is not in the tree only what decides about its objects.
func (u *Unit) definition() []byte {
	if u.missing == nil || u.kind.group == "" {
		return u.spec
	}
	var contents []string
	for _, m := range u.refers {
		contents = slices.AppendSeq(contents, maps.Values(m.contents))
	}
	return append(decode[definedSpec](u.spec).deciding(), strings.Join(sorted(contents), "\x00")...)
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
		return u.File, u.Line, missing.Reason
	case errors.As(err, &invalid) && invalid.File != "":
		return invalid.File, invalid.Line, invalid.Err.Error()
	}
	return u.File, u.Line, err.Error()
}

// renderer returns a worker's renderer for a specification of type T.
func renderer[T any](do func(ctx context.Context, files fs.FS, job *worker.Job, spec *T) ([]rendered.Object, error)) worker.Renderer {
	return func(ctx context.Context, files fstest.MapFS, job *worker.Job) ([]rendered.Object, error) {
		spec := new(T)
		if err := json.Unmarshal(job.Spec, spec); err != nil {
			return nil, err
		}
		return do(ctx, files, job, spec)
	}
}

// decode returns the specification of a job that encode has made.
func decode[T any](data []byte) T {
	var spec T
	if err := json.Unmarshal(data, &spec); err != nil {
		panic(err)
	}
	return spec
}

// sorted returns the names once each, sorted.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
