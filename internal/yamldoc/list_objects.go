package yamldoc

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

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
			*errs = append(*errs, d.Errorf([]any{"items", i}, "it is %s; the items of a %s are objects",
				Describe(item), kind))
			continue
		}
		d.complete(object, strings.TrimSuffix(kind, "List"))
		steps := append(slices.Clone(d.prefix), "items", i)
		list = (&Document{File: d.File, Number: d.Number, Object: object, source: d.source,
			prefix: steps}).appendTo(list, errs)
	}
	return list
}

// listItems returns the items of a list of objects. As for kubectl, that is any object with a kind and a list of items,
// with a metadata.name or without. kubectl refuses a list with an item that is not an object, or with neither an
// apiVersion nor one in its items: unless its kind ends in "List", such a document is something else, such as the
// values of a chart.
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
		hasVersion = hasVersion || isText(fieldpath.Value(item, "apiVersion")) && isText(fieldpath.Value(item, "kind"))
	}
	return items, hasVersion
}

// complete gives an item without a kind the kind and the apiVersion of its list, as lists of one kind are written.
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

// isText reports whether v is a string that is not empty.
func isText(v any) bool {
	text, _ := v.(string)
	return text != ""
}

// maxLists bounds how many Lists may be nested.
const maxLists = 100
