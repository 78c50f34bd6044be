package markers

import (
	"errors"
	"fmt"
	"go/token"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// File is a file with CRD documents, YAML or JSON; it may have other documents too.
type File struct {
	Name string // for messages
	Data []byte
}

// Written is a file after WriteCRDs.
type Written struct {
	File             // Data is the very input if Keys is 0
	CRDs    int      // documents in it that belong to the packages
	Keys    int      // keys that were written, the annotation counts as one
	Notices []string // fieldlock's keys in the file that no marker asks for, sorted; they are kept
}

// CRDOptions change what WriteCRDs writes.
type CRDOptions struct {
	Annotation     bool // the annotation fieldlock.dev/locks too
	AnnotationOnly bool // with Annotation: takes fieldlock's keys out of the schemas
}

// WriteCRDs writes what the markers ask for into the CRDs of files and returns the files in the same order. An *Error
// holds what cannot be written.
func (s *Source) WriteCRDs(files []File, o CRDOptions) ([]Written, error) {
	p := &problems{dir: s.dir, list: slices.Clone(s.problems)}
	all := make([]Written, 0, len(files))
	for _, file := range files {
		written, err := s.writeFile(file, o, p)
		if err != nil {
			return nil, err
		}
		all = append(all, written)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return all, nil
}

// writeFile writes the keys of one file.
func (s *Source) writeFile(file File, o CRDOptions, p *problems) (Written, error) {
	parsed, err := yamldoc.Parse(file.Name, file.Data)
	if err != nil {
		return Written{}, err
	}
	written := Written{File: file}
	for _, d := range parsed.Documents {
		if !s.owns(d) {
			continue
		}
		written.CRDs++
		w := crdWriter{source: s, options: o, problems: p, file: file.Name, document: d}
		w.crd()
		if o.Annotation && len(p.list) == 0 {
			if err := w.annotate(); err != nil {
				return Written{}, fmt.Errorf("%s: %w", file.Name, err)
			}
		}
		written.Keys += w.written
		written.Notices = append(written.Notices, w.notices...)
	}
	slices.Sort(written.Notices)
	written.Notices = slices.Compact(written.Notices) // a field of several versions or places is told once
	if written.Keys > 0 && len(p.list) == 0 {
		written.Data, err = parsed.Bytes()
	}
	return written, err
}

// owns reports whether d is a CRD of one of the source's groups.
func (s *Source) owns(d *yamldoc.Document) bool {
	apiVersion, _ := d.Object["apiVersion"].(string)
	group, isText := fieldpath.Value(d.Object, "spec", "group").(string)
	return d.Object["kind"] == "CustomResourceDefinition" && strings.HasPrefix(apiVersion, "apiextensions.k8s.io/") &&
		isText && s.groups[group]
}

// crdWriter writes the keys that markers ask for into the schemas of one CRD.
type crdWriter struct {
	source   *Source
	options  CRDOptions
	problems *problems
	file     string
	document *yamldoc.Document

	written int
	added   map[string]int // keys of fieldlock that were not there, by version
	notices []string

	carried rawschema.Annotation // what the annotation holds, by version and schema path

	// The version that is being written.
	version string
	steps   []any                      // to its schema
	asked   map[string]map[string]bool // schema path → keys that markers ask for
}

// problem reports a mistake in the file, at the value that steps lead to.
func (w *crdWriter) problem(steps []any, format string, args ...any) {
	at := token.Position{Filename: w.file, Line: w.document.Position(steps...).Line}
	w.problems.at(at, "", format, args...)
}

// crd writes into every version.
func (w *crdWriter) crd() {
	object := w.document.Object
	if object["apiVersion"] != "apiextensions.k8s.io/v1" {
		w.problem([]any{"apiVersion"},
			"the CRD has apiVersion %v, which gains no locks: write it as apiextensions.k8s.io/v1",
			object["apiVersion"])
		return
	}
	spec, _ := object["spec"].(map[string]any)
	versions, ok := spec["versions"].([]any)
	if !ok {
		w.problem([]any{"spec"}, "the CRD has no list of versions under spec.versions")
		return
	}
	w.added = map[string]int{}
	if text, ok := fieldpath.Value(object, "metadata", "annotations", rawschema.AnnotationKey).(string); ok &&
		!w.options.Annotation {
		var err error
		if w.carried, err = rawschema.Decode(text); err != nil {
			w.problem([]any{"metadata", "annotations", rawschema.AnnotationKey}, "%v", err)
		}
	}
	group, _ := spec["group"].(string)
	kindName := fieldpath.Text(spec, "names", "kind")
	for i, version := range versions {
		w.version = fieldpath.Text(version, "name")
		w.steps = []any{"spec", "versions", i, "schema", "openAPIV3Schema"}
		k := kind{group, w.version, kindName}
		u := w.source.roots[k]
		if u == nil {
			w.problem(w.steps[:3], "there is no Go type %s in the packages: name the package that has it too", k)
			continue
		}
		s, _ := fieldpath.Value(object, w.steps...).(map[string]any)
		w.asked = map[string]map[string]bool{}
		w.node(s, u, "")
		w.findNotices(s)
	}
}

// findNotices names fieldlock's keys in the schema of a version that no marker asks for.
func (w *crdWriter) findNotices(s map[string]any) {
	if s == nil {
		return
	}
	rawschema.Walk(s, func(path string, node map[string]any) {
		carried := w.carriedBy(path)
		for _, key := range schema.OwnKeys() {
			_, ok := node[key]
			if _, moved := carried[key]; (ok || moved) && !w.asked[path][key] {
				w.notices = append(w.notices, fmt.Sprintf("%s: no marker asks for %s at %s of version %s",
					w.file, key, shownPath(path), w.version))
			}
		}
	})
}

// node writes the marks of u and of everything below it into the schema node at path.
func (w *crdWriter) node(n map[string]any, u *use, path string) {
	own := u.marks.at(0)
	if path == "" {
		if m, ok := own.own(); ok {
			w.problems.of(m, "the whole object cannot be locked or normalized: put it on a field")
		}
	}
	if n == nil {
		if m, ok := u.firstBelow(marks.own); ok {
			w.problems.of(m, "the CRD in %s has no schema at %s to write it into: controller-gen leaves it out "+
				"below a "+
				"field without a schema, or the file is older than the Go type", w.file, shownPath(path))
		}
		return
	}
	w.keys(n, own, path)
	for _, f := range u.typ.fields {
		if path == "" && (f.name == "metadata" || f.name == "kind" || f.name == "apiVersion") {
			if m, ok := f.marks.at(0).own(); ok {
				w.problems.of(m, "%s of an object cannot be locked or normalized: the API server keeps it", f.name)
			}
			continue
		}
		below := fieldpath.Object(n, "properties", f.name)
		if text := f.zeroValue(); text != "" && !boundsZero(below) {
			w.notices = append(w.notices, fmt.Sprintf("%s:%d: %s",
				w.problems.relative(f.pos.Filename), f.pos.Line, text))
		}
		w.node(below, w.asGenerated(n, below, f, path), path+"/properties/"+pointer.Escape(f.name))
	}
	inner := u.inner(w.problems)
	if inner == nil {
		return
	}
	keyword := "items"
	if u.typ.form == mapForm {
		keyword = "additionalProperties"
	}
	below, _ := n[keyword].(map[string]any)
	w.node(below, inner, path+"/"+keyword)
}

// boundsZero reports whether a schema may refuse the zero value of its type.
func boundsZero(n map[string]any) bool {
	return slices.ContainsFunc([]string{"minLength", "enum", "pattern", "format", "minimum", "minItems",
		"minProperties"}, func(keyword string) bool {
		return n[keyword] != nil
	})
}

// asGenerated returns the use of a field with +k8s:immutable in the meaning that the rules of the CRD give it. For an
// optional field controller-gen writes two rules, which say set-once: self == oldSelf on the field, and on the object
// that an update may not unset it. parent and n are the nodes of the object, at path, and of the field.
func (w *crdWriter) asGenerated(parent, n map[string]any, f *field, path string) *use {
	m, locked := f.marks.at(0).get(schema.KeyImmutable)
	line := w.lineOfRule(parent, path, "!has(oldSelf."+f.name+") || has(self."+f.name+")")
	below := path + "/properties/" + pointer.Escape(f.name)
	if !locked || line == 0 || w.lineOfRule(n, below, "self == oldSelf") == 0 {
		return f.use
	}
	if w.source.k8s != "" || !strings.HasSuffix(m.text, "+k8s:immutable") {
		w.notices = append(w.notices, fmt.Sprintf("%s:%d: %s locks %s from creation, but the rules in line %d of %s "+
			"let an update set it once; both apply",
			w.problems.relative(m.pos.Filename), m.pos.Line, m.text, f.name, line, w.file))
		return f.use
	}
	m.key, m.value = schema.KeyUpdate, []string{string(schema.NoUnset), string(schema.NoModify)}
	once := *f.use
	once.marks = slices.Clone(f.marks)
	once.marks[0] = once.marks.without(0, schema.KeyImmutable)[0].with(m, w.problems)
	return &once
}

// lineOfRule returns the line of the rule with this text in the node at path, 0 for none.
func (w *crdWriter) lineOfRule(n map[string]any, path, text string) int {
	rules, _ := n[schema.KeyValidations].([]any)
	for i, rule := range rules {
		if fieldpath.Value(rule, "rule") == text {
			return w.document.Position(append(w.stepsTo(path), schema.KeyValidations, i)...).Line
		}
	}
	return 0
}

// stepsTo returns the steps to the node at path.
func (w *crdWriter) stepsTo(path string) []any {
	steps := slices.Clone(w.steps)
	for _, name := range pointer.Names(path) {
		steps = append(steps, name)
	}
	return steps
}

// carriedBy returns the keys that the annotation of the CRD carries for the node at path of the current version. They
// are where export cel and export annotation have moved them.
func (w *crdWriter) carriedBy(path string) map[string]any {
	if w.options.Annotation {
		return nil
	}
	return w.carried[w.version][path]
}

// keys writes the marks of one node.
func (w *crdWriter) keys(n map[string]any, own marks, path string) {
	carried := w.carriedBy(path)
	at := func(key string) []any {
		if _, is := carried[key]; is {
			return []any{"metadata", "annotations", rawschema.AnnotationKey}
		}
		return append(w.stepsTo(path), key)
	}
	before := maps.Clone(n)
	maps.Copy(before, carried)
	for _, m := range own {
		if w.asked[path] == nil {
			w.asked[path] = map[string]bool{}
		}
		w.asked[path][m.key] = true
		there, ok := before[m.key]
		switch {
		case !ok:
			n[m.key] = m.value
			w.written++
			if isOwn(m.key) {
				w.added[w.version]++
			}
		case !rawschema.SameMark(m.key, there, m.value):
			w.problems.of(m, "line %d of %s has %s with another value: let controller-gen write the file anew, or "+
				"make the two agree",
				w.document.Position(at(m.key)...).Line, w.file, m.key)
		}
	}
	lock, locks := own.lock()
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, asked := own.get(key); locks && !asked && schema.IsLockKey(key) {
			w.problems.of(lock, "line %d of %s already has the lock %s there: let controller-gen write the file "+
				"anew, or make the two agree",
				w.document.Position(at(key)...).Line, w.file, key)
		}
	}
}

func shownPath(path string) string {
	if path == "" {
		return "its root"
	}
	return path
}

// annotate writes the annotation of a CRD whose schemas are written, and with AnnotationOnly takes fieldlock's keys
// out of the schemas.
func (w *crdWriter) annotate() error {
	annotation := rawschema.Annotation{}
	for name, s := range w.schemas() {
		annotation.Add(name, s)
		if w.options.AnnotationOnly { // what was added just now is taken out again, and counts as neither
			rawschema.Walk(s, func(_ string, node map[string]any) {
				for _, key := range schema.OwnKeys() {
					if _, ok := node[key]; ok {
						delete(node, key)
						w.written++
					}
				}
			})
			w.written -= 2 * w.added[name]
		}
	}
	value, err := annotation.Encode()
	if err != nil || value == "" {
		return err
	}
	steps := []any{"metadata", "annotations", rawschema.AnnotationKey}
	if there, ok := fieldpath.Value(w.document.Object, steps...).(string); ok {
		if was, err := rawschema.Decode(there); err != nil || !was.Equal(annotation) {
			return fmt.Errorf("the annotation %s in line %d differs from what the schemas say: remove it, then run "+
				"markers again",
				rawschema.AnnotationKey, w.document.Position(steps...).Line)
		}
		return nil
	}
	metadata, _ := w.document.Object["metadata"].(map[string]any)
	if metadata == nil {
		return errors.New("the CRD has no metadata to write the annotation into")
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[rawschema.AnnotationKey] = value
	w.written++
	return nil
}

// schemas yields the schemas of the CRD's versions with their names.
func (w *crdWriter) schemas() iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		versions, _ := fieldpath.Value(w.document.Object, "spec", "versions").([]any)
		for _, version := range versions {
			name := fieldpath.Text(version, "name")
			if s, ok := fieldpath.Value(version, "schema", "openAPIV3Schema").(map[string]any); ok && !yield(name, s) {
				return
			}
		}
	}
}
