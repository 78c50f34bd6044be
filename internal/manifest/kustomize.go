package manifest

import (
	"path"
	"strings"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Patch is a document that a kustomization merges into an object of another file, so that it is not an object itself.
type Patch struct {
	*Object
	Kustomization string // the file that names the patch
}

// patchFiles returns the paths of the files that kustomizations among files name as patches, each with the name of the
// kustomization.
func patchFiles(files []File) map[string]string {
	patches := map[string]string{}
	for _, f := range files {
		switch path.Base(f.Path) {
		case "kustomization.yaml", "kustomization.yml":
		default:
			continue
		}
		for _, d := range f.Documents {
			for _, name := range patchesOf(d) {
				patches[path.Join(path.Dir(f.Path), name)] = f.Name
			}
		}
	}
	return patches
}

// patchesOf lists the files that a kustomization names as patches.
func patchesOf(d *yamldoc.Document) []string {
	var names []string
	add := func(value any) {
		// A patch can also be written out in place, in several lines.
		if name, ok := value.(string); ok && !strings.Contains(name, "\n") {
			names = append(names, name)
		}
	}
	for _, field := range [...]string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
		list, _ := d.Object[field].([]any)
		for _, item := range list {
			if object, ok := item.(map[string]any); ok {
				item = object["path"]
			}
			add(item)
		}
	}
	return names
}

// isKustomization reports whether o is a configuration of kustomize, which no cluster ever sees.
func isKustomization(o *Object) bool { return o.Group == "kustomize.config.k8s.io" }
