package unit

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A definition refers to objects by kind, namespace and name. The candidates for what it means are the objects of that
// name in files, and those that kustomizations generate; references.go decides between them.

// references are the objects that a definition refers to.
type references map[flux.Reference]*meaning

// meaning is what a reference means.
type meaning struct {
	object map[string]any // as written, or as units print it; nil for a missing or generated one
	files  []string       // that hold the object or generate it, all with the same content
	// contents identify the content of each candidate by its file; apart has those that are for other clusters.
	contents map[string]string
	apart    map[string]bool
	// makers identify the content of the objects that may make this one in the cluster, by their files: an
	// ExternalSecret, a SealedSecret.
	makers map[string]string
	// unclear is why nothing tells which of the candidates is meant; these have the candidates then, by their content.
	unclear    string
	candidates map[string]map[string]any
}

// content identifies the content of the object, "" for none.
func (m *meaning) content() string {
	if len(m.files) == 0 {
		return ""
	}
	return m.contents[m.files[0]]
}

// differ reports whether the files have different contents.
func (m *meaning) differ() bool {
	return slices.ContainsFunc(m.files, func(file string) bool { return m.contents[file] != m.content() })
}

// alike returns what all candidates have, with null for their other texts, if both sides have the same candidates; nil
// otherwise.
//
//	candidates  {DOMAIN: a.example.com, CLASS: fast} and {DOMAIN: b.example.com, CLASS: fast}
//	alike       {DOMAIN: null, CLASS: fast}
func (m *meaning) alike(old *meaning) map[string]any {
	contents := slices.Sorted(maps.Keys(m.candidates))
	if !slices.Equal(contents, slices.Sorted(maps.Keys(old.candidates))) {
		return nil
	}
	var alike map[string]any
	for _, content := range contents {
		if m.candidates[content] == nil {
			return nil // kustomize generates it
		}
		alike = maps.Clone(m.candidates[content])
	}
	for _, field := range [...]string{"data", "stringData"} {
		texts := map[string]any{}
		for _, o := range m.candidates {
			maps.Copy(texts, fieldpath.Object(o, field))
		}
		for _, o := range m.candidates {
			for key, text := range texts {
				if !jsonvalue.Equal(fieldpath.Object(o, field)[key], text) {
					texts[key] = nil
				}
			}
		}
		if len(texts) > 0 {
			alike[field] = texts
		}
	}
	return alike
}

// means reports whether a reference may mean an object. A namespace that one of both does not give is any.
func means(r flux.Reference, object map[string]any) bool {
	return isNear(r, object) && object["kind"] == r.Kind && fieldpath.Value(object, "metadata", "name") == r.Name
}

// isNear reports whether an object is in the namespace of a reference, as far as both name one.
func isNear(r flux.Reference, object map[string]any) bool {
	namespace := fieldpath.Text(object, "metadata", "namespace")
	return namespace == r.Namespace || namespace == "" || r.Namespace == ""
}

// inOrder returns references sorted.
func inOrder[V any](of map[flux.Reference]V) []flux.Reference {
	return slices.SortedFunc(maps.Keys(of), func(a, b flux.Reference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name))
	})
}

// candidates are the objects of a tree that definitions may refer to, found when somebody asks.
type candidates struct {
	tree       Tree
	shared     *yamldoc.Shared
	found      map[string][]fileObject              // what objects has found
	generators map[string][]byte                    // the kustomization files that generate objects
	generates  map[string]map[string]string         // what generated has found
	makes      map[flux.Reference]map[string]string // what makers has found
	builtin    func(group, kind string) bool
}

func newCandidates(t Tree, shared *yamldoc.Shared, builtin func(group, kind string) bool) *candidates {
	return &candidates{
		tree: t, shared: shared, builtin: builtin, found: map[string][]fileObject{},
		generates: map[string]map[string]string{},
		makes:     map[flux.Reference]map[string]string{},
	}
}

// fileObject is an object of a file.
type fileObject struct {
	file   string
	object map[string]any
}

// objectsNamed returns the objects of a kind with a name that files of the tree hold, in any namespace.
func (c *candidates) objectsNamed(kind, name string) []fileObject {
	key := kind + "\x00" + name
	if found, known := c.found[key]; known || strings.Contains(name, "$") {
		return found
	}
	written := kind
	if kind == "ExternalArtifact" {
		written = "ArtifactGenerator"
	}
	var found []fileObject
	for _, file := range c.tree.Paths() {
		if !manifest.HasObjects(file) {
			continue
		}
		data, err := c.tree.ReadFile(file)
		if err != nil || !mentions(data, written, name) {
			continue
		}
		documents, _, _ := c.shared.Read(file, data)
		for _, d := range documents {
			for _, object := range referred(d.Object) {
				if object["kind"] == kind && fieldpath.Value(object, "metadata", "name") == name {
					found = append(found, fileObject{file, object})
				}
			}
		}
	}
	c.found[key] = found
	return found
}

// referred returns the objects that definitions can refer to by an object: itself, or the ExternalArtifacts that it
// makes; nil for none.
func referred(object map[string]any) []map[string]any {
	if isReferred(object) {
		return []map[string]any{object}
	}
	return flux.Artifacts(object)
}

// isReferred reports whether an object is of the API group of those that definitions refer to, and not of another kind
// of that name.
func isReferred(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	if kind := object["kind"]; kind == "ConfigMap" || kind == "Secret" {
		return apiVersion == "v1"
	}
	return strings.HasPrefix(apiVersion, "source.toolkit.fluxcd.io/")
}

// generatedFrom identifies the input of each kustomization that generates an object.
func (c *candidates) generatedFrom(r flux.Reference) map[string]string {
	key := r.Kind + "\x00" + r.Name
	if all, known := c.generates[key]; known || r.Kind != "ConfigMap" && r.Kind != "Secret" ||
		strings.Contains(r.Name, "$") {
		return all
	}
	if c.generators == nil {
		c.generators = map[string][]byte{}
		for _, file := range c.tree.Paths() {
			if isKustomization(file) {
				if data, err := c.tree.ReadFile(file); err == nil && mentions(data, "Generator") {
					c.generators[file] = data
				}
			}
		}
	}
	all := map[string]string{}
	for file, data := range c.generators {
		if !mentions(data, r.Name) {
			continue
		}
		for _, g := range kustomize.Generators(data, r.Kind, r.Name) {
			all[file] += "\x00" + g.Text
			for _, name := range g.Files {
				name = path.Join(path.Dir(file), name)
				all[file] += "\x00" + name + "\x00" + state(c.tree, name)
			}
		}
	}
	c.generates[key] = all
	return all
}

// makers identify, for each file, the custom resources that may make the ConfigMap or Secret which a reference means.
// They are in its namespace and have its name in a field: as their own name, or as the name of their target.
func (c *candidates) makers(r flux.Reference) map[string]string {
	if all, known := c.makes[r]; known || r.Kind != "ConfigMap" && r.Kind != "Secret" || strings.Contains(r.Name, "$") {
		return all
	}
	all := map[string]string{}
	for _, file := range c.tree.Paths() {
		if !manifest.HasObjects(file) {
			continue
		}
		data, err := c.tree.ReadFile(file)
		if err != nil || !mentions(data, r.Name) {
			continue
		}
		documents, _, _ := c.shared.Read(file, data)
		for _, d := range documents {
			if c.mayMake(d.Object, r) {
				all[file] += "\x00" + digestOf(withoutMetadata(d.Object))
			}
		}
	}
	c.makes[r] = all
	return all
}

// mayMake reports whether an object may make the object that a reference names. An ExternalSecret tells what it makes;
// its other names are those of what it reads.
func (c *candidates) mayMake(object map[string]any, r flux.Reference) bool {
	if !isNear(r, object) || !c.isCustom(object) {
		return false
	}
	apiVersion, _ := object["apiVersion"].(string)
	if object["kind"] == "ExternalSecret" && strings.HasPrefix(apiVersion, "external-secrets.io/") {
		target := fieldpath.Text(object, "spec", "target", "name")
		return cmp.Or(target, fieldpath.Text(object, "metadata", "name")) == r.Name
	}
	return jsonvalue.HasScalar(object, r.Name)
}

// withoutMetadata returns an object without its metadata.
func withoutMetadata(object map[string]any) map[string]any {
	rest := maps.Clone(object)
	delete(rest, "metadata")
	return rest
}

// isCustom reports whether an object is a custom resource of another tool than those that define units.
func (c *candidates) isCustom(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, _, ok := strings.Cut(apiVersion, "/")
	switch {
	case !ok, group == "argoproj.io", strings.HasSuffix(group, ".toolkit.fluxcd.io"),
		group == "kustomize.config.k8s.io":
		return false
	}
	return c.builtin == nil || !c.builtin(group, kind)
}

// contentOf identifies what decides of an object that definitions refer to, and the files that a HelmChart names.
func (c *candidates) contentOf(object map[string]any) string {
	spec, isSource := object["spec"].(map[string]any)
	if !isSource {
		data := withoutMetadata(object)
		delete(data, "sops")
		return digestOf(data)
	}
	content := digestOf(deciding(spec))
	if dir, _ := spec["chart"].(string); object["kind"] == "HelmChart" && strings.Contains(dir, "/") {
		for _, name := range c.tree.Paths() {
			if rendered.Below(name, path.Clean(dir)) {
				content += state(c.tree, name)
			}
		}
	}
	return content
}
