package kustomize

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"regexp"
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
// Resources that git-crypt has encrypted are left out, too, and generators that read variables from such a file: only
// Build sees them, as it has the content of all files. Patches and components are never left out: they change what is
// here. Of a kustomization file that cannot be read, each word may be a reference, so that what it mentions is not taken
// for something that is applied by itself.

// encryptedRef is a reference of a kustomization to an encrypted file: a resource, or the variables of a generator, of
// which it has kind and name. An encrypted file that becomes one value of a generator is text like any other.
type encryptedRef struct {
	k          *kustomization
	text, name string // as it is written, and of the file
	generator  [2]string
}

// encrypted lists the references to encrypted files without which kustomizations are built.
func (w *walk) encrypted(has rendered.Has) (all []encryptedRef) {
	for _, dir := range slices.Sorted(maps.Keys(w.known)) {
		k := w.known[dir]
		add := func(refs []string, generator [2]string) {
			for _, ref := range refs {
				if name, isDir, err := w.disk.find(path.Join(top, k.dir, ref)); err == nil && !isDir &&
					has(name, yamldoc.IsEncrypted) {
					all = append(all, encryptedRef{k, ref, name, generator})
				}
			}
		}
		add(k.Resources, [2]string{})
		for _, g := range generators(k.Kustomization) {
			add(g.EnvSources, [2]string{g.kind, g.Name})
		}
	}
	return all
}

// leaveOutEncrypted leaves out the resources whose files are encrypted, and the generators with such variables.
func (w *walk) leaveOutEncrypted() error {
	for _, e := range w.encrypted(func(name string, is func([]byte) bool) bool {
		content, err := fs.ReadFile(w.disk.tree, name)
		return err == nil && is(content)
	}) {
		if err := w.options.Lacking.Lacks(rendered.Encrypted(e.k.file, line(e.k.written, e.text), e.name)); err != nil {
			return err
		}
		if e.generator[0] == "" { // a kustomization without any resource would be a mistake
			w.disk.generate(e.name, []byte("# encrypted\n"))
		} else {
			e.k.without[e.generator] = true
		}
	}
	return nil
}

// gaps are what a kustomization is built without. Only kustomizations that lack something, and those that include them,
// decide about it.
type gaps struct {
	*walk
	has          rendered.Has
	lacks, local map[*kustomization]bool
	workloads    bool // what is missing may run containers, and so use what is generated
	copies       bool // values of any object may be copied into others
}

// decides finds what each file decides about what is missing. Resources decide nothing, nor does what is read by
// kustomizations that lack nothing, unless values are copied.
func (w *walk) decides(has rendered.Has) (of rendered.Decision, lacks bool) {
	g := &gaps{w, has, maps.Clone(w.lacks), map[*kustomization]bool{}, w.options.Lacking.Workloads, w.copies}
	for _, e := range w.encrypted(has) {
		g.lacks[e.k], g.workloads = true, true
	}
	of.Files, of.Renames = map[string]string{}, w.renames
	for _, k := range w.known {
		//lint:ignore SA1019 vars are deprecated, but kustomize still fills them in
		g.copies = g.copies || len(k.Replacements)+len(k.Vars)+len(k.Configurations)+len(k.Crds)+len(k.OpenAPI) > 0
		of.Renames = of.Renames || k.NamePrefix != "" || k.NameSuffix != ""
		of.Hashes = of.Hashes || len(k.ConfigMapGenerator)+len(k.SecretGenerator)+len(k.Generators) > 0
	}
	of.Renames, of.Hashes, of.Copies = of.Renames && g.workloads, of.Hashes && g.workloads, g.copies
	for name := range w.objects {
		if g.isApart(name) && !has(name, hashing.Match) {
			of.Files[name] = ""
		}
	}
	for name := range w.loaded {
		by := w.loadedBy[name]
		if g.workloads { // which refer to what is generated, by a name with a hash
			by = slices.Concat(by, w.generatedBy[name])
		}
		if !slices.ContainsFunc(by, func(dir string) bool { return !g.isLocal(w.known[dir]) }) {
			of.Files[name] = ""
		}
	}
	for _, k := range w.known {
		of.Files[k.file] = g.said(k)
	}
	return of, len(g.lacks) > 0
}

// hashing matches an annotation that asks kustomize to add a hash to the name of an object.
var hashing = regexp.MustCompile(`(?i)needs-?hash`)

// isApart reports whether a file only holds resources, of which nothing is copied.
func (g *gaps) isApart(name string) bool { return g.objects[name] && !g.loaded[name] && !g.copies }

// said returns what a kustomization file says about what is missing: all but resources that lack nothing, and for
// something that is only generated, all but images, replicas and other generators.
func (g *gaps) said(k *kustomization) string {
	if g.isLocal(k) {
		return ""
	}
	said := k.Kustomization
	said.Resources = slices.DeleteFunc(slices.Clone(k.Resources), func(ref string) bool {
		name, isDir, err := g.disk.find(path.Join(top, k.dir, ref))
		return err == nil && (isDir && g.isLocal(g.known[name]) || g.isApart(name) && !g.has(name, yamldoc.IsEncrypted))
	})
	if !g.workloads && !g.copies {
		said.Images, said.Replicas = nil, nil
		said = withGenerators(said, func(of [2]string) bool { return k.without[of] })
	}
	text, err := json.Marshal(said)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(text)
}

// noteInputs notes the files that are read as something else than objects, also of a kustomization with a mistake.
func (w *walk) noteInputs() {
	if l := w.options.Lacking; l != nil {
		l.Inputs = map[string]bool{}
		for name := range w.loaded {
			l.Inputs[name] = !w.objects[name]
		}
	}
}

// isLocal reports whether a kustomization lacks nothing, nor does any that it includes. A component changes the objects
// of those that include it. Of nil, which cannot be read, nothing is known.
func (g *gaps) isLocal(k *kustomization) bool {
	local, known := g.local[k]
	if !known {
		local = k != nil && k.Kind != types.ComponentKind && !g.lacks[k] && !g.copies
		local = local && !slices.ContainsFunc(slices.Concat(k.Resources, k.Components), func(ref string) bool {
			dir, isDir, err := g.disk.find(path.Join(top, k.dir, ref))
			return err != nil || isDir && !g.isLocal(g.known[dir])
		})
		g.local[k] = local
	}
	return local
}

// lacking notes that a kustomization is built without something that the tree lacks. It returns err if it cannot be.
func (w *walk) lacking(k *kustomization, err error) error {
	w.lacks[k] = true
	return w.options.Lacking.Lacks(err)
}

// generator looks for the files of a generator, each written as FILE or KEY=FILE. If the tree lacks one, the
// kustomization is built without the generator.
func (k *kustomization) generator(w *walk, g generator) {
	for _, ref := range slices.Concat(g.EnvSources, g.FileSources) {
		name, err := w.load(k.dir, k.at(ref))
		w.generatedBy[name] = append(w.generatedBy[name], k.dir)
		if invalid, ok := errors.AsType[*rendered.Invalid](err); ok && errors.Is(invalid.Err, fs.ErrNotExist) &&
			w.options.Lacking != nil {
			w.lacks[k] = true
			err = w.options.Lacking.LacksGenerated(k.at(ref).notCovered("%s is not in this repository", ref))
			k.without[[2]string{g.kind, g.Name}] = true
		}
		w.note(err)
	}
}

// mentioned returns the kustomizations and files that a kustomization file which cannot be read mentions: each word of
// it may be one.
func (w *walk) mentioned(dir string, content []byte) (dirs, files []string) {
	words := strings.FieldsFunc(string(content), func(r rune) bool {
		return strings.ContainsRune(" \t\r\n\"'[]{},", r)
	})
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
	for _, g := range generators(k) {
		if g.kind != kind || g.Name != name {
			continue
		}
		text, _ := json.Marshal(g.SecretArgs)
		found := Generator{Text: string(text)}
		for _, file := range slices.Concat(g.EnvSources, g.FileSources) {
			if _, after, ok := strings.Cut(file, "="); ok {
				file = after
			}
			found.Files = append(found.Files, file)
		}
		all = append(all, found)
	}
	return all
}
