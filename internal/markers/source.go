// Package markers is the machinery of the public package markers: it reads markers from the Go types of packages,
// writes them into CRDs, finds where a node of a CRD is in Go, and adds markers there.
package markers

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/markers/openapigen"
)

// Source is a set of Go packages with the markers of their types. It is immutable and safe for concurrent use.
type Source struct {
	dir     string
	roots   map[kind]*use     // every exported struct of a package with group and version
	structs map[string]*use   // every exported struct of the packages asked for, by its name in openapi-gen's definitions
	groups  map[string]bool   // the API groups of the packages
	models  map[string]string // by package: the name that definitions have in place of its path
	k8s     K8sImmutable      // "" leaves it to the CRD
	files   map[string]bool   // of the packages asked for; whether each is generated
	nodes   func() map[declaration][]Node

	problems []Problem // that Options.Report has had
}

// kind names an API type.
type kind struct{ group, version, kind string }

func (k kind) String() string { return fmt.Sprintf("%s/%s %s", k.group, k.version, k.kind) }

// Options change how Load reads markers.
type Options struct {
	K8sImmutable K8sImmutable // what +k8s:immutable means; "" leaves it to the rules of each CRD
	// Report is called for each problem, sorted by file and line, in place of the *Error that Load returns; nil
	// without. WriteCRDs then returns the *Error: what a marker cannot do is never left out of a CRD in silence.
	Report func(Problem)
}

// mode reads the packages asked for from source and what they import from export data.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedTypesInfo | packages.NeedSyntax

// Load reads the packages that patterns name in dir, and from other packages the types that they use. Generated
// packages of apply configurations, which patterns such as ./... find, are left out beside others: they repeat the
// comments of the API types. A package that cannot be found or parsed is an error; one that does not type-check is read
// as far as it does. Markers that cannot do what they say are an *Error with all of them.
func Load(ctx context.Context, dir string, patterns []string, o Options) (*Source, error) {
	if o.K8sImmutable != "" && o.K8sImmutable != K8sImmutableLocked && o.K8sImmutable != K8sImmutableSetOnce {
		return nil, fmt.Errorf("the meaning %q of +k8s:immutable is not known: it is %q or %q",
			o.K8sImmutable, K8sImmutableLocked, K8sImmutableSetOnce)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	asked, err := load(ctx, absolute, patterns)
	if err != nil {
		return nil, err
	}
	if types := slices.DeleteFunc(slices.Clone(asked), isApplyConfiguration); len(types) > 0 {
		asked = types
	}
	isAsked := map[string]bool{}
	for _, pkg := range asked {
		isAsked[pkg.PkgPath] = true
	}
	all := asked
	if used := usedPackages(asked, isAsked); len(used) > 0 {
		if all, err = load(ctx, absolute, append(slices.Clone(patterns), used...)); err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(pkg *packages.Package) bool {
			return !isAsked[pkg.PkgPath] && isApplyConfiguration(pkg)
		})
	}

	p := &problems{dir: absolute}
	c := newComments()
	for _, pkg := range all {
		c.readComments(pkg, o.K8sImmutable, isAsked[pkg.PkgPath], p)
	}
	s := &Source{dir: absolute, roots: map[kind]*use{}, structs: map[string]*use{}, groups: map[string]bool{},
		models: map[string]string{}, k8s: o.K8sImmutable}
	s.files = filesOf(slices.DeleteFunc(slices.Clone(all), func(pkg *packages.Package) bool {
		return !isAsked[pkg.PkgPath]
	}))
	s.nodes = sync.OnceValue(s.listNodes)
	for _, pkg := range all {
		if model, ok := packageMarker(pkg, "k8s:openapi-model-package"); ok {
			s.models[pkg.PkgPath] = model
		}
	}
	b := newBuilder(c, all, p)
	for _, pkg := range all {
		if isAsked[pkg.PkgPath] {
			s.add(pkg, b)
		}
	}
	for _, check := range b.checks {
		check()
	}
	s.problems = p.list
	if err := p.err(); err != nil && o.Report == nil {
		return nil, err
	}
	for _, problem := range p.list {
		o.Report(problem)
	}
	return s, nil
}

// load runs the go command. The packages come sorted by path.
func load(ctx context.Context, dir string, patterns []string) ([]*packages.Package, error) {
	pkgs, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Mode: mode, Fset: token.NewFileSet()},
		patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading Go packages %s: %w", strings.Join(patterns, " "), err)
	}
	var errs []error
	for _, pkg := range pkgs {
		partial := slices.ContainsFunc(pkg.Errors, func(e packages.Error) bool { return e.Kind == packages.TypeError })
		for _, e := range pkg.Errors {
			// The compiler, which go list runs to export types, repeats the type errors below a line with the package.
			if e.Kind != packages.TypeError && !(partial && strings.HasPrefix(e.Msg, "# ")) {
				errs = append(errs, fmt.Errorf("reading Go package %s: %w%s", pkg.PkgPath, e, hint(dir, pkg.PkgPath)))
			}
		}
		if pkg.Types == nil && len(pkg.Errors) == 0 {
			errs = append(errs, fmt.Errorf("reading Go package %s: it has no types", pkg.PkgPath))
		}
	}
	if len(pkgs) == 0 {
		errs = append(errs, fmt.Errorf("no Go package matches %s", strings.Join(patterns, " ")))
	}
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	return pkgs, errors.Join(errs...)
}

// hint says where to run the command if a pattern such as ./api/... leads into another module, which the go command does
// not look into: api/go.mod.
func hint(dir, pattern string) string {
	if !strings.HasPrefix(pattern, "./") {
		return ""
	}
	for below := path.Clean(strings.TrimSuffix(pattern, "/...")); below != "."; below = path.Dir(below) {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(below), "go.mod")); err == nil {
			return fmt.Sprintf("; %s is a module of its own: run the command in that directory", below)
		}
	}
	return ""
}

// isApplyConfiguration reports whether a package is generated code of client-go's builders for server-side apply.
func isApplyConfiguration(pkg *packages.Package) bool {
	inFolder := slices.ContainsFunc(strings.Split(pkg.PkgPath, "/"), func(step string) bool {
		return step == "applyconfiguration" || step == "applyconfigurations"
	})
	return inFolder && len(pkg.Syntax) > 0 && !slices.ContainsFunc(pkg.Syntax, func(f *ast.File) bool {
		return !ast.IsGenerated(f)
	})
}

// usedPackages are the packages, apart from those asked for, whose types the exported types of pkgs use.
func usedPackages(pkgs []*packages.Package, asked map[string]bool) []string {
	used := map[string]bool{}
	seen := map[types.Type]bool{}
	var visit func(t types.Type)
	name := func(obj *types.TypeName) {
		if pkg := obj.Pkg(); pkg != nil && !asked[pkg.Path()] && pkg.Path() != metaV1 {
			used[pkg.Path()] = true
		}
	}
	visit = func(t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			name(t.Obj())
			visit(t.Rhs())
		case *types.Named:
			name(t.Obj())
			if !isMeta(t.Obj()) {
				for arg := range t.TypeArgs().Types() {
					visit(arg)
				}
				visit(t.Origin().Underlying())
			}
		case *types.Pointer, *types.Slice, *types.Array, *types.Map:
			visit(t.(interface{ Elem() types.Type }).Elem())
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() || f.Embedded() {
					visit(f.Type())
				}
			}
		}
	}
	for _, pkg := range pkgs {
		for _, obj := range exportedTypes(pkg) {
			visit(obj.Type())
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// isMeta reports whether obj is one of the API machinery's types for the envelope of objects.
func isMeta(obj *types.TypeName) bool { return obj.Pkg() != nil && obj.Pkg().Path() == metaV1 }

// exportedTypes returns the exported types of a package, sorted by name.
func exportedTypes(pkg *packages.Package) []*types.TypeName {
	var list []*types.TypeName
	scope := pkg.Types.Scope()
	for _, name := range scope.Names() {
		if obj, ok := scope.Lookup(name).(*types.TypeName); ok && obj.Exported() {
			list = append(list, obj)
		}
	}
	return list
}

// Groups returns the API groups of the packages, sorted: those by +groupName or a GroupVersion variable.
func (s *Source) Groups() []string { return slices.Sorted(maps.Keys(s.groups)) }

// add adds the struct types of pkg.
func (s *Source) add(pkg *packages.Package, b *builder) {
	group, version, isAPI := groupVersion(pkg)
	if isAPI {
		s.groups[group] = true
	}
	for _, obj := range exportedTypes(pkg) {
		if named, ok := obj.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
			continue // its instances are read where fields have them
		}
		u := b.useOf(obj.Type(), nil, inField)
		if u.typ.form != structForm || obj.IsAlias() {
			continue
		}
		s.structs[s.definitionName(obj.Type())] = u
		if isAPI {
			s.roots[kind{group, version, obj.Name()}] = u
		}
	}
}

// definitionName is the key of a named type in openapi-gen's definitions.
func (s *Source) definitionName(t types.Type) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		if model, ok := s.models[pkg.Path()]; ok {
			return model
		}
		return pkg.Path()
	})
}

// Definitions returns the marks of every struct of the packages, and of the structs with locks in other packages that
// they use, by definition.
func (s *Source) Definitions() openapigen.Marks {
	d := definitions{source: s, marks: openapigen.Marks{}, seen: map[*goType]bool{}}
	for _, u := range s.structs {
		d.add(u.typ)
	}
	return d.marks
}

// definitions collects the marks of definitions, each once.
type definitions struct {
	source *Source
	marks  openapigen.Marks
	seen   map[*goType]bool
}

// add adds the definition of a named struct, and those it refers to.
func (d *definitions) add(s *goType) {
	if d.seen[s] {
		return
	}
	d.seen[s] = true
	paths := map[string]map[string]any{}
	name := d.source.definitionName(s.bare)
	_, asked := d.source.structs[name]
	d.fields(s, "", paths, asked, nil)
	if len(paths) > 0 {
		d.marks[name] = paths
	}
}

// fields adds the keys of the fields of s up to the next definition. Above are the types that s is in.
func (d *definitions) fields(s *goType, path string, paths map[string]map[string]any, asked bool, above []*goType) {
	for _, f := range s.fields {
		d.value(f.use, path+"/properties/"+pointer.Escape(f.name), paths, asked, above)
	}
}

func (d *definitions) value(u *use, path string, paths map[string]map[string]any, asked bool, above []*goType) {
	// Other packages' lists are marked by their own openapi-gen.
	if _, own := u.marks.at(0).own(); own || asked && len(u.marks.at(0)) > 0 {
		paths[path] = u.marks.at(0).extensions()
	}
	if _, named := u.typ.bare.(*types.Named); named && u.typ.form == structForm {
		d.add(u.typ)
		return
	}
	if slices.Contains(above, u.typ) {
		return
	}
	above = append(slices.Clip(above), u.typ)
	d.fields(u.typ, path, paths, asked, above)
	if inner := u.inner(&problems{}); inner != nil {
		step := "/items"
		if u.typ.form == mapForm {
			step = "/additionalProperties"
		}
		d.value(inner, path+step, paths, asked, above)
	}
}
