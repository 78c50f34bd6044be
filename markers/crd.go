package markers

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// File is a file with CRD documents, YAML or JSON, any number of them beside other documents.
type File struct {
	Name string // for messages
	Data []byte
}

// Written is a file after WriteCRDs.
type Written struct {
	File             // Data is the very input where Keys is 0
	CRDs    int      // documents in it that belong to the packages
	Keys    int      // keys that were written
	Notices []string // fieldlock's keys in the file that no marker asks for, sorted; they are kept
}

// CRDOption changes what WriteCRDs writes.
type CRDOption interface{ applyCRD(*crdOptions) }

type crdOptions struct{ annotation bool }

type crdOptionFunc func(*crdOptions)

func (f crdOptionFunc) applyCRD(o *crdOptions) { f(o) }

// WithAnnotation writes the annotation fieldlock.dev/locks too, which a stock API server keeps.
func WithAnnotation() CRDOption {
	return crdOptionFunc(func(o *crdOptions) { o.annotation = true })
}

// WriteCRDs writes what the markers ask for into the CRDs of files, every version of them, and returns the files in the
// same order. It finds the Go type of a version by group, version and kind; CRDs of other groups are left alone. Only
// keys that are missing are written, as lines of their own in the order of the names; every other byte stays, and a
// second run changes nothing. The input is not changed. An *Error holds what cannot be
// written: a mark for which the schema has no node, a key that has another value in the file, a version without a Go
// type.
// Cost: one parse of each file, two where it changes.
func (s *Source) WriteCRDs(files []File, opts ...CRDOption) ([]Written, error) {
	var o crdOptions
	for _, opt := range opts {
		opt.applyCRD(&o)
	}
	p := &problems{dir: s.dir}
	all := make([]Written, 0, len(files))
	for _, file := range files {
		written, err := s.writeFile(file, p)
		if err == nil && o.annotation && written.CRDs > 0 && len(p.list) == 0 {
			err = s.annotate(&written)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		all = append(all, written)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return all, nil
}

// writeFile writes the schema keys of one file.
func (s *Source) writeFile(file File, p *problems) (Written, error) {
	docs, err := parse(file.Data)
	if err != nil {
		return Written{}, err
	}
	w := crdWriter{source: s, problems: p, file: file.Name, written: Written{File: file}}
	e := newEditor(file.Data)
	for _, doc := range docs {
		if crd := s.crd(doc); crd != nil {
			w.written.CRDs++
			w.crd(crd, e)
		}
	}
	slices.Sort(w.written.Notices)
	if w.written.Keys = e.count; e.count > 0 && len(p.list) == 0 {
		w.written.Data, err = e.result(docs)
	}
	return w.written, err
}

// parse reads the documents of a file.
func parse(data []byte) ([]*yaml.Node, error) {
	var docs []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		doc := &yaml.Node{}
		switch err := decoder.Decode(doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// crd returns the mapping of a document when it is a CRD of one of the source's groups, else nil.
func (s *Source) crd(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) != 1 {
		return nil
	}
	root := doc.Content[0]
	if text(root, "kind") != "CustomResourceDefinition" || !strings.HasPrefix(text(root, "apiVersion"), "apiextensions.k8s.io/") {
		return nil
	}
	if !s.groups[text(child(root, "spec"), "group")] {
		return nil
	}
	return root
}

// child returns the value of a key of a mapping, nil where there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// text returns the scalar under a key of a mapping, "" where there is none.
func text(n *yaml.Node, key string) string {
	if c := child(n, key); c != nil && c.Kind == yaml.ScalarNode {
		return c.Value
	}
	return ""
}

// crdWriter writes into the CRDs of one file.
type crdWriter struct {
	source   *Source
	problems *problems
	file     string
	written  Written
	edit     *editor
	asked    map[string]bool // path and key, of one version
}

func (w *crdWriter) problem(n *yaml.Node, format string, args ...any) {
	w.problems.at(token.Position{Filename: w.file, Line: n.Line}, "", format, args...)
}

func (w *crdWriter) crd(root *yaml.Node, e *editor) {
	w.edit = e
	spec := child(root, "spec")
	if version := text(root, "apiVersion"); version != "apiextensions.k8s.io/v1" {
		w.problem(root, "the CRD has apiVersion %s, which gains no locks: write it as apiextensions.k8s.io/v1", version)
		return
	}
	versions := child(spec, "versions")
	if versions == nil || versions.Kind != yaml.SequenceNode {
		w.problem(root, "the CRD has no list of versions under spec.versions")
		return
	}
	for _, version := range versions.Content {
		k := kind{text(spec, "group"), text(version, "name"), text(child(spec, "names"), "kind")}
		u := w.source.roots[k]
		if u == nil {
			w.problem(version, "no Go type %s is in the packages: name the package that has it, too", k)
			continue
		}
		schema := child(child(version, "schema"), "openAPIV3Schema")
		w.asked = map[string]bool{}
		w.place(schema, u, "")
		w.notices(schema, k.version)
	}
}

// notices names fieldlock's keys in the schema of a version that no marker asks for.
func (w *crdWriter) notices(schema *yaml.Node, version string) {
	there := map[string]map[string]any{}
	ownKeys(schema, "", there)
	for path, keys := range there {
		for key := range keys {
			if !w.asked[path+" "+key] {
				w.written.Notices = append(w.written.Notices, fmt.Sprintf("%s: no marker asks for %s at %s of version %s", w.file, key, shownPath(path), version))
			}
		}
	}
}

// place writes the marks of u into the schema node n at path, and those of everything below.
func (w *crdWriter) place(n *yaml.Node, u *use, path string) {
	own := u.marks.at(0)
	if path == "" {
		if m, ok := own.own(); ok {
			w.problems.of(m, "the whole object cannot be locked or normalized: put it on a field")
		}
	}
	if n == nil || n.Kind != yaml.MappingNode {
		if m, ok := u.firstBelow(marks.own); ok {
			w.problems.of(m, "the CRD in %s has no schema at %s to write it into: controller-gen leaves it out below a field without a schema, or the file is older than the Go type", w.file, shownPath(path))
		}
		return
	}
	w.keys(n, own, path)
	for _, f := range u.shape.fields {
		at := path + "/properties/" + pointer.Escape(f.name)
		if path == "" && (f.name == "metadata" || f.name == "kind" || f.name == "apiVersion") {
			if m, ok := f.marks.at(0).own(); ok {
				w.problems.of(m, "%s of an object cannot be locked or normalized: the API server keeps it", f.name)
			}
			continue
		}
		w.place(child(child(n, "properties"), f.name), f.use, at)
	}
	if inner := u.inner(w.problems); inner != nil {
		if u.shape.form == mapForm {
			w.place(child(n, "additionalProperties"), inner, path+"/additionalProperties")
		} else {
			w.place(child(n, "items"), inner, path+"/items")
		}
	}
}

// keys writes the marks of one node.
func (w *crdWriter) keys(n *yaml.Node, own marks, path string) {
	missing := map[string]any{}
	for _, m := range own {
		w.asked[path+" "+m.key] = true
		there := child(n, m.key)
		if there == nil {
			missing[m.key] = m.value
			continue
		}
		var value any
		if err := there.Decode(&value); err != nil || !sameValue(m.key, value, m.value) {
			w.problems.of(m, "line %d of %s has %s with another value: let controller-gen write the file anew, or make the two agree", there.Line, w.file, m.key)
		}
	}
	lock, locks := own.lock()
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if _, asked := own.get(key); locks && !asked && isLock(key) {
			w.problems.of(lock, "line %d of %s has the lock %s there already: let controller-gen write the file anew, or make the two agree", n.Content[i].Line, w.file, key)
		}
	}
	if len(missing) > 0 {
		if err := w.edit.insert(n, missing); err != nil {
			w.problem(n, "%s cannot be written: %v", strings.Join(slices.Sorted(maps.Keys(missing)), " and "), err)
		}
	}
}

// sameValue reports whether two values of a key say the same.
func sameValue(key string, a, b any) bool {
	left, bad := extension.Read(map[string]any{key: a})
	right, _ := extension.Read(map[string]any{key: b})
	slices.Sort(left.ListMapKeys)
	right.ListMapKeys = slices.Sorted(slices.Values(right.ListMapKeys))
	return len(bad) == 0 && reflect.DeepEqual(left, right)
}

func shownPath(path string) string {
	if path == "" {
		return "its root"
	}
	return path
}
