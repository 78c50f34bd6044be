package admission

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// document is an object as it came, with what it says that it is.
type document struct {
	name             string // in the request: object or oldObject
	raw              []byte
	apiVersion, kind string
	read             bool // apiVersion and kind are known, and no member is there twice
}

// cutDocument cuts the value that t has next. In an object, it reads apiVersion and kind in the same pass. Where that is
// not possible, identify says why, if the document is needed at all.
func cutDocument(name string, t *jsonscan.Text, body []byte) document {
	d := document{name: name}
	if t.Kind() != '{' {
		d.raw = unlessNull(t.Skip())
		return d
	}
	start := t.Offset()
	d.read = true
	var seen names
	for m := range t.Members() {
		err := seen.add(m.Name)
		if value := t.Skip(); err == nil {
			err = d.note(m.Name, value)
		}
		d.read = d.read && err == nil
	}
	if d.read = d.read && !t.Failed(); !t.Failed() {
		d.raw = body[start:t.Offset()]
	}
	return d
}

// note takes apiVersion or kind from a member.
func (d *document) note(name, value []byte) error {
	switch string(name) {
	case "apiVersion":
		return readString(name, value, &d.apiVersion)
	case "kind":
		return readString(name, value, &d.kind)
	}
	return nil
}

// identify reads what the document says that it is, unless that is known. It returns an error if the document is missing,
// is not an object, or has a member twice.
func (d *document) identify() error {
	if d.read {
		return nil
	}
	if d.raw = unlessNull(d.raw); d.raw == nil {
		return missing(d.name)
	}
	if err := eachMember(d.raw, d.note); err != nil {
		return fmt.Errorf("the %s cannot be read: %w", d.name, err)
	}
	d.read = true
	return nil
}

// missing is the error of an update without one of its two objects.
func missing(name string) error {
	return fmt.Errorf("the update has no %s: it needs both the object and the one that is stored", name)
}

// readString reads a value that is JSON.
func readString(name, value []byte, to *string) error {
	if len(value) == 0 || value[0] != '"' {
		return fmt.Errorf("the member %q is not a string", name)
	}
	*to, _ = jsonscan.String(value, 0)
	return nil
}

// unlessNull returns value, nil for null.
func unlessNull(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}
