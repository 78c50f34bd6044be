package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Read reads the CRDs of a file: raw YAML or JSON, one document or many, also as items of a List. Objects of other
// kinds are skipped, so a file without any CRD gives an empty list and no error. The name is used in messages and as
// CRD.File.
//
// A CRD needs versions, and each version a schema (in v1beta1: at least one of them, or the CRD as a whole). The locks
// of its annotation AnnotationKey are merged into the schemas. Read returns the CRDs that it can read, and an error
// that joins one for each document or CRD that it cannot, with file and line.
func Read(name string, data []byte) ([]*CRD, error) {
	documents, err := yamldoc.Read(name, data)
	errs := []error{err}
	var crds []*CRD
	for _, document := range documents {
		if !isCRD(document.Object) {
			continue
		}
		crd, err := read(document, &rawschema.Shared{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		crds = append(crds, crd)
	}
	return crds, errors.Join(errs...)
}

// FromObject makes a CRD of an object of the API, decoded (*unstructured.Unstructured) or of a Go type such as
// *apiextensionsv1.CustomResourceDefinition; one that does not say its apiVersion and kind, as clients return it, is
// taken for one of apiextensions.k8s.io/v1. The schemas of Go types lost every lock: the locks are those of the
// annotation AnnotationKey. The object is neither changed nor kept. A nil object and one of another kind are errors.
//
// A CRD that somebody applied without the annotation has no locks, and its validators allow every update. Where that
// must not go unnoticed, give RequireLocks.
//
// The parameter is an interface so that reading the locks of files links no API types of CRDs.
func FromObject(object runtime.Object, opts ...Option) (*CRD, error) {
	c, err := fromObject(object)
	if err != nil {
		return nil, err
	}
	var o options
	for _, opt := range opts {
		if opt != nil {
			opt.apply(&o)
		}
	}
	if o.requireLocks && !c.hasLocks() {
		return nil, fmt.Errorf("%s: %w", c.subject(), ErrNoLocks)
	}
	return c, nil
}

// Option changes how FromObject reads a CRD. A nil Option changes nothing.
type Option interface{ apply(*options) }

type options struct{ requireLocks bool }

type option func(*options)

func (o option) apply(to *options) { o(to) }

// RequireLocks makes FromObject return ErrNoLocks for a CRD without any lock, in its schemas or in the annotation
// AnnotationKey.
func RequireLocks() Option { return option(func(o *options) { o.requireLocks = true }) }

// ErrNoLocks is the error of RequireLocks.
var ErrNoLocks = errors.New("it has no locks, neither in its schemas nor in the annotation " + AnnotationKey +
	"; a stock API server drops the keys of schemas, so apply the CRD as fieldlock export cel or annotation writes it")

// hasLocks reports whether a schema of c has a lock, right or wrong.
func (c *CRD) hasLocks() bool { return c.anywhere(schema.HasLock) }

// anywhere reports whether a condition holds for a node of a schema of c.
func (c *CRD) anywhere(holds func(node map[string]any) bool) bool {
	for _, v := range c.Versions {
		found := false
		rawschema.Walk(v.raw, func(_ string, node map[string]any) {
			found = found || holds(node)
		})
		if found {
			return true
		}
	}
	return false
}

func fromObject(object runtime.Object) (*CRD, error) {
	if v := reflect.ValueOf(object); object == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("the %s is nil", kindCRD)
	}
	if read, ok := object.(documented); ok {
		return fromDocument(read.Document(), read.Schemas())
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be written as JSON: %w", kindCRD, err)
	}
	value, err := yamldoc.ReadJSON(data)
	if err != nil {
		return nil, fmt.Errorf("the %s: %w", kindCRD, err)
	}
	fields, _ := value.(map[string]any)
	if fields == nil {
		return nil, fmt.Errorf("the %s is not an object", kindCRD)
	}
	if fields["kind"] == nil && fields["apiVersion"] == nil {
		fields["apiVersion"], fields["kind"] = v1, kindCRD
	}
	return fromDocument(&yamldoc.Document{Object: fields}, &rawschema.Shared{})
}

// documented is an object that knows its places in a file, and others with which it shares schemas. Package manifest of
// this module has the only one.
type documented interface {
	Document() *yamldoc.Document
	Schemas() *rawschema.Shared
}

func fromDocument(d *yamldoc.Document, schemas *rawschema.Shared) (*CRD, error) {
	if !isCRD(d.Object) {
		return nil, d.Errorf([]any{"kind"}, "it is %s; a schema comes from a %s",
			yamldoc.Describe(d.Object["kind"]), kindCRD)
	}
	return read(d, schemas)
}

// isCRD reports whether an object is a CRD, or one that lacks its kind.
func isCRD(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	return object["kind"] == kindCRD || object["kind"] == nil && strings.HasPrefix(apiVersion, group+"/")
}

// read makes a CRD of a document.
func read(d *yamldoc.Document, schemas *rawschema.Shared) (*CRD, error) {
	apiVersion, _ := d.Object["apiVersion"].(string)
	if d.Object["kind"] == nil {
		return nil, d.Errorf(nil, "it has no kind; of %s, this reads the kind %s", apiVersion, kindCRD)
	}
	if apiVersion != v1 && apiVersion != v1beta1 {
		return nil, d.Errorf([]any{"apiVersion"}, "it is %s; the apiVersion of a %s is %s or %s",
			yamldoc.Describe(d.Object["apiVersion"]), kindCRD, v1, v1beta1)
	}
	r := reader{d: d, shared: schemas}
	crd := r.crd(apiVersion)
	if r.err != nil {
		return nil, r.err
	}
	return crd, nil
}

// reader reads the fields of a CRD and keeps the first mistake.
type reader struct {
	d      *yamldoc.Document
	shared *rawschema.Shared
	err    error
}

func (r *reader) fail(steps []any, format string, args ...any) {
	if r.err == nil {
		r.err = r.d.Errorf(steps, format, args...)
	}
}

// field returns the value at the end of steps and whether it is there; null is not there.
func (r *reader) field(steps []any) (any, bool) {
	value := fieldpath.Value(r.d.Object, steps...)
	return value, value != nil
}

// text reads a string; absent is "".
func (r *reader) text(steps ...any) string {
	value, ok := r.field(steps)
	text, isText := value.(string)
	if ok && !isText {
		r.fail(steps, "it is %s; it must be a string", yamldoc.Describe(value))
	}
	return text
}

// required reads a string that must be there.
func (r *reader) required(right string, steps ...any) string {
	text := r.text(steps...)
	if text == "" {
		r.fail(steps, "it is missing; it is %s", right)
	}
	return text
}

// flag reads a boolean; absent is otherwise.
func (r *reader) flag(otherwise bool, steps ...any) bool {
	value, ok := r.field(steps)
	if !ok {
		return otherwise
	}
	flag, isFlag := value.(bool)
	if !isFlag {
		r.fail(steps, "it is %s; it must be true or false, unquoted", yamldoc.Describe(value))
	}
	return flag
}

// object reads an object and reports whether it is there.
func (r *reader) object(steps ...any) (map[string]any, bool) {
	value, ok := r.field(steps)
	object, isObject := value.(map[string]any)
	if ok && !isObject {
		r.fail(steps, "it is %s; it must be an object", yamldoc.Describe(value))
	}
	return object, ok
}

// crd reads the whole CRD.
func (r *reader) crd(apiVersion string) *CRD {
	c := &CRD{File: r.d.File, APIVersion: apiVersion, document: r.d}
	if _, ok := r.object("spec"); !ok {
		r.fail([]any{"spec"}, "it is missing; it holds the group, the names and the versions of a %s", kindCRD)
	}
	c.Group = r.required(`the API group of the objects, such as "example.com"`, "spec", "group")
	c.Kind = r.required(`the kind of the objects, such as "Widget"`, "spec", "names", "kind")
	c.Plural = r.text("spec", "names", "plural")
	if c.Scope = r.text("spec", "scope"); c.Scope == "" {
		c.Scope = "Namespaced"
	}
	if c.Name = r.text("metadata", "name"); c.Name == "" {
		c.Name = c.Plural + "." + c.Group
	}
	c.PreserveUnknownFields = r.flag(apiVersion == v1beta1, "spec", "preserveUnknownFields")
	if c.Conversion = Conversion(r.text("spec", "conversion", "strategy")); c.Conversion == "" {
		c.Conversion = ConversionNone
	}
	r.versions(c)
	return c
}

// versions reads spec.versions and, in v1beta1, spec.version.
func (r *reader) versions(c *CRD) {
	steps := []any{"spec", "versions"}
	value, _ := r.field(steps)
	list, isList := value.([]any)
	if value != nil && !isList {
		r.fail(steps, "it is %s; it must be the list of versions", yamldoc.Describe(value))
	}
	for i := range list {
		r.version(c, slices.Concat(steps, []any{i}))
	}
	if c.APIVersion == v1beta1 {
		name := r.text("spec", "version")
		switch {
		case name == "":
		case len(list) == 0:
			c.Versions = append(c.Versions,
				&Version{Name: name, Served: true, Storage: true, Replicas: r.replicas("spec"), crd: c})
		case r.err == nil && c.Versions[0].Name != name:
			r.fail([]any{"spec", "version"},
				"it is %q and spec.versions[0].name is %q; they must be equal, or spec.version left out",
				name, c.Versions[0].Name)
		}
	}
	if len(c.Versions) == 0 {
		r.fail(steps, "there is no version; a %s has at least one, with name, served, storage and schema", kindCRD)
	}
	if r.err == nil {
		r.schemas(c)
	}
}

// version reads one item of spec.versions, its schema left out.
func (r *reader) version(c *CRD, steps []any) {
	at := func(names ...any) []any { return slices.Concat(steps, names) }
	if _, ok := r.object(steps...); !ok {
		r.fail(steps, "it is null; a version is an object with name, served, storage and schema")
	}
	v := &Version{crd: c}
	v.Name = r.required(`the name of the version, such as "v1"`, at("name")...)
	// Absent, which the API server refuses, counts as served: lint then compares the version too.
	v.Served = r.flag(true, at("served")...)
	v.Storage = r.flag(false, at("storage")...)
	v.Replicas = r.replicas(at()...)
	v.HasStatus = r.hasStatus(at()...)
	if _, ok := c.Version(v.Name); ok {
		r.fail(at("name"), "there are two versions %q; remove one", v.Name)
	}
	v.steps = at("schema", "openAPIV3Schema")
	c.Versions = append(c.Versions, v)
}

// replicas reads where the scale subresource that is declared at steps, or for all versions of v1beta1 at once, has its
// replicas. Of other forms than an API server accepts it finds none.
func (r *reader) replicas(steps ...any) []string {
	for _, declaring := range [][]any{steps, {"spec"}} {
		path, _ := fieldpath.Value(r.d.Object,
			slices.Concat(declaring, []any{"subresources", "scale", "specReplicasPath"})...).(string)
		if path != "" {
			return strings.Split(strings.TrimPrefix(path, "."), ".")
		}
	}
	return nil
}

// hasStatus reports whether the status subresource is declared at steps, or for all versions of v1beta1 at once.
func (r *reader) hasStatus(steps ...any) bool {
	for _, declaring := range [][]any{steps, {"spec"}} {
		if _, ok := fieldpath.Value(r.d.Object,
			slices.Concat(declaring, []any{"subresources", "status"})...).(map[string]any); ok {
			return true
		}
	}
	return false
}

// schemas reads the schema of every version: its own, or in v1beta1 the one of spec.validation. The locks of the
// annotation are merged in.
func (r *reader) schemas(c *CRD) {
	shared := []any{"spec", "validation", "openAPIV3Schema"}
	common, hasShared := r.field(shared)
	misplaced := hasShared && c.APIVersion != v1beta1
	hasShared = hasShared && !misplaced
	found := hasShared
	annotation := r.annotation(c)
	for _, v := range c.Versions {
		own, ok := r.field(v.steps)
		ok = ok && v.steps != nil
		found = found || ok
		switch {
		case ok && hasShared:
			r.fail(v.steps, "there is a schema in spec.validation too; keep one of them")
			continue
		case hasShared:
			v.steps, own = shared, common
		case !ok && c.APIVersion == v1beta1:
			v.steps, own = nil, map[string]any{}
		case !ok:
			hint := ""
			if misplaced {
				hint = "; spec.validation belongs to v1beta1, move it here"
			}
			r.fail(v.steps, "version %q has no schema; every version of a %s has one%s", v.Name, kindCRD, hint)
			continue
		}
		r.schema(v, own, annotation[v.Name])
	}
	if !found && r.err == nil {
		r.fail([]any{"spec", "validation"},
			"no version has a schema; it goes into spec.validation.openAPIV3Schema, or into schema.openAPIV3Schema "+
				"of each version")
	}
}

// schema reads the schema of v, with the locks that the annotation has for it.
func (r *reader) schema(v *Version, value any, locks map[string]map[string]any) {
	raw, isObject := value.(map[string]any)
	if !isObject {
		r.fail(v.steps, "it is %s; a schema is an object", yamldoc.Describe(value))
		return
	}
	if len(locks) > 0 {
		raw = jsonvalue.Clone(raw).(map[string]any)
		if err := rawschema.Merge(raw, locks); err != nil {
			r.fail(annotationSteps, "version %q, %v", v.Name, err)
			return
		}
	}
	schema, err := r.shared.Schema(raw)
	if err != nil {
		slices.Reverse(err.Steps)
		r.fail(slices.Concat(v.steps, err.Steps), "%s", err.Message)
		return
	}
	v.raw, v.Schema = raw, schema
}

// annotation reads the locks that the annotation has for the versions of c.
func (r *reader) annotation(c *CRD) rawschema.Annotation {
	text := r.text(annotationSteps...)
	if r.err != nil || text == "" {
		return nil
	}
	annotation, err := rawschema.Decode(text)
	if err != nil {
		r.fail(annotationSteps, "%v", err)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(annotation)) {
		if _, ok := c.Version(name); !ok {
			r.fail(annotationSteps, "there is no version %q; the versions are %s", name, c.versionNames())
		}
	}
	return annotation
}
