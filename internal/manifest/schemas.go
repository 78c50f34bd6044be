package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Schemas are the schemas that files hold.
type Schemas struct {
	CRDs []CRD
	// Documents are OpenAPI documents and JSON Schemas.
	Documents []*schemadoc.Document
	// Objects are the other objects in the files, of which admission policies, and what these need, count.
	Objects []*Object
	// Repeated are the keys with two values in the files of the schemas, of which the last one counts.
	Repeated []*yamldoc.Repeat
}

// Add adds other schemas.
func (s *Schemas) Add(other Schemas) {
	s.CRDs, s.Documents, s.Repeated = append(s.CRDs, other.CRDs...), append(s.Documents,
		other.Documents...), append(s.Repeated, other.Repeated...)
	s.Objects = append(s.Objects, other.Objects...)
}

// Schemas reads the schemas that args name, as Read does. Every arg has to have at least one. Errors about single files
// or CRDs are in errs, and the others are read all the same.
func (r *Reader) Schemas(args ...string) (s Schemas, errs []error, err error) {
	read := map[string]bool{}
	for _, arg := range args {
		file, _ := CutName(arg)
		files, err := r.Read(file)
		if err != nil {
			return s, nil, err
		}
		files = slices.DeleteFunc(files, func(f File) bool {
			again := f.Name != Stdin && file == arg && read[f.Name]
			read[f.Name] = file == arg
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

// CutName splits an argument such as doc.yaml#Environment into the file and the name of one schema in it. The name is
// "" for an argument that names a whole file.
func CutName(arg string) (file, name string) {
	if file, name, ok := strings.Cut(arg, "#"); ok && (file == "-" || HasObjects(file)) {
		return file, name
	}
	return arg, ""
}

// SchemasOf returns the schemas in files, which one argument named, and which have to have at least one. For an
// argument with the name of a schema, it is that schema of an OpenAPI document alone. Errors about single files or CRDs
// are in errs.
func SchemasOf(arg string, files []File) (s Schemas, errs []error, err error) {
	if file, name := CutName(arg); name != "" {
		if s, errs, err = SchemasOf(file, files); err == nil {
			s, err = s.pick(file, name)
		}
		return s, errs, err
	}
	var rest []File
	for _, f := range files {
		if d := openAPIOf(&f); d != nil {
			s.Documents, s.Repeated = append(s.Documents, d), append(s.Repeated, f.Repeated...)
		} else {
			rest = append(rest, f)
		}
	}
	set := Objects(rest)
	if len(s.Documents)+len(set.CRDs)+len(set.Errs) == 0 && !slices.ContainsFunc(set.Objects, isPolicy) {
		if len(set.Repeated) > 0 { // perhaps the reason: of two kinds the last one counts
			return s, nil, set.Repeated[0].Err()
		}
		if arg == "-" {
			arg = Stdin
		}
		return s, nil, fmt.Errorf("%s: there is no CustomResourceDefinition in it; give the YAML or JSON of a CRD, "+
			"or a directory of CRDs", arg)
	}
	s.CRDs, s.Objects, s.Repeated = set.CRDs, set.Objects, append(s.Repeated, set.Repeated...)
	return s, set.Errs, nil
}

// pick returns the schema of a name in the OpenAPI document of a file, as the schema of documents without a kind.
func (s *Schemas) pick(file, name string) (Schemas, error) {
	for _, d := range s.Documents {
		for _, at := range [...]string{"components/schemas", "definitions", "$defs"} {
			ref := "#/" + at + "/" + pointer.Escape(name)
			if _, err := d.Resolve(ref); err == nil {
				d.Kinds, d.Root = nil, ref
				return Schemas{Documents: []*schemadoc.Document{d}, Repeated: s.Repeated}, nil
			}
		}
	}
	var names []string
	for _, d := range s.Documents {
		for _, kind := range d.Kinds {
			names = append(names, kind.Kind)
		}
	}
	return Schemas{}, fmt.Errorf("%s: it has no schema %q in components.schemas, definitions or $defs; its kinds "+
		"are %s", file, name, strings.Join(names, ", "))
}

// isPolicy reports whether an object is a ValidatingAdmissionPolicy or its binding, which can be the only schema of a
// file.
func isPolicy(o *Object) bool {
	return o.Group == "admissionregistration.k8s.io" && strings.HasPrefix(o.Kind, "ValidatingAdmissionPolicy")
}

// openAPIOf returns the OpenAPI document or JSON Schema that a file holds, or nil.
func openAPIOf(f *File) *schemadoc.Document {
	if f.Err != nil || len(f.Documents) != 1 {
		return nil
	}
	d := f.Documents[0]
	document, err := schemadoc.FromDocument(d)
	if err != nil {
		return nil // something else
	}
	return document
}

// SplitPlain takes the documents that are not Kubernetes objects and that is accepts, such as the values of a chart,
// out of files. Each is an object without a kind, which has the path of its file as its name; of a file that was named
// itself it is "values".
func SplitPlain(files []File, is func(object map[string]any) bool) (rest []File, plain []*Object) {
	for _, f := range files {
		accepted := func(d *yamldoc.Document) bool { return is(d.Object) }
		if base := path.Base(f.Name); (base == "Chart.yaml" || strings.HasSuffix(base, ".schema.json")) &&
			slices.ContainsFunc(f.Documents, accepted) {
			continue // about the values, not values
		}
		documents := f.Documents
		f.Documents = nil
		for _, d := range documents {
			if d.Object["kind"] != nil && d.Object["apiVersion"] != nil || !is(d.Object) {
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

// CRD is a CRD with the document that it was read from.
type CRD struct {
	*crd.CRD
	Document *yamldoc.Document
}

// newCRD makes a CRD of a document, which shares schemas with others.
func newCRD(d *yamldoc.Document, schemas *rawschema.Shared) (CRD, error) {
	c, err := crd.FromObject(documented{d, schemas})
	return CRD{c, d}, err
}

// documented is the object of a document, by which package crd knows its places in the file.
type documented struct {
	document *yamldoc.Document
	schemas  *rawschema.Shared
}

var _ runtime.Object = documented{}

func (d documented) Document() *yamldoc.Document { return d.document }

func (d documented) Schemas() *rawschema.Shared { return d.schemas }

func (d documented) GetObjectKind() apischema.ObjectKind { return apischema.EmptyObjectKind }

func (d documented) DeepCopyObject() runtime.Object { return d } // nobody changes a document

// Compile compiles every version of the CRD. Each error names file and line.
func (c CRD) Compile() (map[*crd.Version]*immutability.Validator, []error) {
	validators := map[*crd.Version]*immutability.Validator{}
	var errs []error
	for _, v := range c.Versions {
		validator, err := v.Compile()
		var schema *immutability.SchemaError
		switch {
		case errors.As(err, &schema):
			for _, f := range schema.Findings {
				errs = append(errs, &yamldoc.Error{
					File: c.File, Line: v.Position(f.SchemaPath).Line,
					Object: "CustomResourceDefinition " + c.Name + ", version " + v.Name,
					Path:   f.Path, Message: f.Message,
				})
			}
		case err != nil:
			errs = append(errs, err)
		}
		validators[v] = validator
	}
	return validators, errs
}

// Kinds reads the CRDs that args name. The kinds of OpenAPI documents and the roots of JSON Schemas that have locks or
// rules come as CRDs of one version. Every arg has to have a schema.
func (r *Reader) Kinds(args ...string) (crds []CRD, errs []error, err error) {
	s, errs, err := r.Schemas(args...)
	if err != nil {
		return nil, nil, err
	}
	crds, more := s.Amended(r.Amender)
	return crds, append(errs, more...), nil
}

// Amended returns all schemas as CRDs, as Reader.Kinds does, copies of a CRD each by itself, with the locks of an
// Amender, nil for none. A key that a mapping has twice, with different values, is an error: an author of schemas means
// one of the two.
func (s *Schemas) Amended(a *Amender) (crds []CRD, errs []error) {
	crds = slices.Clone(a.CRDs(apart(s.CRDs)))
	a.Documents(s.Documents)
	for _, r := range s.Repeated {
		errs = append(errs, r.Err())
	}
	if i := slices.IndexFunc(s.Objects, isPolicy); i >= 0 && len(s.CRDs)+len(s.Documents) == 0 {
		errs = append(errs, fmt.Errorf("%s: there is no CustomResourceDefinition in it; only check reads policies",
			s.Objects[i].Document.File))
	}
	add := func(d *schemadoc.Document, kind schemadoc.Kind) {
		c, err := asCRD(a, d, kind)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", d.File, strings.TrimSpace(kind.APIVersion+" "+kind.Kind), err))
		} else if c != nil {
			crds = append(crds, *c)
		}
	}
	for _, d := range s.Documents {
		for _, kind := range kindsOf(d) {
			add(d, kind)
		}
	}
	return crds, errs
}

// apart returns CRDs each of which knows the lines of its own document. A set reads a definition once, so copies have
// those of the first one.
func apart(crds []CRD) []CRD {
	crds = slices.Clone(crds)
	for i, c := range crds {
		first := c.Position()
		if own := c.Document.Position(); first.Filename == c.Document.File && first.Line == own.Line {
			continue
		}
		if own, err := newCRD(c.Document, &rawschema.Shared{}); err == nil {
			crds[i] = own
		}
	}
	return crds
}

// rootName names what a JSON Schema describes after its file: "values" for charts/shop/values.schema.json. A schema
// that was picked out of a document has its own name.
func rootName(d *schemadoc.Document) string {
	if names := pointer.Names(strings.TrimPrefix(d.Root, "#")); len(names) > 0 {
		return names[len(names)-1]
	}
	name, _, _ := strings.Cut(path.Base(d.File), ".")
	return name
}

// noGroup takes the place of the API group while a schema without one is read as a CRD, which always has a group.
const noGroup = "none.invalid"

// stepsToSchema is how deep the schema of a version is in a CRD: spec.versions[0].schema.openAPIV3Schema.
const stepsToSchema = 5

// asCRD returns a CRD with the schema of a kind, nil if the schema has neither locks nor rules. The CRD of a kind in
// the core group has no group, and its name is the plural alone; so it is for a JSON Schema, whose version is "schema".
func asCRD(a *Amender, d *schemadoc.Document, kind schemadoc.Kind) (*CRD, error) {
	group, version, grouped := strings.Cut(kind.APIVersion, "/")
	plural := strings.ToLower(kind.Kind) + "s"
	switch {
	case kind.APIVersion == "":
		group, version, plural = noGroup, "schema", kind.Kind
	case !grouped:
		group, version = noGroup, kind.APIVersion
	}
	s, resolve, err := a.Of(d, kind)
	if err != nil {
		return nil, err
	}
	t := schema.Read(s, resolve)
	marked := t.Holding(func(l *schema.Location) bool {
		return l.Marks.Locked() || l.Schema.Extensions[schema.KeyValidations] != nil ||
			l.Body.Schema.Extensions[schema.KeyValidations] != nil
	})
	if len(marked) == 0 {
		return nil, nil
	}
	if _, err := immutability.Compile(s, immutability.WithResolver(resolve)); err != nil {
		return nil, fmt.Errorf("%s, %s: %w", d.File, kind.Ref, err)
	}
	inlined, err := t.Inline()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(inlined)
	if err != nil {
		return nil, err
	}
	raw, err := yamldoc.ReadJSON(text)
	if err != nil {
		return nil, err
	}
	document := yamldoc.Derived(d.File, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "names": map[string]any{"kind": kind.Kind, "plural": plural},
			"versions": []any{map[string]any{"name": version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": raw}}},
		},
	}, func(steps []any) yamldoc.Position {
		var schemaPath strings.Builder
		for _, step := range steps[min(len(steps), stepsToSchema):] {
			schemaPath.WriteString("/" + pointer.Escape(fmt.Sprint(step)))
		}
		at := d.Position(kind.Ref, schemaPath.String())
		return yamldoc.Position{Line: at.Line, Column: at.Column}
	})
	c, err := newCRD(document, &rawschema.Shared{})
	if err != nil {
		return nil, err
	}
	if !grouped {
		c.Group, c.Name = "", plural
	}
	return &c, nil
}
