package kustomize

import (
	"cmp"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Generators, transformers and validators are plugins: objects that configure programs, or what kustomize has built in.

// maxPlugin is the largest file of a builtin generator or transformer that is read.
const maxPlugin = 8 << 20

// withoutKsops returns the generators without those of ksops, which print what their SOPS files hold and read nothing
// else. The kustomization is built without them.
func (k *kustomization) withoutKsops(w *walk) (others []string) {
	for _, text := range k.Generators {
		if err := k.ksops(w, text); err == nil || w.options.Lacking.LacksGenerated(err) != nil {
			others = append(others, text)
			continue
		}
		w.lacks[k], k.replaced[text] = true, ""
	}
	return others
}

// ksops returns the reason not to run a generator of ksops; nil for another one, or if it makes objects of texts.
func (k *kustomization) ksops(w *walk, text string) error {
	name, isDir, err := w.disk.find(path.Join(top, k.dir, text))
	if err != nil || isDir || !rendered.Below(name, k.dir) {
		return nil
	}
	content, err := w.content(name, maxPlugin)
	var spec struct {
		APIVersion, Kind string
		SecretFrom       []any
	}
	if err != nil || yaml.Unmarshal(content, &spec) != nil || spec.APIVersion != "viaduct.ai/v1" ||
		spec.Kind != "ksops" || len(spec.SecretFrom) > 0 {
		return nil
	}
	w.files[name] = true
	return reference{name, content, spec.Kind}.notCovered("the plugin ksops is a program of its own")
}

// renderedPlugins checks the objects of a reference to a kustomization that renders plugins. Kustomizations that do
// more than to collect files could change the references of a plugin after they were checked; they are not covered.
func (k *kustomization) renderedPlugins(w *walk, dir string, file reference) error {
	sub, isDir, err := w.disk.find(path.Join(top, dir, file.text))
	if err != nil || !isDir || w.plugins[[2]string{k.dir, sub}] {
		return nil
	}
	w.plugins[[2]string{k.dir, sub}] = true
	collection, err := w.read(sub)
	if err != nil {
		return err
	}
	if !collection.onlyCollects() {
		return file.notCovered("%s does more than to list plugins", collection.file)
	}
	for _, text := range collection.Resources {
		from := collection.at(text)
		if isURL(text) || isRepository(text) {
			w.note(from.notCovered("%s is not in this repository", text))
			continue
		}
		if name, isDir, err := w.disk.find(path.Join(top, sub, text)); err == nil && !isDir {
			w.note(k.pluginFile(w, name))
		} else {
			w.note(k.renderedPlugins(w, sub, from))
		}
	}
	return nil
}

// onlyCollects tells whether a kustomization changes nothing but names and namespaces.
func (k *kustomization) onlyCollects() bool {
	rest := k.Kustomization
	rest.MetaData, rest.Resources, rest.Namespace, rest.NamePrefix, rest.NameSuffix = nil, nil, "", "", ""
	return rest.CheckEmpty() != nil
}

// pluginFile checks the objects of a file.
func (k *kustomization) pluginFile(w *walk, name string) error {
	content, err := w.content(name, maxPlugin)
	if err != nil {
		return &rendered.Invalid{File: name, Err: err}
	}
	return k.pluginObjects(w, reference{file: name, content: content}, content)
}

// pluginObjects checks the objects of plugins and follows their references, which start from the kustomization's
// directory.
func (k *kustomization) pluginObjects(w *walk, file reference, objects []byte) error {
	found, err := w.decode(objects)
	if err != nil {
		return &rendered.Invalid{File: file.file, Line: line(file.content, file.text), Err: err}
	}
	for _, object := range found {
		gvk := object.GetGvk()
		if gvk.Group != "" || gvk.Version != konfig.BuiltinPluginApiVersion {
			file.text = gvk.Kind
			w.note(file.notCovered("the plugin %s is a program of its own", gvk.Kind))
			continue
		}
		content, err := object.AsYAML()
		if err != nil {
			return file.invalid("%w", err)
		}
		w.note(k.plugin(w, file, content))
	}
	return nil
}

// plugin follows the references of one builtin plugin.
func (k *kustomization) plugin(w *walk, file reference, object []byte) error {
	var p struct {
		Kind         string
		Files        []string
		Envs         []string
		Path         string
		Paths        []string
		Replacements []types.ReplacementField
		TargetFile   string `json:"targetFilePath"`
	}
	if err := yaml.Unmarshal(object, &p); err != nil {
		return file.invalid("%w", err)
	}
	all := slices.Concat(p.Files, p.Envs)
	switch p.Kind {
	case "HelmChartInflationGenerator":
		k.noteInflated(w, file, object)
		file.text = p.Kind
		return file.notCovered("a HelmChartInflationGenerator runs the program helm")
	case "PatchStrategicMergeTransformer":
		for _, text := range p.Paths {
			file.text = text
			w.note(k.inlineOrFile(w, file))
		}
	case "PatchTransformer", "PatchJson6902Transformer":
		all = append(all, p.Path)
	case "PrefixTransformer", "SuffixTransformer", "HashTransformer":
		w.renames = true
	case "ReplacementTransformer":
		w.copies = true
		for _, r := range p.Replacements {
			all = append(all, r.Path)
		}
	case "ValueAddTransformer":
		all = append(all, p.TargetFile)
	}
	all = slices.DeleteFunc(all, func(p string) bool { return p == "" })
	w.loadAll(k.dir, file, all)
	return nil
}

// noteInflated notes the files that a HelmChartInflationGenerator reads: of values, and of a chart in the tree.
func (k *kustomization) noteInflated(w *walk, file reference, object []byte) {
	var g struct {
		types.HelmGlobals
		types.HelmChart
	}
	if yaml.Unmarshal(object, &g) != nil {
		return
	}
	for _, ref := range append(g.AdditionalValuesFiles, g.ValuesFile) {
		_, _ = w.file(k.dir, ref, file) // one that is not here changes nothing: helm does not run
	}
	home := cmp.Or(g.ChartHome, types.HelmDefaultHome)
	if dir, isDir, err := w.disk.find(path.Join(top, k.dir, home, g.Name)); err == nil && isDir {
		files, _ := helm.Files(w.disk.tree, dir)
		for _, name := range files {
			w.files[name] = true
		}
	}
}
