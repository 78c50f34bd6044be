package unit

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/internal/diff"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A value that a unit renders can come from many files: a component, the variables of a Kustomization, the values of a
// HelmRelease, the version of a chart. The one to name in a report is the line that somebody edited. So the lines that
// the change touches, in all files that the unit is made from, are compared with the value:
//
//	spec.storageClassName: shared           the value that is refused
//
//	components/pvc.yaml:16  storageClassName: ${CLASS:=shared}    touched: the key and the value   best
//	apps/films/ks.yaml:22   CLASS: shared                         touched: the value
//	apps/films/ks.yaml:9    interval: 1h                          touched: neither
//
// The best line counts. If no line fits, and the change touches only one place, that is it: the version of a chart
// changes values that it does not have.

// edit is a line of a file that the change touches. Where lines are only removed, it is the line that follows them.
type edit struct {
	file string
	line int
	// key and value are those of a line such as "key: value", without quotes; removed is set for a line that this side
	// does not have.
	key, value string
	removed    bool
	place      int // edits that follow one another have the same place
}

// edits are the lines that a change touches, by file. Safe for concurrent use.
type edits struct {
	here, there Tree

	mu    sync.Mutex
	files map[string][]edit
	units map[*Unit][]edit
}

func newEdits(here, there Tree) *edits {
	return &edits{here: here, there: there, files: map[string][]edit{}, units: map[*Unit][]edit{}}
}

// of returns the edits of all files that a unit is made from, and of its definition.
func (e *edits) of(u *Unit) []edit {
	e.mu.Lock()
	defer e.mu.Unlock()
	if list, ok := e.units[u]; ok {
		return list
	}
	files := []string{u.File}
	if u.tree == nil {
		files = append(files, u.Reads...)
	}
	var list []edit
	seen := map[string]bool{}
	for _, file := range files {
		if !seen[file] {
			list = append(list, e.in(file)...)
		}
		seen[file] = true
	}
	e.units[u] = list
	return list
}

// touching returns the edits that concern a unit which cannot be rendered: also those of the objects that it refers to,
// which may be in files that it does not read. Those of its definition come first.
func (e *edits) touching(u *Unit) []edit {
	list := slices.Clone(e.of(u))
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range inOrder(u.refers) {
		m := u.refers[r]
		for _, file := range slices.Concat(m.files, slices.Sorted(maps.Keys(m.makers))) {
			list = append(list, e.in(file)...)
			for _, of := range generatorFiles(e.here, file, r) {
				list = append(list, e.in(of)...)
			}
		}
	}
	return list
}

// generatorFiles returns the files from which a kustomization file generates an object.
func generatorFiles(t Tree, file string, r flux.Reference) (names []string) {
	if !isKustomization(file) {
		return nil
	}
	data, _ := t.ReadFile(file)
	for _, g := range kustomize.Generators(data, r.Kind, r.Name) {
		for _, name := range g.Files {
			names = append(names, path.Join(path.Dir(file), name))
		}
	}
	return names
}

// in returns the edits of a file.
func (e *edits) in(file string) []edit {
	if list, ok := e.files[file]; ok {
		return list
	}
	var list []edit
	if state(e.here, file) != state(e.there, file) {
		here, err := e.here.ReadFile(file)
		there, _ := e.there.ReadFile(file)
		if err == nil && len(here)+len(there) < maxEdited {
			list = editsOf(file, slices.Collect(strings.Lines(string(here))),
				slices.Collect(strings.Lines(string(there))))
		}
	}
	e.files[file] = list
	return list
}

// maxEdited bounds the bytes, and maxMatched the product of the lines that are compared.
const (
	maxEdited  = 4 << 20
	maxMatched = 4 << 20
)

// editsOf returns the lines of a file that the other side does not have, and those of the other side that it lacks.
func editsOf(file string, here, there []string) []edit {
	var list []edit
	i, j, place := 0, 0, 0
	until := func(endHere, endThere int) {
		for ; j < endThere; j++ {
			list = append(list, newEdit(file, max(1, min(i+1, len(here))), there[j], true, place))
		}
		for ; i < endHere; i++ {
			list = append(list, newEdit(file, i+1, here[i], false, place))
		}
	}
	for _, kept := range diff.Common(here, there, func(a, b string) bool { return a == b }, maxMatched) {
		until(kept[0], kept[1])
		i, j, place = i+1, j+1, place+1
	}
	until(len(here), len(there))
	return slices.DeleteFunc(list, func(e edit) bool { return e.key == "" && e.value == "" })
}

var keyed = regexp.MustCompile(`^(?:- +)*["']?([\w./${}-]+)["']?:(?:\s+(.*))?$`)

// newEdit reads a line.
func newEdit(file string, line int, text string, removed bool, place int) edit {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") || text == "---" {
		text = ""
	}
	e := edit{file: file, line: line, removed: removed, place: place}
	if m := keyed.FindStringSubmatch(text); m != nil {
		e.key, text = m[1], m[2]
	}
	text, _, _ = strings.Cut(text, " #")
	e.value = strings.Trim(strings.TrimPrefix(text, "- "), `"' `)
	return e
}

// leaf is a value without parts, and the name of the field that has it.
type leaf struct{ key, text string }

// leaves lists the values that a value is made of; one that is not there has a name only.
func leaves(key string, value any) []leaf {
	switch value := value.(type) {
	case map[string]any:
		var list []leaf
		for name, v := range value {
			list = append(list, leaves(name, v)...)
		}
		return list
	case []any:
		var list []leaf
		for _, v := range value {
			list = append(list, leaves(key, v)...)
		}
		return list
	case nil:
		return []leaf{{key, ""}}
	}
	return []leaf{{key, fmt.Sprint(value)}}
}

// fits tells how well an edit fits a value, from 0 for not at all.
func (e *edit) fits(l leaf) int {
	sameKey := e.key != "" && e.key == l.key
	long := len(l.text) > 3 && len(e.value) > 3
	switch {
	case e.removed && sameKey:
		return 2
	case e.removed || l.text == "" && !sameKey:
		return 0
	case sameKey && (e.value == l.text || long && strings.Contains(e.value, l.text)):
		return 5
	case e.value == l.text && len(l.text) > 1 && l.text != "true" && l.text != "false":
		return 4
	case long && strings.Contains(e.value, l.text):
		return 3
	case sameKey:
		return 3
	case long && strings.Contains(l.text, e.value), e.value == l.text:
		return 2
	case len(e.key) > 3 && strings.Contains(strings.ToLower(l.key), strings.ToLower(e.key)):
		return 1
	}
	return 0
}

// names reports whether an edit names an object, or the file or a directory that it is written in, as kustomizations
// do.
func (e *edit) names(file, object string) bool {
	written := strings.TrimLeft(path.Clean(e.value), "./")
	return e.value != "" && (e.value == object || written != "" && strings.Contains("/"+file+"/", "/"+written+"/"))
}

// cause returns the edit that made the value at steps of an object; nil if it is not known. sure is false if several
// edits may have.
func cause(list []edit, steps []any, value any) (found *edit, sure bool) {
	key := ""
	for _, step := range steps {
		if name, ok := step.(string); ok {
			key = name
		}
	}
	best := 0
	sure = true
	of := leaves(key, value)
	for i := range list {
		e := &list[i]
		n := 0
		for _, l := range of {
			n = max(n, e.fits(l))
		}
		switch {
		case n > best:
			best, found, sure = n, e, true
		case n == best && n > 0 && (e.file != found.file || e.place != found.place):
			sure = false
		}
	}
	if found != nil {
		return found, sure
	}
	return onlyPlace(list)
}

// onlyPlace returns the first edit of the only place that a change touches; otherwise it is not sure.
func onlyPlace(list []edit) (first *edit, sure bool) {
	for i := range list {
		e := &list[i]
		if first == nil || first.removed && !e.removed && e.file == first.file && e.place == first.place {
			first = e
		}
		if e.file != first.file || e.place != first.place {
			return first, false
		}
	}
	return first, true
}

// touches reports whether the change touches a line of a file.
func touches(list []edit, file string, at yamldoc.Position) bool {
	return slices.ContainsFunc(list, func(e edit) bool { return e.file == file && e.line == at.Line && !e.removed })
}
