package argo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// skipMarker in a file hides it from Argo CD.
const skipMarker = "+argocd:skip-file-rendering"

// maxDirectory is how much one directory of manifests may hold, in bytes.
const maxDirectory = 100 << 20

var manifestFile = regexp.MustCompile(`\.(yaml|yml|json|jsonnet)$`)

// manifestFiles returns the files that a directory source reads, in the order in which Argo CD reads them. It does not
// follow links to directories.
func (s *Source) manifestFiles(tree fs.FS) ([]string, error) {
	spec := directorySpec{}
	if s.spec.Directory != nil {
		spec = *s.spec.Directory
	}
	include, err := compile(spec.Include)
	if err != nil {
		return nil, fmt.Errorf("include: %w", err)
	}
	exclude, err := compile(spec.Exclude)
	if err != nil {
		return nil, fmt.Errorf("exclude: %w", err)
	}
	var files []string
	err = fs.WalkDir(tree, s.Path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != s.Path && !spec.Recurse || entry.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		below := strings.TrimPrefix(name, s.Path+"/")
		if !manifestFile.MatchString(name) || exclude != nil && exclude.Match(below) ||
			include != nil && !include.Match(below) {
			return nil
		}
		if info, err := fs.Stat(tree, name); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil
		}
		files = append(files, name)
		return nil
	})
	return files, err
}

// imported returns the files that the jsonnet programs among some files may import. Jsonnet
// computes no paths of imports, so each text between quotes may be a path: below the directory of the program, below
// that of the source, or below a library.
func (s *Source) imported(tree fs.FS, files []string) []string {
	from := []string{s.Path}
	if spec := s.spec.Directory; spec != nil && spec.Jsonnet != nil {
		for _, lib := range spec.Jsonnet.Libs {
			from = append(from, path.Clean(strings.TrimPrefix(lib, "/")))
		}
	}
	var found []string
	programs := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return path.Ext(name) != ".jsonnet" })
	for seen := map[string]bool{}; len(programs) > 0; programs = programs[1:] {
		content, err := fs.ReadFile(tree, programs[0])
		if err != nil {
			continue
		}
		quoted := strings.FieldsFunc(string(content), func(r rune) bool { return strings.ContainsRune("\"'\n", r) })
		for _, text := range quoted {
			for _, dir := range slices.Concat(from, []string{path.Dir(programs[0])}) {
				name := path.Join(dir, text)
				if info, err := fs.Stat(tree, name); seen[name] || err != nil || !info.Mode().IsRegular() {
					continue
				}
				seen[name] = true
				found = append(found, name)
				if ext := path.Ext(name); ext == ".jsonnet" || ext == ".libsonnet" {
					programs = append(programs, name)
				}
			}
		}
	}
	return found
}

// manifests returns the objects of a directory source, without those that git-crypt has encrypted.
func (s *Source) manifests(tree fs.FS, lacking *rendered.Lacking) ([]rendered.Object, error) {
	files, err := s.manifestFiles(tree)
	if err != nil {
		return nil, err
	}
	var objects []rendered.Object
	size := 0
	for _, name := range files {
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		if size += len(content); size > maxDirectory {
			return nil, fmt.Errorf("%s: the directory holds more than %d MiB", s.Path, maxDirectory>>20)
		}
		if bytes.Contains(content, []byte(skipMarker)) {
			continue
		}
		if yamldoc.IsEncrypted(content) {
			if err := lacking.Lacks(rendered.Encrypted(name, 0, name)); err != nil {
				return nil, err
			}
			continue
		}
		if path.Ext(name) == ".jsonnet" {
			return nil, &rendered.NotCovered{File: name, Reason: "jsonnet is not evaluated"}
		}
		documents, err := documentsOf(name, content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, document := range documents {
			objects = append(objects, rendered.Object{YAML: document, File: name})
		}
	}
	return objects, nil
}

// decides tells that no file of a directory source decides about those among them that are encrypted.
func decides(files []string) rendered.Decides {
	return func(has rendered.Has) (of rendered.Decision, lacks bool) {
		of.Files = map[string]string{}
		for _, name := range files {
			of.Files[name] = ""
			lacks = lacks || has(name, yamldoc.IsEncrypted)
		}
		return of, lacks
	}
}

// documentsOf returns the objects of a file. Argo CD skips a YAML file that has no objects and does not look like
// manifests.
func documentsOf(name string, content []byte) ([][]byte, error) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	if path.Ext(name) == ".json" {
		if !json.Valid(content) {
			return nil, errors.New("not one JSON object")
		}
		return [][]byte{content}, isObject(content)
	}
	documents, err := splitDocuments(content)
	if err == nil {
		return documents, nil
	}
	manifest := true
	for _, field := range []string{"apiVersion:", "kind:", "metadata:"} {
		manifest = manifest && bytes.Contains(content, []byte(field))
	}
	if len(documents) > 0 || manifest {
		return nil, err
	}
	return nil, nil
}

// splitDocuments returns the objects of a stream of YAML or JSON. With an error, it returns those before it.
func splitDocuments(content []byte) ([][]byte, error) {
	var documents [][]byte
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] == '{' {
		if documents, ok := splitJSON(content); ok {
			return documents, nil
		}
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, err
		}
		converted, err := yaml.YAMLToJSON(document)
		if err != nil {
			return documents, err
		}
		if bytes.Equal(bytes.TrimSpace(converted), []byte("null")) {
			continue
		}
		if err := isObject(converted); err != nil {
			return documents, err
		}
		documents = append(documents, bytes.Clone(document))
	}
}

// splitJSON reads JSON objects that follow each other. It reports whether content is nothing else.
func splitJSON(content []byte) ([][]byte, bool) {
	var documents [][]byte
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var document json.RawMessage
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, true
		}
		if err != nil || isObject(document) != nil {
			return nil, false
		}
		documents = append(documents, document)
	}
}

// isObject returns an error for JSON that is not an object with a kind.
func isObject(content []byte) error {
	var head struct{ Kind string }
	if err := json.Unmarshal(content, &head); err != nil {
		return err
	}
	if head.Kind == "" {
		return errors.New("an object without a kind")
	}
	return nil
}
