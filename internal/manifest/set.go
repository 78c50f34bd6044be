package manifest

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

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
	// Unrendered is the one of Errs that is about templates, or nil.
	Unrendered error
}

// Objects sorts the documents of files.
func Objects(files []File) *Set {
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
	c, err := crd.FromDocument(o.Document)
	switch {
	case isFreeForm(o.Value()):
	case err != nil:
		s.Errs = append(s.Errs, err)
	case c != nil:
		s.CRDs = append(s.CRDs, CRD{c, o.Document})
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
	return object["apiVersion"] == "apiextensions.k8s.io/v1beta1" && spec["group"] != nil && spec["validation"] == nil &&
		!slices.ContainsFunc(versions, func(v any) bool { return yamldoc.At(v, "schema") != nil })
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
		"it is a template, not YAML%s: check the manifests that the chart renders to, with --render 'helm template %s'", more, chart)}
}
