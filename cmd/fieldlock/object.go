package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// identity is what objects are paired by. The version is no part of it.
type identity struct{ group, kind, namespace, name string }

// String names the object as JSON output does: "namespace/name", or "name".
func (id identity) String() string {
	if id.namespace == "" {
		return id.name
	}
	return id.namespace + "/" + id.name
}

// unnamed reports whether id is that of an object whose name the server generates: it is another object each time.
func (id identity) unnamed() bool { return id.name == "" }

// object is one object of OLD or NEW that a schema covers.
type object struct {
	identity
	document *crd.Document
	version  *crd.Version
}

// side is OLD or NEW.
type side struct {
	objects []*object
	skipped []skip
	total   int // documents
}

// skip is an object that no schema covers.
type skip struct {
	identity
	apiVersion string
	document   *crd.Document
}

// text is what was read of one file: its documents, or why there are none.
type text struct {
	file
	documents []*crd.Document
	err       error
}

// read reads the files that arg names.
func (in *inputs) read(arg string) ([]text, error) {
	files, err := in.files([]string{arg})
	texts := make([]text, len(files))
	for i, f := range files {
		texts[i].file = f
		texts[i].documents, texts[i].err = in.documents(f)
	}
	return texts, err
}

// newSide makes a side of what was read. A file that was found in a directory may hold documents that are no
// Kubernetes objects: they are skipped. All mistakes are reported at once.
func newSide(texts []text, catalog *crd.Catalog) (*side, error) {
	s := &side{}
	first := map[identity]*object{}
	var errs []error
	for _, t := range texts {
		if t.err != nil {
			errs = append(errs, t.err)
		}
		s.total += len(t.documents)
		for _, d := range t.documents {
			o, err := s.read(d, t.found, catalog)
			switch {
			case err != nil:
				errs = append(errs, err)
			case o == nil:
			case o.unnamed():
				s.objects = append(s.objects, o)
			case first[o.identity] != nil:
				other := first[o.identity].document
				errs = append(errs, mistake(d, "", "the object is there twice, first at %s:%d; one side of the comparison has each object once", other.File, other.Position().Line))
			default:
				first[o.identity] = o
				s.objects = append(s.objects, o)
			}
		}
	}
	return s, joined(errs)
}

// read makes an object of d, or counts it as skipped.
func (s *side) read(d *crd.Document, found bool, catalog *crd.Catalog) (*object, error) {
	apiVersion, kind := d.Object["apiVersion"], d.Object["kind"]
	if found && apiVersion == nil && kind == nil {
		s.skipped = append(s.skipped, skip{identity: identity{name: d.File}, document: d})
		return nil, nil
	}
	for _, field := range [...]struct {
		path, right string
		value       any
	}{
		{"apiVersion", `the group and version of the object, such as "example.com/v1"`, apiVersion},
		{"kind", `the kind of the object, such as "Widget"`, kind},
	} {
		if text, ok := field.value.(string); !ok || text == "" {
			return nil, mistake(d, field.path, "it is %s; it has to be %s", describe(field.value), field.right)
		}
	}
	id, err := identify(d)
	v, unknown := catalog.Find(apiVersion.(string), id.kind)
	switch {
	case unknown != nil:
		return nil, mistake(d, "apiVersion", "%v", unknown)
	case v == nil:
		s.skipped = append(s.skipped, skip{id, apiVersion.(string), d})
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &object{id, d, v}, nil
}

// identify reads what d is paired by, as far as it is there; apiVersion and kind are.
func identify(d *crd.Document) (identity, error) {
	id := identity{kind: d.Object["kind"].(string)}
	id.group, _, _ = strings.Cut(d.Object["apiVersion"].(string), "/")
	if !strings.Contains(d.Object["apiVersion"].(string), "/") {
		id.group = ""
	}
	metadata, ok := d.Object["metadata"].(map[string]any)
	if !ok {
		return id, mistake(d, "metadata", "it is %s; it has to be an object with the name of the object", describe(d.Object["metadata"]))
	}
	for _, field := range [...]struct {
		name string
		into *string
	}{{"namespace", &id.namespace}, {"name", &id.name}} {
		value := metadata[field.name]
		text, isText := value.(string)
		if value != nil && !isText {
			return id, mistake(d, "metadata."+field.name, "it is %s; it has to be a string, in quotes where YAML reads it as something else", describe(value))
		}
		*field.into = text
	}
	if generated, _ := metadata["generateName"].(string); id.unnamed() && generated == "" {
		return id, mistake(d, "metadata.name", "it is missing; objects are paired by kind, namespace and name")
	}
	return id, nil
}

// mistake is an error at a place of an object.
func mistake(d *crd.Document, path, format string, args ...any) error {
	return &crd.Error{
		File: d.File, Line: d.Locate(path).Line, Document: d.Number, Object: nameOf(d), Path: path, Message: fmt.Sprintf(format, args...),
	}
}

// nameOf returns kind and name of an object for messages, as far as it has them.
func nameOf(d *crd.Document) string {
	kind, _ := d.Object["kind"].(string)
	metadata, _ := d.Object["metadata"].(map[string]any)
	var id identity
	id.namespace, _ = metadata["namespace"].(string)
	if id.name, _ = metadata["name"].(string); id.name == "" {
		return kind
	}
	return strings.TrimSpace(kind + " " + id.String())
}

// describe names a value for messages.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "the string " + show(v)
	default:
		return show(v)
	}
}

// pair is one object on both sides; one of them is nil for a create or a delete.
type pair struct{ old, new *object }

// pairUp pairs the objects of the two sides: those of NEW in their order, then the deleted ones. An object whose name is
// generated pairs with none.
//
// An object without a namespace is in the namespace that the client has at that time, so it pairs with an object of
// its kind and name whatever namespace that one is in, if there is exactly one.
func pairUp(olds, news []*object) ([]pair, error) {
	rest := map[identity]*object{}
	for _, o := range olds {
		rest[o.identity] = o
	}
	pairs := make([]pair, len(news), len(news)+len(olds))
	for i, n := range news {
		if pairs[i].new = n; n.unnamed() {
			continue
		}
		pairs[i].old = rest[n.identity]
		delete(rest, n.identity)
	}
	var errs []error
	type named struct{ group, kind, name string }
	unpaired := map[named][]*object{}
	for _, o := range olds {
		if rest[o.identity] != nil && !o.unnamed() {
			key := named{o.group, o.kind, o.name}
			unpaired[key] = append(unpaired[key], o)
		}
	}
	claims := map[*object]*object{}
	for i, n := range news {
		if pairs[i].old != nil {
			continue
		}
		var candidates []*object
		for _, o := range unpaired[named{n.group, n.kind, n.name}] {
			if n.namespace == "" || o.namespace == "" {
				candidates = append(candidates, o)
			}
		}
		switch {
		case len(candidates) == 0:
		case len(candidates) > 1:
			errs = append(errs, mistake(n.document, "metadata.namespace", "it is missing, and OLD has the object in several namespaces: %s; give the namespace", namespaces(candidates)))
		case claims[candidates[0]] != nil:
			o := candidates[0]
			errs = append(errs, mistake(o.document, "metadata.namespace", "it is missing, and NEW has the object in several namespaces: %s; give the namespace", namespaces([]*object{claims[o], n})))
		default:
			pairs[i].old = candidates[0]
			claims[candidates[0]] = n
			delete(rest, candidates[0].identity)
		}
	}
	for _, o := range olds {
		if rest[o.identity] != nil {
			pairs = append(pairs, pair{old: o})
		}
	}
	return pairs, joined(errs)
}

func namespaces(objects []*object) string {
	var names []string
	for _, o := range objects {
		names = append(names, cmp.Or(o.namespace, "none"))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
