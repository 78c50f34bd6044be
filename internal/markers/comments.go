package markers

import (
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// comments holds the marks of every field and type of the packages that were read from source.
type comments struct {
	marks map[token.Pos]levels // by the position of the field's or type's name
	hints map[token.Pos]hints  // the same
}

func newComments() *comments {
	return &comments{marks: map[token.Pos]levels{}, hints: map[token.Pos]hints{}}
}

// hints are what the markers of other tools and the text of the comment say about a field.
type hints struct {
	optional, required bool
	nullable           bool
	defaulted          bool
	transition         bool // it has a CEL rule that reads oldSelf
	notZero            bool // validation may refuse the zero value of its type
	comment            string
}

// readHint reads one comment line, without the "//".
func (h *hints) read(text string) {
	text = strings.TrimSpace(text)
	name, value, _ := strings.Cut(text, "=")
	if !strings.HasPrefix(name, "+") || strings.Contains(strings.ToLower(name), "deprecated") {
		h.comment += text + "\n"
	}
	switch name = strings.TrimSuffix(name, ":"); {
	case name == "+optional" || name == "+k8s:optional" || name == "+kubebuilder:validation:Optional":
		h.optional = true
	case name == "+required" || name == "+k8s:required" || name == "+kubebuilder:validation:Required":
		h.required = true
	case name == "+nullable" || name == "+kubebuilder:validation:Nullable":
		h.nullable = true
	case name == "+default" || name == "+k8s:default" || name == "+kubebuilder:default":
		h.defaulted = true
	case slices.Contains(refusesZero,
		strings.TrimPrefix(strings.TrimPrefix(name, "+kubebuilder:validation:"), "+k8s:")):
		h.notZero = true
	case strings.HasPrefix(name, "+kubebuilder:validation:XValidation"):
		h.transition = h.transition || strings.Contains(value, "oldSelf")
	}
}

// refusesZero are markers that most likely refuse the zero value of a type.
var refusesZero = []string{"MinLength", "minLength", "Enum", "enum", "Pattern", "Format", "format", "Minimum",
	"minimum", "MinItems", "minItems", "MinProperties"}

// readComments reads the markers of pkg into c. Where pkg was asked for, a marker above nothing is a problem.
func (c *comments) readComments(pkg *packages.Package, k8s K8sImmutable, asked bool, p *problems) {
	for _, file := range pkg.Syntax {
		r := &fileReader{comments: c, fset: pkg.Fset, file: file, k8s: k8s, foreign: !asked, problems: p,
			used: map[*ast.CommentGroup]bool{}}
		r.decls()
		if asked {
			r.strays()
		}
	}
}

type fileReader struct {
	*comments
	fset     *token.FileSet
	file     *ast.File
	k8s      K8sImmutable
	foreign  bool
	problems *problems
	used     map[*ast.CommentGroup]bool
}

// decls reads the markers above every type and every field of the file.
func (r *fileReader) decls() {
	end := r.file.Name.End()
	for _, decl := range r.file.Decls {
		gen, isGen := decl.(*ast.GenDecl)
		if isGen && gen.Tok == token.TYPE {
			inner := end
			if gen.Lparen.IsValid() {
				inner = gen.Lparen
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.TypeSpec)
				doc, start := spec.Doc, spec.Pos()
				if doc == nil && !gen.Lparen.IsValid() {
					doc, start = gen.Doc, gen.Pos()
				}
				r.read(spec.Name.Pos(), r.above(inner, doc, start), doc)
				ast.Inspect(spec, r.fields)
				inner = spec.End()
			}
		}
		end = decl.End()
	}
}

// fields reads the markers above the fields of a struct.
func (r *fileReader) fields(node ast.Node) bool {
	st, ok := node.(*ast.StructType)
	if !ok {
		return true
	}
	end := st.Fields.Opening
	for _, f := range st.Fields.List {
		above := r.above(end, f.Doc, f.Pos())
		for _, pos := range namesOf(f) {
			r.read(pos, above, f.Doc)
		}
		end = f.End()
	}
	return true
}

// namesOf returns the positions of the names of a field; an embedded field is named by its type.
func namesOf(f *ast.Field) []token.Pos {
	if len(f.Names) == 0 {
		return []token.Pos{embedded(f.Type)}
	}
	var pos []token.Pos
	for _, name := range f.Names {
		pos = append(pos, name.Pos())
	}
	return pos
}

func embedded(e ast.Expr) token.Pos {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embedded(e.X)
	case *ast.ParenExpr:
		return embedded(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Pos()
	case *ast.IndexExpr:
		return embedded(e.X)
	case *ast.IndexListExpr:
		return embedded(e.X)
	}
	return e.Pos()
}

// above returns the last group of comments between end, where what comes before ends, and the doc comment, or start
// where there is none. A comment behind something on its line is not above anything.
func (r *fileReader) above(end token.Pos, doc *ast.CommentGroup, start token.Pos) *ast.CommentGroup {
	if doc != nil {
		start = doc.Pos()
	}
	var last *ast.CommentGroup
	for _, group := range r.file.Comments {
		if group.Pos() > end && group.End() <= start && r.line(group.Pos()) > r.line(end) {
			last = group
		}
	}
	if last == r.file.Doc {
		return nil
	}
	return last
}

func (r *fileReader) line(pos token.Pos) int { return r.fset.PositionFor(pos, false).Line }

// read reads the markers of the groups for the field or type whose name is at pos.
func (r *fileReader) read(pos token.Pos, groups ...*ast.CommentGroup) {
	var all levels
	var hint hints
	for _, group := range groups {
		if group == nil {
			continue
		}
		r.used[group] = true
		for _, line := range linesOf(group) {
			got := read(line.text, r.k8s)
			at := r.fset.PositionFor(line.pos, false)
			text := strings.TrimSpace(line.text)
			switch {
			case !got.ours, got.moved && r.problems.lenient:
				hint.read(text)
			case got.err != "":
				r.problems.at(at, text, "%s", got.err).Fix = got.fix
			default:
				all = all.with(got.depth, mark{got.key, got.value, text, at, r.foreign}, r.problems)
			}
		}
	}
	if len(all) > 0 {
		r.marks[pos] = all
	}
	if hint != (hints{}) {
		r.hints[pos] = hint
	}
}

// strays reports the locks in comments that are not above a field or type.
func (r *fileReader) strays() {
	for _, group := range r.file.Comments {
		if r.used[group] || group == r.file.Doc {
			continue
		}
		for _, line := range linesOf(group) {
			got := read(line.text, r.k8s)
			if got.ours && !(got.moved && r.problems.lenient) && (got.err != "" || isOwn(got.key)) {
				r.problems.at(r.fset.PositionFor(line.pos, false), strings.TrimSpace(line.text),
					"it is not above a field or type, so it locks nothing: put it into the comment right above one, "+
						"on a line of its own")
			}
		}
	}
}

// commentLine is one line of a comment, without the slashes.
type commentLine struct {
	text string
	pos  token.Pos
}

// linesOf returns the lines that can be markers: the // comments.
func linesOf(group *ast.CommentGroup) []commentLine {
	var lines []commentLine
	for _, c := range group.List {
		if text, ok := strings.CutPrefix(c.Text, "//"); ok {
			lines = append(lines, commentLine{text, c.Pos()})
		}
	}
	return lines
}

// groupVersion finds the API group and version of a package as controller-gen does, by +groupName and +versionName or
// the package's name; where there is no such marker, by the GroupVersion variable of groupversion_info.go.
func groupVersion(pkg *packages.Package) (group, version string, ok bool) {
	group, ok = packageMarker(pkg, "groupName")
	version, _ = packageMarker(pkg, "versionName")
	if !ok {
		var fromVar string
		if group, fromVar, ok = groupVersionVar(pkg); ok && version == "" {
			version = fromVar
		}
	}
	if version == "" {
		version = pkg.Name
	}
	return group, version, ok
}

// packageMarker returns the value of a marker anywhere outside the declarations of a package.
func packageMarker(pkg *packages.Package, name string) (string, bool) {
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			for _, line := range linesOf(group) {
				if value, ok := strings.CutPrefix(strings.TrimSpace(line.text), "+"+name+"="); ok {
					return unquote(strings.TrimSpace(value)), true
				}
			}
		}
	}
	return "", false
}

// groupVersionVar reads `GroupVersion = schema.GroupVersion{Group: …, Version: …}`, or SchemeGroupVersion.
func groupVersionVar(pkg *packages.Package) (group, version string, ok bool) {
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			gen, isGen := decl.(*ast.GenDecl)
			if !isGen || gen.Tok != token.VAR {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if (name.Name != "GroupVersion" && name.Name != "SchemeGroupVersion") || i >= len(spec.Values) {
						continue
					}
					if lit, isLit := spec.Values[i].(*ast.CompositeLit); isLit {
						group, version = stringField(pkg, lit, "Group"), stringField(pkg, lit, "Version")
						return group, version, group != ""
					}
				}
			}
		}
	}
	return "", "", false
}

// stringField returns the constant string of a field in a composite literal, "" where it has none.
func stringField(pkg *packages.Package, lit *ast.CompositeLit, name string) string {
	for _, element := range lit.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
			if value := pkg.TypesInfo.Types[pair.Value].Value; value != nil && value.Kind() == constant.String {
				return constant.StringVal(value)
			}
		}
	}
	return ""
}
