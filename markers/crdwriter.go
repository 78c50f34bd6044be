package markers

import (
	"errors"
	"fmt"
	"go/token"
	"iter"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// crdWriter writes the keys that markers ask for into the schemas of one CRD.
type crdWriter struct {
	source   *Source
	options  crdOptions
	problems *problems
	file     string
	document *yamldoc.Document

	written int
	added   map[string]int // keys of fieldlock that were not there, by version
	notices []string

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
		w.problem([]any{"apiVersion"}, "the CRD has apiVersion %v, which gains no locks: write it as apiextensions.k8s.io/v1", object["apiVersion"])
		return
	}
	spec, _ := object["spec"].(map[string]any)
	versions, ok := spec["versions"].([]any)
	if !ok {
		w.problem([]any{"spec"}, "the CRD has no list of versions under spec.versions")
		return
	}
	w.added = map[string]int{}
	group, _ := spec["group"].(string)
	kindName, _ := yamldoc.At(spec, "names", "kind").(string)
	for i, version := range versions {
		w.version, _ = yamldoc.At(version, "name").(string)
		w.steps = []any{"spec", "versions", i, "schema", "openAPIV3Schema"}
		k := kind{group, w.version, kindName}
		u := w.source.roots[k]
		if u == nil {
			w.problem(w.steps[:3], "there is no Go type %s in the packages: name the package that has it too", k)
			continue
		}
		s, _ := yamldoc.At(object, w.steps...).(map[string]any)
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
		for _, key := range schema.OwnKeys() {
			if _, ok := node[key]; ok && !w.asked[path][key] {
				w.notices = append(w.notices, fmt.Sprintf("%s: no marker asks for %s at %s of version %s", w.file, key, shownPath(path), w.version))
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
			w.problems.of(m, "the CRD in %s has no schema at %s to write it into: controller-gen leaves it out below a field without a schema, or the file is older than the Go type", w.file, shownPath(path))
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
		below, _ := yamldoc.At(n, "properties", f.name).(map[string]any)
		w.node(below, f.use, path+"/properties/"+pointer.Escape(f.name))
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

// keys writes the marks of one node.
func (w *crdWriter) keys(n map[string]any, own marks, path string) {
	at := func(key string) []any {
		steps := slices.Clone(w.steps)
		for _, name := range pointer.Names(path) {
			steps = append(steps, name)
		}
		return append(steps, key)
	}
	before := maps.Clone(n)
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
			w.problems.of(m, "line %d of %s has %s with another value: let controller-gen write the file anew, or make the two agree",
				w.document.Position(at(m.key)...).Line, w.file, m.key)
		}
	}
	lock, locks := own.lock()
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, asked := own.get(key); locks && !asked && schema.IsLockKey(key) {
			w.problems.of(lock, "line %d of %s already has the lock %s there: let controller-gen write the file anew, or make the two agree",
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

type crdOptions struct{ annotation, only bool }

// annotate writes the annotation of a CRD whose schemas are written, and with WithAnnotationOnly takes fieldlock's keys
// out of the schemas.
func (w *crdWriter) annotate() error {
	annotation := rawschema.Annotation{}
	for name, s := range w.schemas() {
		annotation.Add(name, s)
		if w.options.only { // what was added just now is taken out again, and counts as neither
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
	if there, ok := yamldoc.At(w.document.Object, steps...).(string); ok {
		if was, err := rawschema.Decode(there); err != nil || !was.Equal(annotation) {
			return fmt.Errorf("the annotation %s in line %d differs from what the schemas say: remove it, then run markers again",
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
		versions, _ := yamldoc.At(w.document.Object, "spec", "versions").([]any)
		for _, version := range versions {
			name, _ := yamldoc.At(version, "name").(string)
			if s, ok := yamldoc.At(version, "schema", "openAPIV3Schema").(map[string]any); ok && !yield(name, s) {
				return
			}
		}
	}
}
