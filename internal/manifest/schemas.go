package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Schemas are the schemas that files hold.
type Schemas struct {
	CRDs []CRD
	// Documents are OpenAPI documents and JSON Schemas.
	Documents []*openapi.Document
	// Repeated are the keys with two values in the files of the schemas, of which the last one counts.
	Repeated []*yamldoc.Repeat
}

// Add adds other schemas.
func (s *Schemas) Add(other Schemas) {
	s.CRDs, s.Documents, s.Repeated = append(s.CRDs, other.CRDs...), append(s.Documents, other.Documents...), append(s.Repeated, other.Repeated...)
}

// Schemas reads the schemas that args name, as Read does. Every arg has to have at least one. Errors about single files or
// CRDs are in errs, and the others are read all the same.
func (r *Reader) Schemas(args ...string) (s Schemas, errs []error, err error) {
	read := map[string]bool{}
	for _, arg := range args {
		files, err := r.Read(arg)
		if err != nil {
			return s, nil, err
		}
		files = slices.DeleteFunc(files, func(f File) bool {
			again := f.Name != Stdin && read[f.Name]
			read[f.Name] = true
			return again
		})
		if len(files) == 0 {
			continue // it was named before
		}
		found, mistakes, err := SchemasOf(arg, files)
		if err != nil {
			return s, nil, err
		}
		s.Add(found)
		errs = append(errs, mistakes...)
	}
	return s, errs, nil
}

// SchemasOf returns the schemas in files, which one argument named, and which have to have at least one. Errors about
// single files or CRDs are in errs.
func SchemasOf(arg string, files []File) (s Schemas, errs []error, err error) {
	var rest []File
	for _, f := range files {
		if d := openAPIOf(&f); d != nil {
			s.Documents, s.Repeated = append(s.Documents, d), append(s.Repeated, f.Repeated...)
		} else {
			rest = append(rest, f)
		}
	}
	set := Objects(rest)
	if len(s.Documents)+len(set.CRDs)+len(set.Errs) == 0 {
		if len(set.Repeated) > 0 { // perhaps the reason: of two kinds the last one counts
			return s, nil, set.Repeated[0].Err()
		}
		if arg == "-" {
			arg = Stdin
		}
		return s, nil, fmt.Errorf("%s: there is no CustomResourceDefinition in it; give the YAML or JSON of a CRD, or a directory of CRDs", arg)
	}
	s.CRDs, s.Repeated = set.CRDs, append(s.Repeated, set.Repeated...)
	return s, set.Errs, nil
}

// openAPIOf returns the OpenAPI document or JSON Schema that a file holds, or nil.
func openAPIOf(f *File) *openapi.Document {
	if f.Err != nil || len(f.Documents) != 1 {
		return nil
	}
	return openapi.FromDocument(f.Documents[0])
}

// SplitPlain takes the documents that are not Kubernetes objects, such as the values of a chart, out of files. Each is an
// object without a kind, which has the path of its file as its name; of a file that was named itself it is "values".
func SplitPlain(files []File) (rest []File, plain []*Object) {
	for _, f := range files {
		if base := path.Base(f.Name); base == "Chart.yaml" || strings.HasSuffix(base, ".schema.json") {
			continue // about the values, not values
		}
		documents := f.Documents
		f.Documents = nil
		for _, d := range documents {
			if d.Object["kind"] != nil && d.Object["apiVersion"] != nil {
				f.Documents = append(f.Documents, d)
				continue
			}
			name := f.Path
			if name == "" {
				name = "values"
			}
			plain = append(plain, &Object{ID: ID{Name: name}, Path: f.Path, Document: d})
		}
		rest = append(rest, f)
	}
	return rest, plain
}
