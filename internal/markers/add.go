package markers

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Addition is markers to be added for one node.
type Addition struct {
	Node
	Markers []string // comment lines, with the slashes
}

// AddMarkers adds markers to the fields and types that nodes are made from, in the files of the packages asked for: on
// lines of their own above the declaration. A marker that is there already is not added again. All else in the files
// stays; a file that gofmt would not change stays so.
//
// A field or type that makes other nodes too, in any kind of the packages, gets the markers only if all of these nodes
// are among the additions with the same markers: a rule must not reach fields for which nobody has asked.
//
// It returns the files that change with their new text, sorted by name, and for each addition the reason why it is left
// out, "" if it is not. It writes nothing. The error is about a file that cannot be read.
func (s *Source) AddMarkers(additions []Addition) (files []File, reasons []string, err error) {
	w := sourceWriter{source: s, asked: map[Node][]string{}, lines: map[string]map[int][]string{},
		texts: map[string][]string{}}
	for _, a := range additions {
		w.asked[a.Node] = append(w.asked[a.Node], a.Markers...)
	}
	for _, a := range additions {
		reason, err := w.add(a)
		if err != nil {
			return nil, nil, err
		}
		reasons = append(reasons, reason)
	}
	for _, name := range slices.Sorted(maps.Keys(w.lines)) {
		if data := w.text(name); data != nil {
			files = append(files, File{Name: name, Data: data})
		}
	}
	return files, reasons, nil
}

// sourceWriter collects the lines that are added to Go files.
type sourceWriter struct {
	source *Source
	asked  map[Node][]string
	lines  map[string]map[int][]string // by file and the number of the line that they are added above
	texts  map[string][]string         // the lines of each file as it is
}

// add adds the markers of one addition to the first of its places that can have them. The reason says why there is
// none.
func (w *sourceWriter) add(a Addition) (reason string, err error) {
	t, ok := w.source.find(a.Node)
	if !ok {
		return fmt.Sprintf("the packages have no Go type or field for it (%s)", a.kind()), nil
	}
	places := t.places(a.Markers)
	for _, p := range places {
		if there, err := w.has(p); there || err != nil {
			return "", err
		}
	}
	reason = "no declaration of its own has the value in Go"
	for _, p := range places {
		if reason = w.unfit(p); reason == "" {
			w.insert(p)
			break
		}
	}
	return reason, nil
}

// place is a declaration that can have the markers of a node.
type place struct {
	declaration
	markers []string // in the form for this place
	asked   []string // as they were asked for
	below   string   // the way from the nodes that the declaration makes to the node
}

const (
	validationPrefix = "// +kubebuilder:validation:XValidation:"
	itemsPrefix      = "// +kubebuilder:validation:items:XValidation:"
)

// places returns where the markers of a node can be, the best first: on its type, on its field, and for items on the
// field that holds the list, in the form that newer versions of controller-gen read.
func (t target) places(markers []string) []place {
	var list []place
	if named := t.use.typ.declared; named.name != "" {
		list = append(list, place{named, markers, markers, ""})
	}
	if len(t.steps) == 0 && t.field != nil {
		return append(list, place{t.declaration(), markers, markers, ""})
	}
	if slices.Equal(t.steps, []string{"items"}) {
		var ofItems []string
		for _, m := range markers {
			if args, ok := strings.CutPrefix(m, validationPrefix); ok {
				ofItems = append(ofItems, itemsPrefix+args)
			}
		}
		if len(ofItems) == len(markers) {
			list = append(list, place{t.declaration(), ofItems, markers, "/items"})
		}
	}
	return list
}

// has reports whether the markers of p are there, as they were before.
func (w *sourceWriter) has(p place) (bool, error) {
	if _, known := w.source.files[p.pos.Filename]; !known {
		return false, nil
	}
	lines, err := w.linesOf(p)
	if err != nil {
		return false, err
	}
	above := commentsAbove(lines, p.pos.Line)
	return !slices.ContainsFunc(p.markers, func(m string) bool { return !above[ruleOf(m)] }), nil
}

// unfit says why a declaration must not get the markers of p, "" if it may.
func (w *sourceWriter) unfit(p place) string {
	at := w.source.placeOf(p.declaration)
	generated, known := w.source.files[p.pos.Filename]
	switch {
	case !known:
		return fmt.Sprintf("%s is not in the packages: name its package too", at.Name)
	case generated:
		return fmt.Sprintf("%s is in generated code", at)
	case !alone.MatchString(w.texts[p.pos.Filename][p.pos.Line-1][:p.pos.Column-1]):
		return fmt.Sprintf("%s is not the first on its line", at)
	}
	for _, other := range w.source.nodes()[p.declaration] {
		other.SchemaPath += p.below
		if slices.ContainsFunc(p.asked, func(m string) bool { return !slices.Contains(w.asked[other], m) }) {
			return fmt.Sprintf("%s is %s of %s too, which would get the rule as well: give one of the two a type of "+
				"its own, or add the marker yourself",
				at, shownPath(other.SchemaPath), other.kind())
		}
	}
	return ""
}

// alone matches what may be before the name of a field or type that is the first on its line.
var alone = regexp.MustCompile(`^[\t ]*(type[\t ]+)?\*?(\w+\.)?$`)

// linesOf returns the lines of the file of p.
func (w *sourceWriter) linesOf(p place) ([]string, error) {
	name := p.pos.Filename
	if w.texts[name] == nil {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		w.texts[name], w.lines[name] = strings.SplitAfter(string(data), "\n"), map[int][]string{}
	}
	if lines := w.texts[name]; p.pos.Line <= len(lines) && p.pos.Column <= len(lines[p.pos.Line-1]) {
		return lines, nil
	}
	return nil, fmt.Errorf("%s changed while it was read", name)
}

// insert adds the markers of p that are not there.
func (w *sourceWriter) insert(p place) {
	name := p.pos.Filename
	lines := w.texts[name]
	line := lines[p.pos.Line-1]
	above := commentsAbove(lines, p.pos.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, "\t "))]
	end := "\n"
	if strings.HasSuffix(line, "\r\n") {
		end = "\r\n"
	}
	for _, m := range p.markers {
		text := indent + m + end
		added := w.lines[name][p.pos.Line]
		if above[ruleOf(m)] || slices.Contains(added, text) {
			continue
		}
		if len(added) == 0 && p.pos.Line > 1 && prose.MatchString(lines[p.pos.Line-2]) {
			added = append(added, indent+"//"+end) // otherwise the marker reads like a part of the sentence
		}
		w.lines[name][p.pos.Line] = append(added, text)
	}
}

// prose matches the lines of comments that are not markers.
var prose = regexp.MustCompile(`^\s*//\s*[^+\s]`)

// commentsAbove returns the markers in the comments right above a line, as ruleOf gives them.
func commentsAbove(lines []string, line int) map[string]bool {
	found := map[string]bool{}
	for i := line - 2; i >= 0; i-- {
		text := strings.TrimSpace(lines[i])
		if text != "" && !strings.HasPrefix(text, "//") {
			break
		}
		found[ruleOf(text)] = true
	}
	return found
}

// ruleOf returns a marker without the message, which somebody may have reworded.
func ruleOf(marker string) string {
	text, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(marker, "//")), ",message=")
	return text
}

// text returns a file with its new lines, nil if it has none.
func (w *sourceWriter) text(name string) []byte {
	if len(w.lines[name]) == 0 {
		return nil
	}
	var b bytes.Buffer
	for i, line := range w.texts[name] {
		for _, added := range w.lines[name][i+1] {
			b.WriteString(added)
		}
		b.WriteString(line)
	}
	before := []byte(strings.Join(w.texts[name], ""))
	if formatted, err := format.Source(before); err == nil && bytes.Equal(formatted, before) {
		if formatted, err := format.Source(b.Bytes()); err == nil {
			return formatted
		}
	}
	return b.Bytes()
}
