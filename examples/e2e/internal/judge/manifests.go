package judge

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// Manifests reads the objects of all YAML files below a folder, of the kinds that the judge knows, as cases without a
// change. Templates and other files that are not YAML are skipped.
func (j *Judge) Manifests(folder string) ([]kindcase.Case, error) {
	var cases []kindcase.Case
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".yaml") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, document := range bytes.Split(data, []byte("\n---")) {
			var object map[string]any
			if yaml.Unmarshal(document, &object) != nil {
				continue
			}
			if manifest := j.manifest(object); manifest != nil {
				cases = append(cases, kindcase.Case{Name: name, Old: manifest, New: manifest})
			}
		}
		return nil
	})
	return cases, err
}

// manifest returns an object of a known kind and version with a namespace, nil for any other document.
func (j *Judge) manifest(object map[string]any) map[string]any {
	code, ok := j.codes[text(object, "kind")]
	metadata, _ := object["metadata"].(map[string]any)
	if !ok || text(metadata, "name") == "" || !strings.HasSuffix(text(object, "apiVersion"), "v1") {
		return nil
	}
	if code.strategy.NamespaceScoped() && text(metadata, "namespace") == "" {
		metadata["namespace"] = "default"
	}
	delete(metadata, "managedFields")
	delete(metadata, "uid") // the server chooses another one, and refuses to apply this one again
	object, _ = kindcase.Clone(object).(map[string]any)
	return object
}
