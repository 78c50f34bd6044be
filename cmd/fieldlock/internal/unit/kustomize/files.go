package kustomize

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// maxDepth is how deep kustomizations may include each other.
const maxDepth = 200

// maxVisits is how many kustomizations kustomize may build for one, which counts those that several include each time.
const maxVisits = 10_000

// Files returns the names of the files that building the kustomization in dir reads, sorted, each once: its own file,
// those of all kustomizations that it includes, and what they name, as far down as it goes. Links on the way to a file
// are listed beside it. A kustomization file that Options replaces is listed if the tree has it.
//
// A reference that the tree cannot serve (a URL, a repository, a plugin, a chart that must be downloaded, a base
// outside of the tree) is a *rendered.NotCovered, and one that kustomize refuses a *rendered.Invalid. Mistakes in
// resources and patches show only in [Build]. Files reads kustomization files and the files of builtin generators and
// transformers; of all others it only looks whether they exist. It looks at all of them, also behind the first mistake,
// which it returns.
func Files(tree fs.FS, dir string, o Options) (files []string, err error) {
	defer recovered(dir, &err)
	w := newWalk(tree, dir, o)
	err = w.start(dir)
	w.noteInputs()
	if err != nil {
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
	o.Lacking.DecidedBy(w.decides)
	return slices.Sorted(maps.Keys(w.files)), nil
}

// start walks from the kustomization in a directory, and returns the first mistake.
func (w *walk) start(dir string) error {
	w.note(w.directory(path.Join(top, dir), reference{}))
	return w.failed
}

// directory follows the references of the kustomization that a path leads to. The reference from is the zero value for
// the first one.
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
		if rendered.Below(parent, dir) {
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
	k, err := w.read(dir)
	if err != nil {
		w.note(err)
		w.followMentioned(dir)
		return nil
	}
	w.chartsIn[dir] = w.inherited()
	w.namespaces = append(w.namespaces, k.Namespace)
	w.visits[dir], w.known[dir] = 1, k
	k.follow(w)
	w.namespaces = w.namespaces[:len(w.namespaces)-1]
	return w.count(w.visits[dir], from, w.visiting[:len(w.visiting)-1])
}

// followMentioned follows what a kustomization that cannot be read may include.
func (w *walk) followMentioned(dir string) {
	content, err := w.content(File(w.disk.tree, dir), maxKustomization)
	if err != nil {
		return
	}
	dirs, files := w.mentioned(dir, content)
	for _, name := range files {
		w.files[name] = true
	}
	for _, name := range dirs {
		w.note(w.directory(path.Join(top, name), reference{}))
	}
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

// follow follows all references, in the order in which kustomize does.
func (k *kustomization) follow(w *walk) {
	w.loadAll(k.dir, k.at(""), k.loaded())
	for _, g := range generators(k.Kustomization) {
		k.generator(w, g)
	}
	for _, r := range k.Resources {
		w.note(k.resource(w, k.at(r), func(name string) error {
			w.objects[name] = true
			return nil
		}))
	}
	for _, c := range k.Components {
		w.note(k.include(w, k.at(c)))
	}
	if w.options.Charts != nil && len(k.HelmCharts) > 0 {
		*w.options.Charts = true
	}
	for _, spec := range k.HelmCharts {
		w.note(k.chart(w, spec))
	}
	for _, list := range [][]string{k.withoutKsops(w), k.Transformers, k.Validators} {
		k.plugins(w, list)
	}
	//lint:ignore SA1019 kustomize still reads it
	for _, p := range k.PatchesStrategicMerge {
		w.note(k.inlineOrFile(w, k.at(string(p))))
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

// resource follows a reference to a file or directory. A file is given to each.
func (k *kustomization) resource(w *walk, file reference, each func(name string) error) error {
	if isURL(file.text) || isRepository(file.text) {
		return k.followRemote(w, file, each)
	}
	if _, isDir, err := w.disk.find(path.Join(top, k.dir, file.text)); err == nil && isDir ||
		errors.Is(err, errOutside) {
		return k.include(w, file)
	}
	name, err := w.file(k.dir, file.text, file)
	if err != nil {
		return err
	}
	return each(name)
}

// followRemote follows a reference to a file or kustomization elsewhere. A file is given to each, unless that is nil.
func (k *kustomization) followRemote(w *walk, file reference, each func(name string) error) error {
	base, err := k.remote(w, file, each)
	if err != nil || base == "" {
		return err
	}
	return w.directory(path.Join(top, base), file)
}

// include follows a reference to another kustomization.
func (k *kustomization) include(w *walk, file reference) error {
	switch {
	case file.text == "":
		return file.invalid("a path is empty")
	case isURL(file.text) || isRepository(file.text):
		return k.followRemote(w, file, nil)
	case path.IsAbs(file.text):
		return file.notCovered("%s is an absolute path", file.text)
	}
	return w.directory(path.Join(top, k.dir, file.text), file)
}

// plugins follows a list of generators, transformers or validators. Each is an object, a file of objects, or a
// kustomization that renders objects; only the objects of builtin plugins are accepted.
func (k *kustomization) plugins(w *walk, list []string) {
	for _, text := range list {
		file := k.at(text)
		if _, err := w.decode([]byte(text)); err == nil || strings.Contains(text, "\n") {
			w.note(k.pluginObjects(w, file, []byte(text)))
			continue
		}
		if isURL(file.text) || isRepository(file.text) {
			w.note(file.notCovered("%s is not in this repository", file.text)) // plugins are not fetched
			continue
		}
		w.note(k.resource(w, file, func(name string) error { return k.pluginFile(w, name) }))
		w.note(k.renderedPlugins(w, k.dir, file))
	}
}
