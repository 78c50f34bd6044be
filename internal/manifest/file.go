package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// File is one file of objects.
type File struct {
	// Name is how messages and reports name the file: a path with slashes, unless IsFile is false.
	Name string
	// Path is the path below the directory that was named, "" for a file that was named itself. Objects that one side
	// of a comparison holds several times are paired by it.
	Path string
	// Found is set for a file that was found in a directory. It may hold documents that are not objects.
	Found bool

	Documents []*yamldoc.Document
	// Repeated are the keys that a mapping has twice with different values. The last one counts, as for kubectl.
	Repeated []*yamldoc.Repeat
	// Unrelated is set for a file of a directory that is malformed and holds no object.
	Unrelated bool
	// Err joins what is wrong with the file or its documents; the documents that can be read are there all the same.
	Err error
}

// Parse reads the objects of data into f, whose Name, Path and Found are set. Lists and scalars in a file of a
// directory, such as a JSON patch of kustomize, are skipped; in a file that was named they are a mistake.
func (f *File) Parse(data []byte) { f.ParseShared(data, &yamldoc.Shared{}) }

// ParseShared is Parse for files that have many documents in common, as the two sides of a comparison have. Nobody may
// change the objects.
func (f *File) ParseShared(data []byte, shared *yamldoc.Shared) {
	if bytes.HasPrefix(data, []byte(lfsHeader)) {
		f.Err = fmt.Errorf("%s: it is a pointer of Git LFS, not the file itself; fetch the file with git lfs pull", f.Name)
		return
	}
	f.Documents, f.Repeated, f.Err = shared.Read(f.Name, data)
	switch {
	case f.Err == nil:
	case f.Found && notObjects(f.Err):
		f.Err = nil
	case template.Match(data):
		f.Err = &TemplateError{f.Name, f.Err}
	case f.Found && !mayHoldObject(data):
		f.Documents, f.Repeated, f.Err, f.Unrelated = nil, nil, nil, true
	}
}

// hasObject reports whether the document with this number is an object, or a list of objects.
func (f *File) hasObject(number int) bool {
	return slices.ContainsFunc(f.Documents, func(d *yamldoc.Document) bool {
		return d.Number == number && d.Object["apiVersion"] != nil && d.Object["kind"] != nil
	})
}

// mayHoldObject reports whether a text that cannot be read may be the text of an object: it has the names of the fields
// that every object has, or escapes or base64 that could stand for them. A tsconfig.json with comments has none of these.
func mayHoldObject(data []byte) bool {
	return bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind")) || bytes.ContainsRune(data, '\\') || !utf8.Valid(data) ||
		binaryTag.Match(data)
}

// binaryTag finds the tag !!binary, a tag with an escape, and the directive that gives tags other names.
var binaryTag = regexp.MustCompile(`(?m)(^|[\s,\[{\x{feff}])![^\s,\[\]{}]*(binary|%)|%TAG`)

// notObjects reports whether err is only about documents that are lists or scalars.
func notObjects(err error) bool {
	for _, e := range yamldoc.Errors(err) {
		if !errors.Is(e, yamldoc.ErrNotObject) {
			return false
		}
	}
	return true
}

// TemplateError is the error for a file that is not YAML because it is a template of a Helm chart.
type TemplateError struct {
	File string
	Err  error // why it is not YAML
}

func (e *TemplateError) Error() string {
	return e.Err.Error() + "; it looks like a template: check the manifests that it renders to, as with --render 'helm template CHART'"
}

func (e *TemplateError) Unwrap() error { return e.Err }

// lfsHeader begins every pointer file of Git LFS.
const lfsHeader = "version https://git-lfs.github.com/spec/v1\n"

// template finds an action of a Go template, which Helm charts are made of, or a variable of Jinja, which Ansible fills
// in. "{{" alone is YAML.
var template = regexp.MustCompile(`\{\{-?\s*\w+\s*(\|[^{}]*)?\}\}|\{\{-?\s*[.$"/]|\{\{-?\s*(if|else|end|range|with|define|include|template|block|toYaml|tpl)\b`)
