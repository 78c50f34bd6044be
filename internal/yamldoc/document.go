package yamldoc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Document is one object of a YAML or JSON file, with the means to find its parts in the file again.
type Document struct {
	File   string // as given by the caller, for messages
	Number int    // of the document in the file, from 1; the items of a List share it

	// Object holds map[string]any, []any, string, bool, int64, float64 and nil. Integers are int64 where they fit.
	Object map[string]any

	source source
	prefix []any // steps from the document's root to Object: nil, or into the items of a List
}

// maxLists bounds how many Lists may be nested.
const maxLists = 100

// Read reads every object of a file: YAML of one or more documents, JSON, or JSON objects one after another. The items
// of a List count as objects of their own; empty documents are skipped. The name is used in messages only.
//
// Read returns the objects that it can read, in the order of the file. The error joins one *Error for each document or
// item that it cannot read, with file and line: text that is not UTF-8 or is malformed, a key that has two values in a mapping,
// a value that JSON does not have, a document that is not an object (ErrNotObject). Cost: one pass over the text.
func Read(name string, data []byte) ([]*Document, error) {
	roots, errs := readStrictly(name, data)
	return expand(name, roots, errs)
}

// readStrictly is readAll for those to whom a key with two values is an error; such a document has no value.
func readStrictly(name string, data []byte) ([]root, []*Error) {
	roots, errs := readAll(name, data, (*piece).read)
	for _, r := range repeatsOf(name, roots) {
		if root := &roots[r.Document-1]; root.value != nil {
			errs, root.value = append(errs, r.Err()), nil
		}
	}
	return roots, errs
}

// expand makes documents of the values of a file, and joins the errors.
func expand(name string, roots []root, errs []*Error) ([]*Document, error) {
	var documents []*Document
	for i, root := range roots {
		if root.value == nil {
			continue
		}
		object, ok := root.value.(map[string]any)
		if !ok {
			errs = append(errs, &Error{File: name, Line: root.source.find(nil).Line, Document: i + 1, cause: ErrNotObject,
				Message: fmt.Sprintf("it is %s; a document is an object with apiVersion and kind", Describe(root.value))})
			continue
		}
		d := &Document{File: name, Number: i + 1, Object: object, source: root.source}
		documents = d.appendTo(documents, &errs)
	}
	slices.SortStableFunc(errs, func(a, b *Error) int { return a.Line - b.Line })
	var err error
	if len(errs) > 0 {
		all := make([]error, len(errs))
		for i, e := range errs {
			all[i] = e
		}
		err = errors.Join(all...)
	}
	return documents, err
}

// appendTo appends d, or when it is a list its items, to list.
func (d *Document) appendTo(list []*Document, errs *[]*Error) []*Document {
	items, ok := d.listItems()
	if !ok {
		return append(list, d)
	}
	kind, _ := d.Object["kind"].(string)
	if len(d.prefix) > 2*maxLists {
		*errs = append(*errs, d.Errorf(nil, "it is a list within more than %d lists; write the objects out", maxLists))
		return list
	}
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			*errs = append(*errs, d.Errorf([]any{"items", i}, "it is %s; the items of a %s are objects", Describe(item), kind))
			continue
		}
		d.complete(object, strings.TrimSuffix(kind, "List"))
		steps := append(slices.Clone(d.prefix), "items", i)
		list = (&Document{File: d.File, Number: d.Number, Object: object, source: d.source, prefix: steps}).appendTo(list, errs)
	}
	return list
}

// complete gives an item without a kind that of the list, and its apiVersion, as lists of one kind are written.
func (d *Document) complete(item map[string]any, kind string) {
	hasKind, hasVersion := isText(item["kind"]), isText(item["apiVersion"])
	if hasKind || kind == "" || hasVersion && item["kind"] != nil && item["kind"] != "" {
		return
	}
	item["kind"] = kind
	if version := d.Object["apiVersion"]; !hasVersion && isText(version) {
		item["apiVersion"] = version
	}
}

// listItems returns the items of a list of objects. As for kubectl, that is any object with a kind and a list of items,
// with a metadata.name or without. kubectl refuses a list with an item that is not an object, or with neither an
// apiVersion nor one in its items: unless its kind ends in "List", such a document is something else, such as the values
// of a chart.
func (d *Document) listItems() ([]any, bool) {
	items, ok := d.Object["items"].([]any)
	kind, _ := d.Object["kind"].(string)
	if !ok || kind == "" || strings.HasSuffix(kind, "List") {
		return items, ok && kind != ""
	}
	hasVersion := isText(d.Object["apiVersion"])
	for _, item := range items {
		if _, isObject := item.(map[string]any); !isObject {
			return nil, false
		}
		hasVersion = hasVersion || isText(At(item, "apiVersion")) && isText(At(item, "kind"))
	}
	return items, hasVersion
}

// isText reports whether v is a string that is not empty.
func isText(v any) bool {
	text, _ := v.(string)
	return text != ""
}

// Position returns the place of the value that steps lead to, each step a member name (string) or an index (int): for a
// member the place of its name. Where the way ends early it is the place of the last value on it; for a document that
// was not read from a file, the zero Position. Cost: O(members) per step, for JSON a scan of the text up to the place.
func (d *Document) Position(steps ...any) Position {
	if d == nil || d.source == nil {
		return Position{}
	}
	return d.source.find(append(slices.Clone(d.prefix), steps...))
}

// Locate is Position for a path as field.Path prints it: "spec.nodes[2].zone", "spec.labels[app.kubernetes.io/name]".
func (d *Document) Locate(fieldPath string) Position {
	if d == nil {
		return Position{}
	}
	return d.Position(Steps(d.Object, fieldPath)...)
}

// Derived returns a document that is not in the file as it is, but made of what is there: locate returns the place of what
// the value at the end of steps was made of.
func Derived(file string, object map[string]any, locate func(steps []any) Position) *Document {
	return &Document{File: file, Object: object, source: derived(locate)}
}

var _ source = derived(nil)

type derived func(steps []any) Position

func (d derived) find(steps []any) Position { return d(steps) }

func (d derived) layout() (*element, error) {
	return nil, errors.New("it is not in the file in this form, so it cannot be changed there")
}

func (d derived) in() *piece { return nil } // it has no layout, so nobody asks

// Errorf makes an error about the value that steps lead to.
func (d *Document) Errorf(steps []any, format string, args ...any) *Error {
	return &Error{File: d.File, Line: d.Position(steps...).Line, Document: d.Number, Object: NameOf(d.Object), Path: PathString(steps...),
		Message: fmt.Sprintf(format, args...)}
}

// NameOf returns the kind, namespace and name of an object for messages, as far as it has them: "Widget ns/a".
func NameOf(object map[string]any) string {
	kind, _ := object["kind"].(string)
	name, _ := At(object, "metadata", "name").(string)
	if namespace, _ := At(object, "metadata", "namespace").(string); namespace != "" && name != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(kind + " " + name)
}
