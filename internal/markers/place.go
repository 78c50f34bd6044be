package markers

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Place is where Go source declares a field or type.
type Place struct {
	File string // relative to the folder of Load where it is below it
	Line int
	Name string // "DatabaseSpec.Backup", or "Database" for a type
}

// String returns FILE:LINE (NAME).
func (p Place) String() string { return fmt.Sprintf("%s:%d (%s)", p.File, p.Line, p.Name) }

// Node names one node of the schema of an API type.
type Node struct {
	Group, Version, Kind string
	SchemaPath           string // JSON pointer from the root of the schema of the version
}

func (n Node) kind() kind { return kind{n.Group, n.Version, n.Kind} }

// Place returns the field that a node is made from: for items and for the values of a map the field that holds them,
// for the root the type of the kind. It returns false if the packages have no such type or field.
func (s *Source) Place(n Node) (Place, bool) {
	t, ok := s.find(n)
	if !ok {
		return Place{}, false
	}
	return s.placeOf(t.declaration()), true
}

// Field is what Go source says about the field that a node is made from.
type Field struct {
	Pointer bool // it tells the zero value from an absent one
	Omitted bool // clients leave out the zero value, or nil
	// Comment is the text above the field and its type, with markers only as far as they speak of deprecation.
	Comment string
}

// Field returns what Go source says about the field that a node is made from. It returns false if the packages have no
// such field.
func (s *Source) Field(n Node) (Field, bool) {
	t, ok := s.find(n)
	if !ok || t.field == nil || len(t.steps) > 0 {
		return Field{}, false
	}
	comment := t.field.hints.comment + t.field.typ.hints.comment
	return Field{Pointer: t.field.pointer, Omitted: t.field.omitted(), Comment: comment}, true
}

func (s *Source) placeOf(d declaration) Place {
	return Place{File: (&problems{dir: s.dir}).relative(d.pos.Filename), Line: d.pos.Line, Name: d.name}
}

// declaration is where a field or type is declared.
type declaration struct {
	pos  token.Position // of its name
	name string
}

// target is what a schema node is made from.
type target struct {
	root  *use
	field *field // the innermost one, nil for the root
	steps []string
	use   *use

	guarded bool // a type or field above has a CEL rule that reads oldSelf
}

// declaration returns that of the field, or of the type of the root.
func (t target) declaration() declaration {
	if t.field == nil {
		return t.root.typ.declared
	}
	return t.field.declaration()
}

// find returns what a node is made from.
func (s *Source) find(n Node) (target, bool) {
	root := s.roots[n.kind()]
	if root == nil {
		return target{}, false
	}
	return find(root, n.SchemaPath)
}

// find follows a schema path through the Go types.
func find(root *use, schemaPath string) (target, bool) {
	t := target{root: root, use: root}
	names := pointer.Names(schemaPath)
	for len(names) > 0 {
		step := names[0]
		names = names[1:]
		switch {
		case step == "properties" && len(names) > 0:
			f := t.use.typ.property(names[0])
			if f == nil {
				return target{}, false
			}
			t.guarded = t.guarded || t.use.typ.transition || t.field != nil && t.field.transition
			t.field, t.use, t.steps = f, f.use, nil
			names = names[1:]
		case step == "items" && t.use.typ.form == listForm, step == "additionalProperties" && t.use.typ.form == mapForm:
			t.use, t.steps = t.use.typ.elem, append(t.steps, step)
		default:
			return target{}, false
		}
	}
	return t, true
}

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
	w := sourceWriter{source: s, asked: map[Node][]string{}, lines: map[string]map[int][]string{}, texts: map[string][]string{}}
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
			return fmt.Sprintf("%s is %s of %s too, which would get the rule as well: give one of the two a type of its own, or add the marker yourself",
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

// filesOf returns the files of packages by their absolute names, and whether each is generated.
func filesOf(pkgs []*packages.Package) map[string]bool {
	files := map[string]bool{}
	for _, pkg := range pkgs {
		for _, file := range pkg.Syntax {
			files[pkg.Fset.PositionFor(file.FileStart, false).Filename] = ast.IsGenerated(file)
		}
	}
	return files
}

// listNodes returns the nodes that each field and each declared type makes in the kinds of the packages.
func (s *Source) listNodes() map[declaration][]Node {
	all := map[declaration][]Node{}
	for k, root := range s.roots {
		if !root.typ.isKind() {
			continue
		}
		var within []*goType
		var visit func(u *use, path string)
		visit = func(u *use, path string) {
			n := Node{k.group, k.version, k.kind, path}
			if u.typ.declared.name != "" {
				all[u.typ.declared] = append(all[u.typ.declared], n)
			}
			if slices.Contains(within, u.typ) {
				return // a recursive type
			}
			within = append(within, u.typ)
			defer func() { within = within[:len(within)-1] }()
			for _, f := range u.typ.fields {
				below := path + "/properties/" + pointer.Escape(f.name)
				all[f.declaration()] = append(all[f.declaration()], Node{k.group, k.version, k.kind, below})
				visit(f.use, below)
			}
			switch {
			case u.typ.elem == nil:
			case u.typ.form == mapForm:
				visit(u.typ.elem, path+"/additionalProperties")
			default:
				visit(u.typ.elem, path+"/items")
			}
		}
		visit(root, "")
	}
	return all
}

// isKind reports whether s is the type of whole objects: with apiVersion, kind and metadata.
func (s *goType) isKind() bool {
	metadata := s.property("metadata")
	return metadata != nil && isNamed(metadata.typ.bare, metaV1, "ObjectMeta") && s.property("kind") != nil && s.property("apiVersion") != nil
}

func (f *field) declaration() declaration {
	return declaration{f.pos, strings.TrimPrefix(f.owner+"."+f.goName, ".")}
}

// declarationOf returns where a named type that is not generic is declared.
func (b *builder) declarationOf(t types.Type) declaration {
	named, ok := t.(*types.Named)
	if !ok || named.TypeArgs().Len() > 0 || named.Obj().Pkg() == nil {
		return declaration{}
	}
	return declaration{b.fset.PositionFor(named.Obj().Pos(), false), named.Obj().Name()}
}
