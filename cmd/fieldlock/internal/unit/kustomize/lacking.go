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
// Resources that git-crypt has encrypted are left out, too, and generators that read variables from such a file: only
// Build sees them, as it has the content of all files. Patches and components are never left out: they change what is
// here. Of a kustomization file that cannot be read, each word may be a reference, so that what it mentions is not taken
// for something that is applied by itself.

// leaveOutEncrypted leaves out the resources whose files are encrypted, and the generators with such variables.
func (w *walk) leaveOutEncrypted() error {
	for _, dir := range slices.Sorted(maps.Keys(w.known)) {
		k := w.known[dir]
		for _, ref := range k.Resources {
			name, err := w.encrypted(k, ref)
			if err != nil {
				return err
			}
			if name != "" { // a kustomization without any resource would be a mistake
				w.disk.generate(name, []byte("# encrypted\n"))
			}
		}
		for _, g := range k.ConfigMapGenerator {
			if err := w.leaveOutVariables(k, "ConfigMap", g.GeneratorArgs); err != nil {
				return err
			}
		}
		for _, g := range k.SecretGenerator {
			if err := w.leaveOutVariables(k, "Secret", g.GeneratorArgs); err != nil {
				return err
			}
		}
	}
	return nil
}

// leaveOutVariables leaves out a generator if a file of variables is encrypted. An encrypted file that becomes one
// value is text like any other.
func (w *walk) leaveOutVariables(k *kustomization, kind string, g types.GeneratorArgs) error {
	for _, ref := range g.EnvSources {
		name, err := w.encrypted(k, ref)
		if err != nil {
			return err
		}
		if name != "" {
			k.without[[2]string{kind, g.Name}] = true
		}
	}
	return nil
}

// encrypted returns the name of a file of a kustomization if it is encrypted, "" otherwise. The kustomization is then
// built without it, or the error says that it cannot be.
func (w *walk) encrypted(k *kustomization, ref string) (name string, err error) {
	name, isDir, err := w.disk.find(path.Join(top, k.dir, ref))
	if err != nil || isDir {
		return "", nil
	}
	content, err := fs.ReadFile(w.disk.tree, name)
	if err != nil || !yamldoc.IsEncrypted(content) {
		return "", nil
	}
	return name, w.options.Lacking.Lacks(k.at(ref).notCovered("%s is encrypted by git-crypt", name))
}

// tellApart notes what each file decides about: about what is missing, or only about its own objects. The latter are
// resources, and all that kustomizations read which lack nothing, unless something copies values out of them. A
// kustomization file that names them decides by its other fields.
func (w *walk) tellApart() {
	l := w.options.Lacking
	if l == nil {
		return
	}
	l.Says, l.Renames = w.says, w.renames
	for _, k := range w.known {
		//lint:ignore SA1019 vars are deprecated, but kustomize still fills them in
		w.copies = w.copies || len(k.Replacements) > 0 || len(k.Vars) > 0 || len(k.Configurations) > 0 || len(k.Crds) > 0 || len(k.OpenAPI) > 0
		l.Renames = l.Renames || k.NamePrefix != "" || k.NameSuffix != ""
		l.Hashes = l.Hashes || len(k.ConfigMapGenerator)+len(k.SecretGenerator)+len(k.Generators) > 0
	}
	if w.copies {
		return
	}
	l.Apart, l.Local = map[string]bool{}, map[string]bool{}
	for name := range w.objects {
		l.Apart[name] = !w.loaded[name]
	}
	for name := range w.loaded {
		by := w.loadedBy[name]
		if l.Workloads { // which refer to what is generated, by a name with a hash
			by = slices.Concat(by, w.generatedBy[name])
		}
		l.Local[name] = !slices.ContainsFunc(by, func(dir string) bool { return w.known[dir] == nil || !w.isLocal(w.known[dir]) })
	}
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

// says returns the part of each kustomization file that decides about what is missing.
func (w *walk) says() map[string]rendered.Says {
	all := map[string]rendered.Says{}
	for _, k := range w.known {
		if w.copies {
			all[k.file] = rendered.Says{Text: textOf(k.Kustomization)}
		} else {
			all[k.file] = w.saysOf(k)
		}
	}
	return all
}

// saysOf returns it for one kustomization. What runs containers may refer to all that is generated.
func (w *walk) saysOf(k *kustomization) rendered.Says {
	rest := k.Kustomization
	workloads := types.Kustomization{Images: rest.Images, Replicas: rest.Replicas}
	rest.Images, rest.Replicas, rest.Resources = nil, nil, nil
	says := rendered.Says{Local: w.isLocal(k)}
	for _, ref := range k.Resources {
		name, isDir, err := w.disk.find(path.Join(top, k.dir, ref))
		switch {
		case err == nil && isDir && w.known[name] != nil && w.isLocal(w.known[name]):
			says.Dirs = append(says.Dirs, name)
		case err == nil && !isDir && w.objects[name] && !w.loaded[name]:
			says.Files = append(says.Files, name)
		default:
			rest.Resources = append(rest.Resources, ref)
		}
	}
	workloads.ConfigMapGenerator, workloads.SecretGenerator = rest.ConfigMapGenerator, rest.SecretGenerator
	rest.ConfigMapGenerator = slices.DeleteFunc(slices.Clone(rest.ConfigMapGenerator), func(g types.ConfigMapArgs) bool { return !k.lacksGenerated(g.Name) })
	rest.SecretGenerator = slices.DeleteFunc(slices.Clone(rest.SecretGenerator), func(g types.SecretArgs) bool { return !k.lacksGenerated(g.Name) })
	says.Workloads = textOf(workloads)
	says.Text = textOf(rest)
	return says
}

// isLocal reports whether a kustomization lacks nothing, nor does any that it includes. A component changes the objects
// of those that include it.
func (w *walk) isLocal(k *kustomization) bool {
	local, known := w.local[k]
	if !known {
		local = k.Kind != types.ComponentKind && !w.lacks[k]
		local = local && !slices.ContainsFunc(slices.Concat(k.Resources, k.Components), func(ref string) bool {
			dir, isDir, err := w.disk.find(path.Join(top, k.dir, ref))
			return err != nil || isDir && (w.known[dir] == nil || !w.isLocal(w.known[dir]))
		})
		w.local[k] = local
	}
	return local
}

// lacksGenerated reports whether a kustomization is built without a generator of some name.
func (k *kustomization) lacksGenerated(name string) bool {
	return k.without[[2]string{"ConfigMap", name}] || k.without[[2]string{"Secret", name}]
}

// textOf returns what a kustomization file says, without comments.
func textOf(k types.Kustomization) string {
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(text)
}

// lacking notes that a kustomization is built without something that the tree lacks. It returns err if it cannot be.
func (w *walk) lacking(k *kustomization, err error) error {
	w.lacks[k] = true
	return w.options.Lacking.Lacks(err)
}

// generator looks for the files of a generator of a kind, each written as FILE or KEY=FILE. Without one that the tree
// lacks, the kustomization is built without the generator.
func (k *kustomization) generator(w *walk, kind string, g types.GeneratorArgs) {
	for _, ref := range slices.Concat(g.EnvSources, g.FileSources) {
		name, err := w.load(k.dir, k.at(ref))
		w.generatedBy[name] = append(w.generatedBy[name], k.dir)
		if invalid, ok := errors.AsType[*rendered.Invalid](err); ok && errors.Is(invalid.Err, fs.ErrNotExist) && w.options.Lacking != nil {
			w.lacks[k] = true
			err = w.options.Lacking.LacksGenerated(k.at(ref).notCovered("%s is not in this repository", ref))
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
