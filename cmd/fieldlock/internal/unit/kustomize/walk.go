package kustomize

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// A walk collects what building a kustomization reads, before kustomize sees it. For overlays/prod, whose
// kustomization.yaml names ../base and patch.yaml:
//
//	visiting   overlays/prod, then overlays/prod and base
//	known      overlays/prod and base, each with what its file says
//	files      both kustomization files, patch.yaml, and what base names
//
// This chapter has the walk's state and its looks at single files. The chapters above follow references from file to
// file.

// Options are what a tool allows beyond `kubectl kustomize`. The zero value is what kubectl does.
type Options struct {
	// Anywhere lets a kustomization read files outside of its own directory, though not outside of the tree, as Flux
	// does (kustomize's LoadRestrictionsNone).
	Anywhere bool
	// Outside, unless nil, is set to the mistake if a file is outside of its kustomization's directory. The file is read
	// as with Anywhere then.
	Outside *error
	// Kustomization, if not nil, is the content of the kustomization file of the directory: it replaces the file that
	// is there, or makes the directory a kustomization. References in it are checked like any others.
	Kustomization []byte
	// Cluster is what charts learn, unless the kustomization says so.
	Cluster rendered.Cluster
	// Elsewhere, unless nil, makes [Files] list the charts that must be fetched, and remote bases with their URL as
	// repository and no name, instead of failing. [Build] finds charts as package helm says, and bases below the
	// directory of the same function.
	Elsewhere *[]helm.Dependency
	// Lacking, unless nil, takes the remote bases and the missing files of generators, without which the kustomization
	// is then built. [Files] also tells it what each file decides about them.
	Lacking *rendered.Lacking
	// Charts, unless nil, is set where a kustomization has helmCharts, which kustomize builds only if it may run helm.
	Charts *bool
	// Parsed, unless nil, keeps what kustomization files say, for others to find.
	Parsed *Parsed
	// JSON makes [Build] print JSON, which costs less to print and to read.
	JSON bool
}

// A walk follows the references of kustomizations, one after the other.
type walk struct {
	disk    *disk
	options Options
	factory *resource.Factory
	files   map[string]bool
	objects map[string]bool // files that are resources
	loaded  map[string]bool // files that are something else
	// loadedBy are the directories of the kustomizations that read them, generatedBy of those that generate objects of
	// them. copies is set if values of objects are copied into others, and renames if a plugin changes names.
	loadedBy, generatedBy map[string][]string
	copies, renames       bool
	lacks                 map[*kustomization]bool // those without something that the tree lacks
	done                  map[string]bool
	plugins               map[[2]string]bool // pairs of a kustomization and one that renders plugins for it
	// visiting are the directories on the way to the present one, and namespaces what each sets as namespace.
	visiting, namespaces []string
	// visits are the numbers of kustomizations that kustomize builds for each directory, and for those that are
	// visited.
	visits map[string]int
	// known are the kustomizations by directory.
	known map[string]*kustomization
	// chartsIn are the namespaces that kustomizations give to charts of the directories that they include, and twice is
	// a directory that is given two.
	chartsIn map[string]string
	twice    string
	charts   []chart
	// failed is the first mistake. The walk goes on behind it: what a kustomization may read is its record, whether or
	// not it can be built.
	failed error
}

// note keeps the first mistake.
func (w *walk) note(err error) {
	if w.failed == nil {
		w.failed = err
	}
}

func newWalk(tree fs.FS, dir string, o Options) *walk {
	w := &walk{
		disk:        &disk{tree: tree},
		options:     o,
		factory:     provider.NewDefaultDepProvider().GetResourceFactory(),
		files:       map[string]bool{},
		objects:     map[string]bool{},
		loaded:      map[string]bool{},
		loadedBy:    map[string][]string{},
		generatedBy: map[string][]string{},
		lacks:       map[*kustomization]bool{},
		done:        map[string]bool{},
		plugins:     map[[2]string]bool{},
		chartsIn:    map[string]string{},
		visits:      map[string]int{},
		known:       map[string]*kustomization{},
	}
	w.disk.passed = func(name string) { w.files[name] = true }
	if o.Kustomization != nil {
		name := File(tree, dir)
		if name == "" {
			name = path.Join(dir, konfig.DefaultKustomizationFileName())
		}
		w.disk.generate(name, o.Kustomization)
	}
	return w
}

// recovered turns a panic of kustomize's parser into an error.
func recovered(dir string, err *error) {
	if r := recover(); r != nil {
		*err = &rendered.Invalid{File: dir, Err: fmt.Errorf("kustomize panics: %v", r)}
	}
}

// File returns the name of the first kustomization file in a directory, or "" if there is none.
func File(tree fs.FS, dir string) string {
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		name := path.Join(dir, base)
		if info, err := fs.Stat(tree, name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// A reference is where a kustomization names a file or directory.
type reference struct {
	file    string // the file with the reference
	content []byte // of this file, as it is in the tree
	text    string // the reference as it is written there
}

func (r reference) notCovered(format string, args ...any) error {
	return &rendered.NotCovered{File: r.file, Line: line(r.content, r.text), Reason: fmt.Sprintf(format, args...)}
}

func (r reference) invalid(format string, args ...any) error {
	return &rendered.Invalid{File: r.file, Line: line(r.content, r.text), Err: fmt.Errorf(format, args...)}
}

// A kustomization is what one kustomization file says.
type kustomization struct {
	types.Kustomization
	dir, file string
	written   []byte // the file as it is in the tree, if it is there

	replaced map[string]string  // what takes the place of references, "" for those that are left out
	without  map[[2]string]bool // generators that are left out, by kind and name
	charts   []string           // files with the objects of charts, which become resources
}

// A chart is one entry of helmCharts.
type chart struct {
	types.HelmChart
	k         *kustomization
	from      reference
	dir       string   // of the chart
	values    string   // the name of its values file, or "" if it is not read
	more      []string // the names of additional values files
	namespace string
}

// read reads the kustomization file of a directory as kustomize does, except for warnings.
func (w *walk) read(dir string) (*kustomization, error) {
	name := ""
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		found, isDir, err := w.disk.find(path.Join(top, dir, base))
		if err != nil || isDir {
			continue
		}
		if name != "" {
			return nil, &rendered.Invalid{File: found,
				Err: fmt.Errorf("a directory has one kustomization file; %s is another", name)}
		}
		name = found
		w.files[name] = true
	}
	if name == "" {
		return nil, &rendered.Invalid{File: dir,
			Err: errors.New("no kustomization.yaml, kustomization.yml or Kustomization")}
	}
	content, err := w.content(name, maxKustomization)
	if err != nil {
		return nil, &rendered.Invalid{File: name, Err: err}
	}
	spec, err := w.options.Parsed.parse(content)
	if err != nil {
		return nil, &rendered.Invalid{File: name, Line: lineOfError(err), Err: err}
	}
	w.disk.schema = w.disk.schema || len(spec.OpenAPI) > 0
	k := &kustomization{Kustomization: spec, dir: dir, file: name, written: content, replaced: map[string]string{},
		without: map[[2]string]bool{}}
	if written, err := fs.ReadFile(w.disk.tree, name); err == nil {
		k.written = written
	}
	return k, nil
}

// generator is an entry of configMapGenerator or secretGenerator. A ConfigMap has no type.
type generator struct {
	kind string
	types.SecretArgs
}

func generators(k types.Kustomization) (all []generator) {
	for _, g := range k.ConfigMapGenerator {
		all = append(all, generator{"ConfigMap", types.SecretArgs{GeneratorArgs: g.GeneratorArgs}})
	}
	for _, g := range k.SecretGenerator {
		all = append(all, generator{"Secret", g})
	}
	return all
}

// withGenerators returns a kustomization with those of its generators whose kind and name are kept.
func withGenerators(k types.Kustomization, keep func(of [2]string) bool) types.Kustomization {
	k.ConfigMapGenerator = slices.DeleteFunc(slices.Clone(k.ConfigMapGenerator), func(g types.ConfigMapArgs) bool {
		return !keep([2]string{"ConfigMap", g.Name})
	})
	k.SecretGenerator = slices.DeleteFunc(slices.Clone(k.SecretGenerator), func(g types.SecretArgs) bool {
		return !keep([2]string{"Secret", g.Name})
	})
	return k
}

// at is a reference of the kustomization.
func (k *kustomization) at(text string) reference { return reference{k.file, k.written, text} }

// content returns the content of a file that is not larger than limit.
func (w *walk) content(name string, limit int64) ([]byte, error) {
	if content, ok := w.disk.generated[name]; ok {
		return content, nil
	}
	info, err := fs.Stat(w.disk.tree, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%d bytes are more than the %d that are read", info.Size(), limit)
	}
	return fs.ReadFile(w.disk.tree, name)
}

// Parsed keeps what kustomization files say, by their content: overlays include the same bases, and most files are
// alike in both trees of a comparison. Nobody may change what it keeps. The zero value is ready to use, and safe for
// concurrent use.
type Parsed struct {
	files sync.Map // of types.Kustomization by SHA-256
}

// parse is the function parse for files that may be known. p may be nil.
func (p *Parsed) parse(content []byte) (types.Kustomization, error) {
	if p == nil {
		return parse(content)
	}
	id := sha256.Sum256(content)
	if known, ok := p.files.Load(id); ok {
		return known.(types.Kustomization), nil
	}
	k, err := parse(content)
	if err == nil {
		p.files.Store(id, k)
	}
	return k, err
}

// parse reads a kustomization file, with the deprecated fields moved to those that replaced them.
func parse(content []byte) (types.Kustomization, error) {
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		return k, err
	}
	k.FixKustomization()
	if err := k.CheckEmpty(); err != nil {
		return k, err
	}
	if mistakes := k.EnforceFields(); len(mistakes) > 0 {
		return k, errors.New(strings.Join(mistakes, "; "))
	}
	return k, nil
}

// isForeign reports whether the apiVersion or kind of a file is not that of a kustomization.
func isForeign(meta types.TypeMeta) bool {
	group, _, _ := strings.Cut(types.KustomizationVersion, "/")
	return meta.APIVersion != "" && !strings.HasPrefix(meta.APIVersion, group+"/") ||
		meta.Kind != "" && meta.Kind != types.KustomizationKind && meta.Kind != types.ComponentKind
}

// loadAll looks for files that a kustomization in dir reads.
func (w *walk) loadAll(dir string, from reference, all []string) {
	for _, ref := range all {
		from.text = ref
		name, err := w.load(dir, from)
		w.loadedBy[name] = append(w.loadedBy[name], dir)
		w.note(err)
	}
}

// load looks for one file that a kustomization in dir reads.
func (w *walk) load(dir string, from reference) (name string, err error) {
	p := from.text
	if key, file, ok := strings.Cut(p, "="); ok && key != "" && !isURL(p) {
		p = file
	}
	name, err = w.file(dir, p, from)
	w.loaded[name] = true
	return name, err
}

// file returns the name of the file that a kustomization in dir reads as p.
func (w *walk) file(dir, p string, from reference) (string, error) {
	if isURL(p) {
		return "", from.notCovered("%s is read from the network", p)
	}
	if path.IsAbs(p) {
		return "", from.notCovered("%s is an absolute path", p)
	}
	name, isDir, err := w.disk.find(path.Join(top, dir, p))
	switch {
	case errors.Is(err, errOutside) && w.options.Anywhere:
		return "", from.notCovered("%s is %v", p, err)
	case err != nil:
		return "", from.invalid("%s: %w", p, plain(err))
	case isDir:
		return "", from.invalid("%s is a directory, not a file", p)
	}
	w.files[name] = true // also one that kustomize refuses: the kustomization means it
	if w.options.Anywhere || rendered.Below(name, dir) {
		return name, nil
	}
	err = from.invalid("%s is not in or below %s, as kustomize requires of files", p, dir)
	if outside := w.options.Outside; outside != nil {
		*outside = cmp.Or(*outside, err)
		return name, nil
	}
	return name, err
}

// plain returns an error without the operation and the path that a file system adds.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// decode reads objects as kustomize does, unless their aliases stand for too much.
func (w *walk) decode(content []byte) ([]*resource.Resource, error) {
	if err := checkAliases(content); err != nil {
		return nil, err
	}
	return w.factory.SliceFromBytes(content)
}

// inlineOrFile follows an entry of patchesStrategicMerge, which is a patch or the name of a file.
func (k *kustomization) inlineOrFile(w *walk, file reference) error {
	_, err := w.decode([]byte(file.text))
	switch {
	case err == nil:
		return nil
	case strings.Contains(file.text, "\n"):
		return file.invalid("neither a patch nor the name of a file: %w", err)
	}
	name, err := w.load(k.dir, file)
	w.loadedBy[name] = append(w.loadedBy[name], k.dir)
	return err
}

// isURL tells whether kustomize would download a file from the network.
func isURL(ref string) bool {
	scheme, _, ok := strings.Cut(ref, ":")
	scheme = strings.ToLower(scheme)
	return ok && (scheme == "http" || scheme == "https")
}

// isRepository tells whether kustomize may take a reference for the URL of a git repository, which it would clone.
// Kustomize looks for a file of that name first; here, such a file is not looked for.
func isRepository(ref string) bool {
	ref = strings.ToLower(ref)
	ref = strings.TrimPrefix(ref, "git::")
	for _, prefix := range []string{"ssh://", "https://", "http://", "file://", "github.com/", "github.com:"} {
		if strings.HasPrefix(ref, prefix) {
			return true
		}
	}
	user, rest, ok := strings.Cut(ref, "@")
	return ok && user != "" && !strings.ContainsAny(user, "/.:") && strings.ContainsAny(rest, "/:")
}
