package unit

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// place returns an object of a unit as a document that knows which files of the tree it was made of. They are read when
// somebody asks.
func (s *side) place(u *Unit, o Object) *yamldoc.Document {
	origin := &origin{side: s, unit: u, object: o}
	file := o.File
	if file == "" || u.tree != nil {
		file = u.File
	}
	d := yamldoc.Derived(s.tree.Name(file), o.Object, func(steps []any) yamldoc.Position {
		return origin.written(steps).Position
	})
	d.Unknown = o.Unknown
	d.Place = func(steps []any) yamldoc.Place {
		at := origin.place(steps)
		at.File = s.tree.Name(at.File)
		return at
	}
	return d
}

// origin finds where a rendered object is written.
type origin struct {
	side   *side
	unit   *Unit
	object Object

	once   sync.Once
	file   string            // that the object was written in, or the template that printed it
	source *yamldoc.Document // the object there, nil in a template
}

// place returns the place that decides the value at steps: the line that the change touches, if it is known which one
// made the value; otherwise where the files have the value. If several lines may have made it, that is the definition
// of the unit.
func (o *origin) place(steps []any) yamldoc.Place {
	written := o.written(steps)
	if o.side.edits == nil || o.unit.tree != nil {
		return written
	}
	for u := o.unit; u != nil; u = u.parent {
		list := o.side.edits.of(u)
		if touches(list, written.File, written.Position) {
			return written
		}
		found, sure := o.edited(list, steps)
		switch {
		case found == nil:
			continue
		case !sure && touches(list, o.unit.File, yamldoc.Position{Line: o.unit.definedAt()}):
			return yamldoc.Place{File: o.unit.File, Position: yamldoc.Position{Line: o.unit.definedAt(), Column: 1},
				From: written.File}
		case !sure:
			return yamldoc.Place{File: found.file, Position: yamldoc.Position{Line: found.line, Column: 1},
				From: written.File}
		}
		return yamldoc.Place{File: found.file, Position: yamldoc.Position{Line: found.line, Column: 1}}
	}
	return written
}

// edited returns the edit that made the value at steps, or the object; nil if the change touches no line.
func (o *origin) edited(list []edit, steps []any) (found *edit, sure bool) {
	if len(steps) > 0 {
		return cause(list, steps, fieldpath.Value(o.object.Object, steps...))
	}
	for i := range list {
		if e := &list[i]; e.names(o.file, nameOf(o.object.Object)) {
			return e, true
		}
	}
	return onlyPlace(list)
}

// definedAt returns the line of the definition of a unit, 1 where it is not known.
func (u *Unit) definedAt() int {
	if u.document != nil {
		return u.document.Position().Line
	}
	return 1
}

// written returns the file and the line that decide the value at steps, whatever the change touches: where the object
// itself is written if it has the value there, otherwise the line of another file of the unit that has it, such as a
// patch or the kustomization; at last the nearest parent in the object as it is written.
func (o *origin) written(steps []any) yamldoc.Place {
	o.once.Do(o.find)
	if o.unit.tree != nil { // its files are at another revision, which the definition tells
		steps = []any{"sourceRef", "targetRevision"}
	}
	if o.source == nil {
		return yamldoc.Place{File: o.file, Position: o.inTemplate(steps)}
	}
	value := fieldpath.Value(o.object.Object, steps...)
	if len(steps) == 0 || jsonvalue.Equal(fieldpath.Value(o.source.Object, steps...), value) {
		return yamldoc.Place{File: o.file, Position: o.source.Position(steps...)}
	}
	if file, line := o.cause(steps, value); line > 0 {
		return yamldoc.Place{File: file, Position: yamldoc.Position{Line: line, Column: 1}}
	}
	return yamldoc.Place{File: o.file, Position: o.source.Position(steps...)}
}

// find finds the file and the document of the object.
func (o *origin) find() {
	switch {
	case o.unit.tree != nil:
		o.file = o.unit.File
		return
	case o.object.File != "":
		o.file = o.object.File
		o.source = o.largest(o.file)
		return
	}
	for _, file := range o.unit.Reads {
		if !manifest.HasObjects(file) || isKustomization(file) {
			continue
		}
		if d := o.largest(file); d != nil &&
			(o.source == nil || len(d.Object) > len(o.source.Object) || fits(d, o.object) > fits(o.source, o.object)) {
			if o.source == nil || fits(d, o.object) >= fits(o.source, o.object) {
				o.file, o.source = file, d
			}
		}
	}
	if o.file == "" {
		o.file = o.unit.File
	}
}

// largest returns the document of a file that fits the object best; nil for none.
func (o *origin) largest(file string) (best *yamldoc.Document) {
	data, err := o.side.tree.ReadFile(file)
	kind, _ := o.object.Object["kind"].(string)
	if err != nil || !mentions(data, kind) {
		return nil
	}
	documents, _, err := o.side.shared.Read(file, data)
	if err != nil {
		return nil
	}
	for _, d := range documents {
		if n := fits(d, o.object); n > 0 && (best == nil || n > fits(best, o.object)) {
			best = d
		}
	}
	return best
}

// fits tells how well a document fits a rendered object: 0 for another kind, 2 for the same name, 1 if tools may have
// put something before or behind the name.
func fits(d *yamldoc.Document, o Object) int {
	name := fieldpath.Text(d.Object, "metadata", "name")
	renderedName := fieldpath.Text(o.Object, "metadata", "name")
	switch {
	case d.Object["kind"] != o.Object["kind"] || name == "":
		return 0
	case name == renderedName:
		return 2
	case strings.Contains(renderedName, name):
		return 1
	}
	return 0
}

// cause finds the line of another file of the unit that gives a member the value that the object has: only a line that
// is alone with it counts. Of an object's members that differ, that is the first one by name whose line is found.
func (o *origin) cause(steps []any, value any) (file string, line int) {
	name, isName := steps[len(steps)-1].(string)
	if changed, ok := value.(map[string]any); ok { // such as matchLabels
		written, _ := fieldpath.Value(o.source.Object, steps...).(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(changed)) {
			if v := changed[key]; !jsonvalue.Equal(written[key], v) {
				if file, line = o.cause(append(steps[:len(steps):len(steps)], key), v); line > 0 {
					return file, line
				}
			}
		}
		return "", 0
	}
	text := fmt.Sprint(value)
	if !isName || text == "" {
		return "", 0
	}
	for _, candidate := range o.unit.Reads {
		if candidate == o.file || !manifest.HasObjects(candidate) && path.Base(candidate) != "Kustomization" {
			continue
		}
		data, err := o.side.tree.ReadFile(candidate)
		if err != nil {
			continue
		}
		if n := onlyLine(data, name, text); n > 0 {
			if line > 0 {
				return "", 0
			}
			file, line = candidate, n
		}
	}
	return file, line
}

// inTemplate returns the line of a template that has the last name of steps as a key, if only one line has it;
// otherwise its first line, or the line of the unit's definition.
func (o *origin) inTemplate(steps []any) yamldoc.Position {
	first := yamldoc.Position{Line: 1, Column: 1}
	if o.file == o.unit.File {
		first.Line = o.unit.definedAt()
	}
	data, err := o.side.tree.ReadFile(o.file)
	if err != nil {
		return first
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if name, isName := steps[i].(string); isName {
			if line := onlyLine(data, name, ""); line > 0 {
				return yamldoc.Position{Line: line, Column: 1}
			}
		}
	}
	return first
}

// onlyLine returns the number of the only line that has a key, followed by a value that has the text; 0 if there are
// none or several.
func onlyLine(data []byte, key, text string) int {
	found, n := 0, 0
	for line := range bytes.Lines(data) {
		n++
		before, rest, ok := bytes.Cut(line, []byte(key+":"))
		isPart := len(before) > 0 && unicode.IsLetter(rune(before[len(before)-1])) // of another key, as data is of metadata
		if !ok || isPart || !bytes.Contains(rest, []byte(text)) {
			continue
		}
		if found > 0 {
			return 0
		}
		found = n
	}
	return found
}
