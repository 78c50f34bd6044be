package kustomize

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A kustomization is built without what the tree lacks, where kustomize then succeeds: without remote bases, charts of
// repositories, and generators whose files git does not hold. For example, this one is built as if only web.yaml stood
// there:
//
//	resources: ["https://github.com/a/b//c?ref=v1", web.yaml]
//	secretGenerator: [{name: s, envs: [secrets.env]}]
//
// Resources that git-crypt has encrypted are left out, too: only Build sees them, as it has the content of all files.
// Patches and components are never left out: they change what is here. Of a kustomization file that cannot be read,
// each word may be a reference, so that what it mentions is not taken for something that is applied by itself.

// leaveOutEncrypted leaves out the resources whose files are encrypted.
func (w *walk) leaveOutEncrypted() error {
	for _, dir := range slices.Sorted(maps.Keys(w.known)) {
		k := w.known[dir]
		for _, ref := range k.Resources {
			name, isDir, err := w.disk.find(path.Join(top, k.dir, ref))
			if err != nil || isDir {
				continue
			}
			content, err := fs.ReadFile(w.disk.tree, name)
			if err != nil || !yamldoc.IsEncrypted(content) {
				continue
			}
			if err := w.options.Lacking.Lacks(k.at(ref).notCovered("%s is encrypted by git-crypt", name)); err != nil {
				return err
			}
			w.disk.generate(name, []byte("# encrypted\n")) // a kustomization without any resource would be a mistake
		}
	}
	return nil
}

// tellApart notes the files that decide only about their own objects: resources, unless something copies values out of
// them.
func (w *walk) tellApart() {
	if w.options.Lacking == nil {
		return
	}
	for _, k := range w.known {
		//lint:ignore SA1019 vars are deprecated, but kustomize still fills them in
		copiesValues := len(k.Replacements) > 0 || len(k.Vars) > 0 || len(k.Configurations) > 0
		if copiesValues {
			return
		}
	}
	w.options.Lacking.Apart = map[string]bool{}
	for name := range w.objects {
		w.options.Lacking.Apart[name] = !w.loaded[name]
	}
}

// generator looks for the files of a generator of a kind, each written as FILE or KEY=FILE. Without one that the tree
// lacks, the kustomization is built without the generator.
func (k *kustomization) generator(w *walk, kind string, g types.GeneratorArgs) {
	for _, ref := range slices.Concat(g.EnvSources, g.FileSources) {
		err := w.load(k.dir, k.at(ref))
		if invalid, ok := errors.AsType[*rendered.Invalid](err); ok && errors.Is(invalid.Err, fs.ErrNotExist) && w.options.Lacking != nil {
			err = w.options.Lacking.Lacks(k.at(ref).notCovered("%s is not in this repository", ref))
			k.without[[2]string{kind, g.Name}] = true
		}
		w.note(err)
	}
}

// mentioned returns the kustomizations and files that a kustomization file which cannot be read mentions: each word of
// it may be one.
func (w *walk) mentioned(dir string, content []byte) (dirs, files []string) {
	words := strings.FieldsFunc(string(content), func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'[]{},", r) })
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		if isURL(word) || isRepository(word) || path.IsAbs(word) {
			continue
		}
		name, isDir, err := w.disk.find(path.Join(top, dir, word))
		switch {
		case err != nil || name == "." || strings.HasPrefix(dir+"/", name+"/"):
		case !isDir:
			files = append(files, name)
		case File(w.disk.tree, name) != "":
			dirs = append(dirs, name)
		}
	}
	return dirs, files
}

// Generator is an entry of configMapGenerator or secretGenerator: its text, and the files that it names, relative to
// the kustomization.
type Generator struct {
	Text  string
	Files []string
}

// Generators returns the entries of a kustomization file that generate an object of a kind with a name, before
// kustomize adds anything to it.
func Generators(content []byte, kind, name string) []Generator {
	k, err := parse(content)
	if err != nil {
		return nil
	}
	var all []Generator
	add := func(of string, g types.GeneratorArgs, entry any) {
		if of != kind || g.Name != name {
			return
		}
		text, _ := json.Marshal(entry)
		found := Generator{Text: string(text)}
		for _, file := range slices.Concat(g.EnvSources, g.FileSources) {
			if _, after, ok := strings.Cut(file, "="); ok {
				file = after
			}
			found.Files = append(found.Files, file)
		}
		all = append(all, found)
	}
	for _, g := range k.ConfigMapGenerator {
		add("ConfigMap", g.GeneratorArgs, g)
	}
	for _, g := range k.SecretGenerator {
		add("Secret", g.GeneratorArgs, g)
	}
	return all
}
