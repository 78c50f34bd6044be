// Package manifest reads Kubernetes objects from where users keep them: files, directories and standard input, and, in
// the packages below it, git trees, the output of commands, and clusters.
//
//	r := &manifest.Reader{Stdin: os.Stdin}
//	files, err := r.Read("deploy/")
//	...
//	set := manifest.Objects(files)
//
// A file that cannot be read or parsed keeps its error in File.Err, so that one mistake does not hide the others.
package manifest

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// ID is what objects are paired by. The version is not part of it.
type ID struct{ Group, Kind, Namespace, Name string }

// String names the object as reports do: "namespace/name", or "name".
func (id ID) String() string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}

// Fits reports whether the two can name one object: one of them may leave out the namespace.
func (id ID) Fits(other ID) bool {
	if id.Namespace == "" || other.Namespace == "" {
		id.Namespace, other.Namespace = "", ""
	}
	return id == other
}

// Object is one Kubernetes object of a file.
type Object struct {
	ID
	APIVersion string
	// Path is the File.Path of the file that holds the object.
	Path      string
	Unit      string       // as File.Unit
	AppliedBy tool.Applier // as File.AppliedBy
	Unplaced  bool         // the object is in the namespace of a release, which is not known
	Document  *yamldoc.Document
	// Stored is what a cluster would store of the object, nil where that is not known.
	Stored map[string]any

	// Invalid is why the object cannot be identified, nil for most. It matters only when a schema covers the object.
	Invalid error
}

// Generated reports whether the server generates the object's name, so that it is another object each time.
func (o *Object) Generated() bool { return o.Name == "" }

// Place is the namespace of the object in commands: a placeholder where that of the release is not known, or where it
// has a variable.
func (o *Object) Place() string {
	if o.Unplaced {
		return "NAMESPACE"
	}
	return shell.Resolved(o.Namespace, "NAMESPACE")
}

// Called is the name of the object in commands: a placeholder where it has a variable.
func (o *Object) Called() string { return shell.Resolved(o.Name, "NAME") }

// Value returns the decoded object: as a cluster would store it where that is known, otherwise as it is written.
func (o *Object) Value() map[string]any {
	if o.Stored != nil {
		return o.Stored
	}
	return o.Document.Object
}

// Locate returns the place of a path of the object's value in its file, or of the nearest parent that is written there.
func (o *Object) Locate(at fieldpath.Path) yamldoc.Position {
	at = at.Reach(o.Value())
	if o.Stored == nil {
		return o.Document.Position(at...)
	}
	return o.LocateAs(o.Stored, at)
}

// LocateAs returns the place in the object's file of what a path leads to in another state of the object, or of the
// nearest parent that is written there.
func (o *Object) LocateAs(state map[string]any, at fieldpath.Path) yamldoc.Position {
	var stored, written any = state, o.Document.Object
	at = slices.Clone(at)
	for n, step := range at {
		below, ok := fieldpath.Get(stored, step)
		if i, isIndex := step.(int); isIndex {
			if i = sameItem(written, below, i); !ok || i < 0 {
				return o.Document.Position(at[:n]...)
			}
			at[n] = i
		}
		stored, written = below, fieldpath.Value(written, at[n])
	}
	return o.Document.Position(at...)
}

// sameItem returns the index of an item of a cluster's list in the list as it is written: of the item that is equal, or
// has the same name, otherwise i; -1 if the list has none.
func sameItem(list, item any, i int) int {
	items, _ := list.([]any)
	name := fieldpath.Value(item, "name")
	same := func(other any) bool {
		return jsonvalue.Equal(other, item) || name != nil && jsonvalue.Equal(fieldpath.Value(other, "name"), name)
	}
	if i < len(items) && same(items[i]) {
		return i // as in most lists
	}
	if j := slices.IndexFunc(items, same); j >= 0 {
		return j
	}
	if i < len(items) {
		return i
	}
	return -1
}

// Mistake returns an error at a field of the object.
func (o *Object) Mistake(at fieldpath.Path, format string, args ...any) error {
	return o.Document.Errorf(at, format, args...)
}

// newObject reads what identifies the object in d. It returns nil without an error for a document of a directory that
// no client could apply, as it lacks apiVersion, kind or name: a chart's values, a template of a Pod.
func newObject(d *yamldoc.Document, f *File) (*Object, error) {
	apiVersion, kind := d.Object["apiVersion"], d.Object["kind"]
	if f.Found && (apiVersion == nil || kind == nil) {
		return nil, nil
	}
	for _, field := range [...]struct {
		name, right string
		value       any
	}{
		{"apiVersion", `the group and version of the object, such as "example.com/v1"`, apiVersion},
		{"kind", `the kind of the object, such as "Widget"`, kind},
	} {
		if text, ok := field.value.(string); !ok || text == "" {
			return nil, d.Errorf([]any{field.name}, "it is %s; it has to be %s", describe(field.value), field.right)
		}
	}
	o := &Object{APIVersion: apiVersion.(string), Path: f.Path, Unit: f.Unit, AppliedBy: f.AppliedBy, Document: d}
	o.Kind = kind.(string)
	o.Group, _ = kindindex.GroupVersion(o.APIVersion)
	var named bool
	if named, o.Invalid = o.identify(); f.Found && !named {
		return nil, nil
	}
	return o, nil
}

// identify reads namespace and name, as far as they are there. named is false for an object that has neither a name nor
// anything in the place of one.
func (o *Object) identify() (named bool, err error) {
	metadata, ok := o.Value()["metadata"].(map[string]any)
	if !ok {
		return o.Value()["metadata"] != nil, o.Mistake(fieldpath.Path{"metadata"},
			"it is %s; it has to be an object with the name of the object", describe(o.Value()["metadata"]))
	}
	for _, field := range [...]struct {
		name string
		into *string
	}{{"namespace", &o.Namespace}, {"name", &o.Name}} {
		value := metadata[field.name]
		text, isText := value.(string)
		if value != nil && !isText {
			return true, o.Mistake(fieldpath.Path{"metadata", field.name},
				"it is %s; it has to be a string, in quotes where YAML reads it as something else", describe(value))
		}
		*field.into = text
	}
	if generated, _ := metadata["generateName"].(string); o.Generated() && generated == "" {
		return false, o.Mistake(fieldpath.Path{"metadata", "name"},
			"it is missing; objects are paired by kind, namespace and name")
	}
	return true, nil
}

// describe names the value of a field, for which null is as good as nothing.
func describe(v any) string {
	if v == nil {
		return "missing"
	}
	return yamldoc.Describe(v)
}

// Set is the content of files, sorted into objects and the rest.
type Set struct {
	// Objects are the Kubernetes objects in the order of the files, CRDs included.
	Objects []*Object
	// CRDs are the objects that define kinds.
	CRDs []CRD
	// Patches are the documents that a kustomization names as patches of other objects.
	Patches []Patch
	// Others are the files of the documents that are not objects, once for each document.
	Others []string
	// Documents is how many documents there are in all.
	Documents int
	// Repeated are the keys with two values in the documents of objects. The last one counts.
	Repeated []*yamldoc.Repeat
	// Errs is what is wrong with files and documents; the rest is in the set all the same.
	Errs []error
	// Faulty are the objects that should define kinds, and what is wrong with them, which is in Errs, too.
	Faulty []Faulty
	// Unrendered is the one of Errs that is about templates, or nil.
	Unrendered error

	unread  []unreadCRD
	schemas *rawschema.Shared // of the CRDs
}

// Faulty is a CRD that cannot be read.
type Faulty struct {
	*Object
	Err error
}

// Forgive takes the mistakes of CRDs that two sets have alike out of the errors of both, also of copies, and returns
// them as a has them.
func Forgive(a, b *Set) []Faulty {
	theirs, known := map[ID][]Faulty{}, map[ID][]Faulty{}
	for _, f := range b.Faulty {
		theirs[f.ID] = append(theirs[f.ID], f)
	}
	var alike []Faulty
	var forgiven []error
	for _, f := range a.Faulty {
		same := func(other Faulty) bool { return SameCRD(f.Document.Object, other.Document.Object) }
		if !slices.ContainsFunc(known[f.ID], same) {
			before := len(theirs[f.ID])
			theirs[f.ID] = slices.DeleteFunc(theirs[f.ID], func(other Faulty) bool {
				if !same(other) {
					return false
				}
				forgiven = append(forgiven, other.Err)
				return true
			})
			if len(theirs[f.ID]) == before {
				continue
			}
			known[f.ID] = append(known[f.ID], f)
		}
		alike, forgiven = append(alike, f), append(forgiven, f.Err)
	}
	is := func(err error) bool { return slices.Contains(forgiven, err) }
	a.Errs, b.Errs = slices.DeleteFunc(a.Errs, is), slices.DeleteFunc(b.Errs, is)
	return alike
}

// unreadCRD is an object that ReadCRDs reads, with the number of errors before its own.
type unreadCRD struct {
	*Object
	errs int
}

// Objects sorts the documents of files.
func Objects(files []File) *Set {
	s := ObjectsWithoutCRDs(files)
	s.ReadCRDs(func(*Object) bool { return true }, nil)
	return s
}

// ReadCRDs reads the CRDs among the objects of a set that are wanted. Reading a large one takes long: for one that is
// the same as one of another set that was read, nil for none, that one's definition is taken.
func (s *Set) ReadCRDs(wanted func(*Object) bool, known *Set) {
	more := 0
	named := map[string][]CRD{}
	if s.schemas = (&rawschema.Shared{}); known != nil {
		s.schemas = known.schemas
		for _, c := range known.CRDs {
			named[c.Name] = append(named[c.Name], c)
		}
	}
	for _, o := range s.unread {
		if !wanted(o.Object) {
			continue
		}
		same := func(c CRD) bool { return SameCRD(c.Document.Object, o.Document.Object) }
		if i := slices.IndexFunc(named[o.Name], same); i >= 0 {
			s.CRDs = append(s.CRDs, CRD{named[o.Name][i].CRD, o.Document})
			continue
		}
		c, err := newCRD(o.Document, s.schemas)
		if err != nil {
			s.Errs, s.Faulty = slices.Insert(s.Errs, o.errs+more, err), append(s.Faulty, Faulty{o.Object, err})
			more++
			continue
		}
		s.CRDs, named[o.Name] = append(s.CRDs, c), append(named[o.Name], c)
	}
	s.unread = nil
}

// SameCRD reports whether two documents define the same kind with the same locks. Of conversion, only the strategy
// counts, and of annotations only those of this program: kustomizations give CRDs others in each place that they deploy
// to.
func SameCRD(a, b map[string]any) bool {
	return a["apiVersion"] == b["apiVersion"] && jsonvalue.Equal(fieldpath.Value(a, "spec", "conversion", "strategy"),
		fieldpath.Value(b, "spec", "conversion", "strategy")) &&
		maps.Equal(ownAnnotations(a), ownAnnotations(b)) && jsonvalue.Equal(definition(a), definition(b))
}

// definition returns the spec of a CRD without its conversion.
func definition(crd map[string]any) map[string]any {
	spec, _ := crd["spec"].(map[string]any)
	spec = maps.Clone(spec)
	delete(spec, "conversion")
	return spec
}

func ownAnnotations(crd map[string]any) map[string]string {
	annotations := fieldpath.Object(crd, "metadata", "annotations")
	own := map[string]string{}
	for name, value := range annotations {
		if strings.HasPrefix(name, "fieldlock.dev/") {
			own[name] = fmt.Sprint(value)
		}
	}
	return own
}

// EqualDocuments returns the documents that a unit has on both sides with equal objects, applied in the same way.
// Objects that share their kind and name with others of the unit are left out, as it depends on their kind which of
// them pair.
func EqualDocuments(news, olds []File) map[*yamldoc.Document]bool {
	type place struct {
		path       string
		once       bool
		kind, name string
	}
	each := func(files []File, do func(at place, d *yamldoc.Document)) {
		for i := range files {
			f := &files[i]
			if f.AppliedBy.Uninstalls != "" {
				continue // nothing of it stays
			}
			for _, d := range f.Documents {
				kind, _ := d.Object["kind"].(string)
				if name := fieldpath.Text(d.Object, "metadata", "name"); f.Unit != "" && name != "" {
					do(place{f.Path, f.AppliedBy.InstallsOnce, kind, name}, d)
				}
			}
		}
	}
	theirs, count := map[place]*yamldoc.Document{}, map[place]int{}
	each(olds, func(at place, d *yamldoc.Document) { theirs[at] = d; count[at]++ })
	each(news, func(at place, _ *yamldoc.Document) { count[at]++ })
	alike := map[*yamldoc.Document]bool{}
	each(news, func(at place, d *yamldoc.Document) {
		if old := theirs[at]; old != nil && count[at] == 2 && jsonvalue.Equal(d.Object, old.Object) {
			alike[d], alike[old] = true, true
		}
	})
	return alike
}

// ObjectsWithoutCRDs is Objects for who calls ReadCRDs.
func ObjectsWithoutCRDs(files []File) *Set {
	s := &Set{}
	patches := patchFiles(files)
	var templates []*TemplateError
	for i := range files {
		f := &files[i]
		var template *TemplateError
		switch {
		case f.Found && errors.As(f.Err, &template):
			templates = append(templates, template)
		case f.Err != nil:
			s.Errs = append(s.Errs, yamldoc.Errors(f.Err)...)
		}
		s.Documents += len(f.Documents)
		for _, r := range f.Repeated {
			if !f.Found || f.hasObject(r.Document) {
				s.Repeated = append(s.Repeated, r)
			}
		}
		if f.Unrelated {
			s.Documents++
			s.Others = append(s.Others, f.Path)
		}
		for _, d := range f.Documents {
			s.add(d, f, patches)
		}
	}
	if len(templates) > 0 {
		s.Unrendered = unrendered(templates, files)
		s.Errs = append(s.Errs, s.Unrendered)
	}
	return s
}

// add sorts one document.
func (s *Set) add(d *yamldoc.Document, f *File, patches map[string]string) {
	o, err := newObject(d, f)
	switch by, isPatch := patches[f.Path]; {
	case err != nil:
		s.Errs = append(s.Errs, err)
	case o == nil:
		s.Others = append(s.Others, f.Path)
	case isPatch:
		s.Patches = append(s.Patches, Patch{o, by})
	case o.Kind == "CustomResourceDefinition":
		s.addCRD(o, f)
	case isKustomization(o):
		s.Others = append(s.Others, f.Path)
	default:
		s.Objects = append(s.Objects, o)
	}
}

func (s *Set) addCRD(o *Object, f *File) {
	if f.Found && isCRDPatch(o.Value()) {
		s.Others = append(s.Others, f.Path)
		return
	}
	if !isFreeForm(o.Value()) {
		s.unread = append(s.unread, unreadCRD{o, len(s.Errs)})
	}
	s.Objects = append(s.Objects, o)
}

// isCRDPatch reports whether a document with the kind of a CRD only changes one, as the patches do that kubebuilder
// writes for kustomize. No API server accepts a CRD without group, names and versions, so no lock is lost with it.
func isCRDPatch(object map[string]any) bool {
	spec, isObject := object["spec"].(map[string]any)
	if object["spec"] != nil && !isObject {
		return false
	}
	for _, field := range [...]string{"group", "names", "version", "versions", "validation"} {
		if _, ok := spec[field]; ok {
			return false
		}
	}
	return true
}

// isFreeForm reports whether a CRD of v1beta1 has no schema, as only v1 requires one. So it has no locks.
func isFreeForm(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	return object["apiVersion"] == "apiextensions.k8s.io/v1beta1" && spec["group"] != nil &&
		spec["validation"] == nil &&
		!slices.ContainsFunc(versions, func(v any) bool { return fieldpath.Value(v, "schema") != nil })
}

// revision begins the name of a file that is read from a revision of git; a command of --render runs in its tree.
var revision = regexp.MustCompile(`^[0-9a-f]{7,40}:`)

// unrendered is the one error for all templates of a directory.
func unrendered(templates []*TemplateError, files []File) error {
	chart := "CHART"
	for _, f := range files {
		if dir := path.Dir(f.Name); path.Base(f.Path) == "Chart.yaml" && strings.HasPrefix(templates[0].File, dir+"/") {
			chart = revision.ReplaceAllString(dir, "")
		}
	}
	more := ""
	switch n := len(templates) - 1; {
	case n == 1:
		more = ", and so is 1 more file"
	case n > 1:
		more = fmt.Sprintf(", and so are %d more files", n)
	}
	return &yamldoc.Error{File: templates[0].File, Message: fmt.Sprintf(
		"it is a template, not YAML%s: check the manifests that the chart renders to, with --render 'helm template %s'",
		more, chart)}
}
