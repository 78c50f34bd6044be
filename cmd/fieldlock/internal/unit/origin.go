package unit

import (
	"bytes"
	"sync"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// place returns an object of a unit as a document of the file of the tree that it comes from.
func (s *side) place(u *Unit, o Object) *yamldoc.Document {
	file := o.File
	if file == "" {
		file = u.File
	}
	find := sync.OnceValue(func() *yamldoc.Document { return s.source(file, o) })
	return yamldoc.Derived(s.tree.Name(file), o.Object, func(steps []any) yamldoc.Position {
		if d := find(); d != nil {
			return d.Position(steps...)
		}
		return s.inTemplate(file, steps)
	})
}

// source returns the document of a file that an object was written as: the one of its kind and name, else the only one of its
// kind; nil where none is.
func (s *side) source(file string, o Object) *yamldoc.Document {
	data, err := s.tree.ReadFile(file)
	if err != nil {
		return nil
	}
	documents, _, err := s.shared.Read(file, data)
	if err != nil {
		return nil
	}
	var alike []*yamldoc.Document
	for _, d := range documents {
		if d.Object["kind"] != o.Object["kind"] {
			continue
		}
		if yamldoc.NameOf(d.Object) == yamldoc.NameOf(o.Object) || yamldoc.At(d.Object, "metadata", "name") == yamldoc.At(o.Object, "metadata", "name") {
			return d
		}
		alike = append(alike, d)
	}
	if len(alike) == 1 {
		return alike[0]
	}
	return nil
}

// inTemplate returns the line of a template that has the last name of steps as a key, if only one has; otherwise line 1.
func (s *side) inTemplate(file string, steps []any) yamldoc.Position {
	data, err := s.tree.ReadFile(file)
	if err != nil {
		return yamldoc.Position{Line: 1, Column: 1}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		name, isName := steps[i].(string)
		if !isName {
			continue
		}
		if line := onlyLine(data, name); line > 0 {
			return yamldoc.Position{Line: line, Column: 1}
		}
	}
	return yamldoc.Position{Line: 1, Column: 1}
}

// onlyLine returns the number of the only line that begins with a key, or 0.
func onlyLine(data []byte, key string) int {
	found, n := 0, 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimLeft(line, " -")
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok && bytes.HasPrefix(rest, []byte(":")) {
			if found > 0 {
				return 0
			}
			found = n
		}
	}
	return found
}
