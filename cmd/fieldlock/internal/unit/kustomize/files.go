package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// maxKustomization is the largest kustomization file that is read. Those of people are a thousand times smaller.
const maxKustomization = 8 << 20

// maxPlugin is the largest file of a builtin generator or transformer that is read.
const maxPlugin = 8 << 20

// maxDepth is how deep kustomizations may include each other.
const maxDepth = 200

// maxVisits is how many kustomizations kustomize may build for one, which counts those that several include each time.
const maxVisits = 10_000

// Options are what a tool allows beyond `kubectl kustomize`. The zero value is what kubectl does.
type Options struct {
	// Anywhere lets a kustomization read files outside of its own directory, though not outside of the tree, as Flux does
	// (kustomize's LoadRestrictionsNone).
	Anywhere bool
	// Kustomization, if not nil, is the content of the kustomization file of the directory: it replaces the file that is
	// there, or makes the directory a kustomization. References in it are checked like any others.
	Kustomization []byte
	// KubeVersion and APIVersions are what charts learn of the cluster, unless the kustomization says so; see helm.Release.
	KubeVersion string
	APIVersions []string
	// Elsewhere, unless nil, makes [Files] list the charts that must be fetched, and remote bases with their URL as repository and no
	// name, instead of failing. [Build] finds charts as package helm says, and bases below the directory of the same function.
	Elsewhere *[]helm.Dependency
	// Lacking, unless nil, takes the remote bases and the missing files of generators, without which the kustomization is then built. [Files]
	// also tells it which files are resources, unless replacements or variables read from them.
	Lacking *rendered.Lacking
	// Parsed, unless nil, keeps what kustomization files say, for others to find.
	Parsed *Parsed
	// NoOrigins makes [Build] leave out the origins of objects. With them, kustomize takes several times as long.
	NoOrigins bool
	// JSON makes [Build] print JSON, which costs less to print and to read.
	JSON bool
}

// Files returns the names of the files that building the kustomization in dir reads, sorted, each once: its own file, those
// of all kustomizations that it includes, and what they name, as far down as it goes. Links on the way to a file are listed
// beside it. A kustomization file that Options replaces is listed if the tree has it.
//
// A reference that the tree cannot serve (a URL, a repository, a plugin, a chart that must be downloaded, a base outside of
// the tree) is a *rendered.NotCovered, and one that kustomize refuses a *rendered.Invalid. Mistakes in resources and patches
// show only in [Build]. Files reads kustomization files and the files of builtin generators and transformers; of all others
// it only looks whether they exist. It looks at all of them, also behind the first mistake, which it returns.
func Files(tree fs.FS, dir string, o Options) (files []string, err error) {
	defer recovered(dir, &err)
	w := newWalk(tree, dir, o)
	if err := w.start(dir); err != nil {
		return slices.Sorted(maps.Keys(w.files)), err
	}
	if err := w.checkNamespaces(); err != nil {
		return nil, err
	}
	if name := File(tree, dir); name != "" {
		w.files[name] = true
	}
	for name := range w.disk.generated {
		if _, err := fs.Stat(tree, name); err != nil {
			delete(w.files, name)
		}
	}
	w.tellApart()
	return slices.Sorted(maps.Keys(w.files)), nil
}

// recovered turns a panic of kustomize's parser into an error.
func recovered(dir string, err *error) {
	if r := recover(); r != nil {
		*err = &rendered.Invalid{File: dir, Err: fmt.Errorf("kustomize panics: %v", r)}
	}
}

// A walk follows the references of kustomizations, one after the other.
type walk struct {
	disk    *disk
	options Options
	factory *resource.Factory
	files   map[string]bool
	objects map[string]bool // files that are resources
	loaded  map[string]bool // files that are something else
	done    map[string]bool
	plugins map[[2]string]bool // pairs of a kustomization and one that renders plugins for it
	// visiting are the directories on the way to the present one, and namespaces what each sets as namespace.
	visiting, namespaces []string
	// visits are the numbers of kustomizations that kustomize builds for each directory, and for those that are visited.
	visits map[string]int
	// known are the kustomizations by directory.
	known map[string]*kustomization
	// chartsIn are the namespaces that kustomizations give to charts of the directories that they include, and twice is a
	// directory that is given two.
	chartsIn map[string]string
	twice    string
	charts   []chart
	// replaced is what takes the place of references in kustomizations: "" for what is left out.
	replaced map[*kustomization]map[string]string
	// without are the generators that a kustomization is built without, by their field and name.
	without map[*kustomization]map[[2]string]bool
	// chartless are the kustomizations with charts that are left out.
	chartless []*kustomization
	// failed is the first mistake. The walk goes on behind it: what a kustomization may read is its record, whether or not it can be built.
	failed error
}

// start walks from the kustomization in a directory, and returns the first mistake.
func (w *walk) start(dir string) error {
	w.note(w.directory(path.Join(top, dir), reference{}))
	return w.failed
}

// note keeps the first mistake.
func (w *walk) note(err error) {
	if w.failed == nil {
		w.failed = err
	}
}

func newWalk(tree fs.FS, dir string, o Options) *walk {
	w := &walk{
		disk:     &disk{tree: tree},
		options:  o,
		factory:  provider.NewDefaultDepProvider().GetResourceFactory(),
		files:    map[string]bool{},
		objects:  map[string]bool{},
		loaded:   map[string]bool{},
		done:     map[string]bool{},
		plugins:  map[[2]string]bool{},
		chartsIn: map[string]string{},
		visits:   map[string]int{},
		known:    map[string]*kustomization{},
	}
	w.disk.passed = func(name string) { w.files[name] = true }
	if o.Kustomization != nil {
		name := File(tree, dir)
		if name == "" {
			name = path.Join(dir, konfig.DefaultKustomizationFileName())
		}
		w.disk.generate(name, o.Kustomization, name)
	}
	return w
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

// directory follows the references of the kustomization that a path leads to. The reference from is the zero value for the
// first one.
func (w *walk) directory(p string, from reference) error {
	dir, isDir, err := w.disk.find(p)
	switch {
	case errors.Is(err, errOutside):
		return from.notCovered("%s is %v", from.text, err)
	case err != nil:
		return from.invalid("%w", err)
	case !isDir:
		return from.invalid("%s is not a directory", dir)
	}
	for _, parent := range w.visiting {
		if dir == "." || parent == dir || strings.HasPrefix(parent, dir+"/") {
			return from.invalid("cycle: %s contains %s, which includes it", dir, parent)
		}
	}
	if w.done[dir] {
		if w.chartsIn[dir] != w.inherited() {
			w.twice = dir
		}
		return w.count(w.visits[dir], from, w.visiting)
	}
	if len(w.visiting) == maxDepth {
		return from.invalid("kustomizations include each other more than %d levels deep", maxDepth)
	}
	w.done[dir] = true
	w.visiting = append(w.visiting, dir)
	defer func() { w.visiting = w.visiting[:len(w.visiting)-1] }()
	k, file, err := w.read(dir)
	if err != nil {
		w.note(err)
		w.followMentioned(dir)
		return nil
	}
	w.chartsIn[dir] = w.inherited()
	w.namespaces = append(w.namespaces, k.Namespace)
	w.visits[dir], w.known[dir] = 1, k
	k.follow(w, file)
	w.namespaces = w.namespaces[:len(w.namespaces)-1]
	return w.count(w.visits[dir], from, w.visiting[:len(w.visiting)-1])
}

// count adds visits to those of the last of the kustomizations on the way.
func (w *walk) count(visits int, from reference, way []string) error {
	if len(way) == 0 {
		return nil
	}
	parent := way[len(way)-1]
	if w.visits[parent] += visits; w.visits[parent] > maxVisits {
		return from.invalid("kustomizations include each other more than %d times", maxVisits)
	}
	return nil
}

// read reads the kustomization file of a directory as kustomize does, except for warnings.
func (w *walk) read(dir string) (*kustomization, reference, error) {
	var file reference
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		name, isDir, err := w.disk.find(path.Join(top, dir, base))
		if err != nil || isDir {
			continue
		}
		if file.file != "" {
			return nil, file, &rendered.Invalid{File: name, Err: fmt.Errorf("a directory has one kustomization file; %s is another", file.file)}
		}
		file.file = name
		w.files[name] = true
	}
	if file.file == "" {
		return nil, file, &rendered.Invalid{File: dir, Err: errors.New("no kustomization.yaml, kustomization.yml or Kustomization")}
	}
	content, err := w.content(file.file, maxKustomization)
	if err != nil {
		return nil, file, &rendered.Invalid{File: file.file, Err: err}
	}
	file.content = content
	if written, err := fs.ReadFile(w.disk.tree, file.file); err == nil {
		file.content = written
	}
	k, err := w.options.Parsed.parse(content)
	if err != nil {
		return nil, file, &rendered.Invalid{File: file.file, Line: lineOfError(err), Err: err}
	}
	w.disk.schema = w.disk.schema || len(k.OpenAPI) > 0
	return &kustomization{Kustomization: k, dir: dir, file: file.file, content: content, holds: map[string]bool{file.file: true}}, file, nil
}

// anyContent returns the content of a file of any size.
func (w *walk) anyContent(name string) ([]byte, error) { return w.content(name, math.MaxInt64) }

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

// A kustomization is what one kustomization file says.
type kustomization struct {
	types.Kustomization
	dir, file string
	content   []byte
	holds     map[string]bool // the files of its objects: resources, charts, and its own for what it generates
	includes  []string        // the directories that it includes, components last
}

// follow follows all references, in the order in which kustomize does.
func (k *kustomization) follow(w *walk, file reference) {
	w.loadAll(k.dir, file, k.loaded())
	for _, g := range k.ConfigMapGenerator {
		k.generator(w, file, "configmapgenerator", g.GeneratorArgs)
	}
	for _, g := range k.SecretGenerator {
		k.generator(w, file, "secretgenerator", g.GeneratorArgs)
	}
	for _, r := range k.Resources {
		file.text = r
		w.note(k.resource(w, file, func(name string) error {
			w.objects[name], k.holds[name] = true, true
			return nil
		}))
	}
	for _, c := range k.Components {
		file.text = c
		w.note(k.include(w, file))
	}
	for _, spec := range k.HelmCharts {
		w.note(k.chart(w, file, spec))
	}
	for _, list := range [][]string{k.Generators, k.Transformers, k.Validators} {
		k.plugins(w, file, list)
	}
	//lint:ignore SA1019 kustomize still reads it
	for _, p := range k.PatchesStrategicMerge {
		file.text = string(p)
		w.note(k.inlineOrFile(w, file))
	}
}

// loaded returns what is read as a file and nothing else.
func (k *kustomization) loaded() []string {
	var all []string
	if p, ok := k.OpenAPI["path"]; ok {
		all = append(all, p)
	}
	all = append(all, k.Crds...)
	all = append(all, k.Configurations...)
	//lint:ignore SA1019 kustomize still reads PatchesJson6902
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		all = append(all, p.Path)
	}
	for _, r := range k.Replacements {
		all = append(all, r.Path)
	}
	return slices.DeleteFunc(all, func(p string) bool { return p == "" })
}

// loadAll looks for files that a kustomization in dir reads.
func (w *walk) loadAll(dir string, from reference, all []string) {
	for _, ref := range all {
		from.text = ref
		w.note(w.load(dir, from))
	}
}

// load looks for one file that a kustomization in dir reads.
func (w *walk) load(dir string, from reference) error {
	p := from.text
	if key, file, ok := strings.Cut(p, "="); ok && key != "" && !isURL(p) {
		p = file
	}
	name, err := w.file(dir, p, from)
	w.loaded[name] = true
	return err
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
	case !w.options.Anywhere && dir != "." && !strings.HasPrefix(name, dir+"/"):
		return "", from.invalid("%s is not in or below %s, as kustomize requires of files", p, dir)
	}
	w.files[name] = true
	return name, nil
}

// plain returns an error without the operation and the path that a file system adds.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// resource follows a reference to a file or directory. A file is given to each.
func (k *kustomization) resource(w *walk, file reference, each func(name string) error) error {
	if isURL(file.text) || isRepository(file.text) {
		return k.remote(w, file, each)
	}
	if _, isDir, err := w.disk.find(path.Join(top, k.dir, file.text)); err == nil && isDir || errors.Is(err, errOutside) {
		return k.include(w, file)
	}
	name, err := w.file(k.dir, file.text, file)
	if err != nil {
		return err
	}
	return each(name)
}

// include follows a reference to another kustomization.
func (k *kustomization) include(w *walk, file reference) error {
	switch {
	case file.text == "":
		return file.invalid("a path is empty")
	case isURL(file.text) || isRepository(file.text):
		return k.remote(w, file, nil)
	case path.IsAbs(file.text):
		return file.notCovered("%s is an absolute path", file.text)
	}
	p := path.Join(top, k.dir, file.text)
	if dir, _, err := w.disk.find(p); err == nil {
		k.includes = append(k.includes, dir)
	}
	return w.directory(p, file)
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
	return w.load(k.dir, file)
}

// isURL tells whether kustomize would download a file from the network.
func isURL(ref string) bool {
	scheme, _, ok := strings.Cut(ref, ":")
	scheme = strings.ToLower(scheme)
	return ok && (scheme == "http" || scheme == "https")
}

// isRepository tells whether kustomize may take a reference for the URL of a git repository, which it would clone. Kustomize
// looks for a file of that name first; here, such a file is not looked for.
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
