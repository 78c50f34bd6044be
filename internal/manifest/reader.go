package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Reader reads files, directories and standard input. It is safe for concurrent use.
type Reader struct {
	Stdin io.Reader
	// Step, unless nil, is called after each file that is read.
	Step func()
	// Amender, unless nil, adds locks to the schemas that Kinds returns.
	Amender *Amender

	used   atomic.Bool // standard input has been read
	shared yamldoc.Shared
}

// Read reads what args name, in that order: files, directories with all YAML and JSON files below them, or "-" for
// standard input. A file that is named twice is read once. Directories whose name starts with a dot are skipped, links
// are followed.
//
// The error is about an argument that cannot be used; what is wrong with the content of a file is in File.Err.
func (r *Reader) Read(args ...string) ([]File, error) {
	targets, err := list(args)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(targets))
	Each(len(files), func(i int) {
		files[i] = r.file(targets[i])
		if r.Step != nil {
			r.Step()
		}
	})
	for _, f := range files {
		var argument *argumentError
		if !f.Found && errors.As(f.Err, &argument) {
			return nil, f.Err
		}
	}
	return files, nil
}

// Hidden reads what Read leaves out of a directory: the files below directories whose name starts with a dot, as far as
// they have one of names in them. What cannot be read is left out.
func (r *Reader) Hidden(arg string, names []string) []File {
	var files []File
	for _, t := range hiddenBelow(arg) {
		data, err := os.ReadFile(t.name)
		has := func(name string) bool { return bytes.Contains(data, []byte(name)) }
		if err == nil && slices.ContainsFunc(names, has) {
			f := File{Name: filepath.ToSlash(t.name), Path: t.below, Found: true}
			f.ParseShared(data, &r.shared)
			files = append(files, f)
		}
	}
	return files
}

// Bytes reads one file, or standard input for "-", and returns its name for messages.
func (r *Reader) Bytes(path string) (name string, data []byte, err error) {
	if path != "-" {
		data, err = os.ReadFile(path)
		return filepath.ToSlash(path), data, unreadable(path, err)
	}
	if r.used.Swap(true) {
		return Stdin, nil,
			&argumentError{errors.New("standard input is named twice; it can be read once, give a file for the other")}
	}
	if data, err = io.ReadAll(r.Stdin); err != nil {
		err = &argumentError{fmt.Errorf("standard input cannot be read: %w", err)}
	}
	return Stdin, data, err
}

// file reads and parses one file.
func (r *Reader) file(t target) File {
	f := File{Name: filepath.ToSlash(t.name), Path: t.below, Found: t.found, Err: t.err}
	if f.Err != nil {
		return f
	}
	var data []byte
	if f.Name, data, f.Err = r.Bytes(t.name); f.Err == nil {
		f.ParseShared(data, &r.shared)
	}
	return f
}

// ParseAll parses the contents of files that have no error yet, on all processors.
func ParseAll(files []File, contents [][]byte, shared *yamldoc.Shared) {
	Each(len(files), func(i int) {
		if files[i].Err == nil {
			files[i].ParseShared(contents[i], shared)
		}
	})
}

// Each calls do for 0 to n-1, on all processors.
func Each(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

// File is one file of objects.
type File struct {
	// Name is how messages and reports name the file: a path with slashes, unless IsFile is false.
	Name string
	// Path is the path below the directory that was named, "" for a file that was named itself. Objects that one side
	// of a comparison holds several times are paired by it.
	Path string
	// Unit names the unit whose objects these are, "" for a file. Then Path tells the unit from others.
	Unit string
	// AppliedBy is what is known about who applies the objects.
	AppliedBy tool.Applier
	// Found is set for a file that was found in a directory. It may hold documents that are not objects.
	Found bool

	Documents []*yamldoc.Document
	// Repeated are the keys that a mapping has twice with different values. The last one counts, as for kubectl.
	Repeated []*yamldoc.Repeat
	// Elsewhere is set for a file that is not here, since it is part of another repository. Err says so.
	Elsewhere bool
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
func (f *File) ParseShared(data []byte, shared *yamldoc.Shared) { f.ParseSome(data, shared, nil) }

// ParseSome is ParseShared for the documents that a caller wants by their texts. It may read others, too.
func (f *File) ParseSome(data []byte, shared *yamldoc.Shared, wanted func(text []byte) bool) {
	if bytes.HasPrefix(data, []byte(lfsHeader)) {
		f.Err = fmt.Errorf("%s: it is a pointer of Git LFS, not the file itself; fetch the file with git lfs pull",
			f.Name)
		return
	}
	f.Documents, f.Repeated, f.Err = shared.ReadSome(f.Name, data, wanted)
	switch {
	case f.Err == nil:
	case f.Found && notObjects(f.Err):
		f.Err = nil
	case template.Match(data):
		f.Err = &TemplateError{f.Name, f.Err, mayHoldObject(data)}
	case f.Found && !mayHoldObject(data):
		f.Documents, f.Repeated, f.Err, f.Unrelated = nil, nil, nil, path.Base(f.Path) != AcceptFile
	}
	if f.Found && path.Base(f.Path) == AcceptFile { // settings are no objects
		f.Documents = slices.DeleteFunc(f.Documents, func(d *yamldoc.Document) bool {
			return d.Object["apiVersion"] == nil || d.Object["kind"] == nil
		})
	}
}

// hasObject reports whether the document with this number is an object, or a list of objects.
func (f *File) hasObject(number int) bool {
	return slices.ContainsFunc(f.Documents, func(d *yamldoc.Document) bool {
		return d.Number == number && d.Object["apiVersion"] != nil && d.Object["kind"] != nil
	})
}

// mayHoldObject reports whether a text that cannot be read may be the text of an object: it has the names of the fields
// that every object has, or escapes, base64 or encryption that could hide them. A tsconfig.json with comments has none
// of these.
func mayHoldObject(data []byte) bool {
	return bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind")) ||
		bytes.ContainsRune(data, '\\') || !utf8.Valid(data) ||
		binaryTag.Match(data) || yamldoc.IsEncrypted(data)
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
	// MayHoldObject is set if the text has the names of the fields of an object, or what could stand for them.
	MayHoldObject bool
}

func (e *TemplateError) Error() string {
	return e.Err.Error() + "; it looks like a template: check the manifests that it renders to, as with --render " +
		"'helm template CHART'"
}

func (e *TemplateError) Unwrap() error { return e.Err }

// lfsHeader begins every pointer file of Git LFS.
const lfsHeader = "version https://git-lfs.github.com/spec/v1\n"

// template finds an action of a Go template, which Helm charts are made of, or a variable of Jinja, which Ansible fills
// in. "{{" alone is YAML.
var template = regexp.MustCompile(`\{\{-?\s*\w+\s*(\|[^{}]*)?\}\}|\{\{-?\s*[.$"/]|\{\{-?\s*(if|else|end|range|with|define|include|template|block|toYaml|tpl)\b`)

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
