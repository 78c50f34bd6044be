package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// File is a file whose objects can be changed: as Go values in Documents, from which Bytes writes the text.
type File struct {
	Documents []*Document

	name  string
	data  []byte
	roots []root
}

// Parse reads a file to change it, as Read does. Documents that are not objects stay as they are. It returns an error
// if a document cannot be read.
func Parse(name string, data []byte) (*File, error) {
	roots, errs := readStrictly(name, data)
	documents, err := expand(name, roots, errs)
	for _, e := range Errors(err) {
		if !errors.Is(e, ErrNotObject) {
			return nil, err
		}
	}
	return &File{documents, name, data, roots}, nil
}

// Bytes returns the text of the file with the changes that were made to the Objects of the documents, in place or by
// putting another object. Comments, order, quoting and line breaks of what is equal stay as they are; without a change
// it is the very text. A new member goes before the first one that sorts after it, a new item where it is in its list.
// In objects that are new themselves members are sorted.
//
// The result is read again. It is an error, which names the line, if a change cannot be made in the layout of the file:
// for instance in a value that an alias stands for.
func (f *File) Bytes() ([]byte, error) {
	originals, errs := readStrictly(f.name, f.data)
	before, _ := expand(f.name, originals, errs)
	wanted, err := f.wanted()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	from := 0
	w := newWriter(f.data)
	for i, original := range originals {
		if jsonvalue.Equal(original.value, wanted[i]) {
			continue
		}
		layout, err := original.source.layout()
		if err != nil {
			return nil, fmt.Errorf("%s: it cannot be changed in place: %w", f.name, err)
		}
		piece := original.source.in()
		w.text = newText(piece.data)
		out.Write(f.data[from : piece.start+layout.start])
		out.WriteString(w.root(layout, original.value, wanted[i]))
		from = piece.start + layout.end
	}
	if from == 0 {
		return f.data, nil
	}
	out.Write(f.data[from:])
	if err := f.verify(out.Bytes(), before, wanted); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Values returns the values that the documents of the file have now: a List as one.
func (f *File) Values() ([]any, error) {
	wanted, err := f.wanted()
	return slices.DeleteFunc(wanted, func(value any) bool { return value == nil }), err
}

// wanted returns the values that the documents of the file shall have.
func (f *File) wanted() ([]any, error) {
	wanted := make([]any, len(f.roots))
	for i, root := range f.roots {
		wanted[i] = root.value
	}
	for _, d := range f.Documents {
		object, err := decoded(d.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.name, NameOf(d.Object), err)
		}
		if len(d.prefix) == 0 {
			wanted[d.Number-1] = object
			continue
		}
		last := len(d.prefix) - 1
		fieldpath.Value(wanted[d.Number-1], d.prefix[:last]...).([]any)[d.prefix[last].(int)] = object
	}
	return wanted, nil
}

// verify checks that a text reads as the wanted values.
func (f *File) verify(text []byte, before []*Document, wanted []any) error {
	roots, errs := readAll(f.name, text, (*piece).read)
	after, _ := expand(f.name, roots, errs)
	var err error
	if len(errs) > 0 {
		err = errs[0]
	} else if len(after) != len(before) {
		err = errors.New("the number of objects would change")
	}
	for i := range roots {
		if err != nil {
			break
		}
		if i >= len(wanted) || !jsonvalue.Equal(roots[i].value, wanted[i]) {
			err = &Error{File: f.name, Document: i + 1, Message: "the result would read differently"}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: the changes cannot be written into the layout of the file, nothing was changed: %w",
			f.name, err)
	}
	return nil
}

// decoded returns a value of Go as it reads when it is decoded: []string as []any, integers as int64.
func decoded(value any) (any, error) {
	switch value := value.(type) {
	case nil, bool, string, int64, float64:
		return value, nil
	case int:
		return int64(value), nil
	case []string:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = item
		}
		return list, nil
	case map[string]string:
		object := make(map[string]any, len(value))
		for name, member := range value {
			object[name] = member
		}
		return object, nil
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			var err error
			if list[i], err = decoded(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case []map[string]any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = item
		}
		return decoded(list)
	case map[string]any:
		object := make(map[string]any, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			var err error
			if object[name], err = decoded(value[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return object, nil
	}
	return nil, fmt.Errorf("a value of type %T has no form in YAML", value)
}
