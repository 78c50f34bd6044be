package markers

import (
	"go/types"
	"slices"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/markers/openapi"
)

// Definitions returns the marks of every struct of the packages, and of the structs with locks in other packages that
// they use, for the definitions that openapi-gen makes of them:
//
//	definitions, err := source.Definitions().Apply(api.GetOpenAPIDefinitions(ref))
//
// A struct that a field refers to has a definition of its own, so its fields are marked there, once; a marker on a type
// stands at the places that use it.
func (s *Source) Definitions() openapi.Marks {
	d := definitions{source: s, marks: openapi.Marks{}, seen: map[*shape]bool{}}
	for _, u := range s.structs {
		d.add(u.shape)
	}
	return d.marks
}

// definitions collects the marks of definitions, each once.
type definitions struct {
	source *Source
	marks  openapi.Marks
	seen   map[*shape]bool
}

// add adds the definition of a named struct, and those it refers to.
func (d *definitions) add(s *shape) {
	if d.seen[s] {
		return
	}
	d.seen[s] = true
	paths := map[string]map[string]any{}
	name := d.source.definitionName(s.typ)
	_, asked := d.source.structs[name]
	d.fields(s, "", paths, asked, nil)
	if len(paths) > 0 {
		d.marks[name] = paths
	}
}

// fields adds the keys of the fields of s up to the next definition. Above are the shapes that s is in.
func (d *definitions) fields(s *shape, path string, paths map[string]map[string]any, asked bool, above []*shape) {
	for _, f := range s.fields {
		d.place(f.use, path+"/properties/"+pointer.Escape(f.name), paths, asked, above)
	}
}

func (d *definitions) place(u *use, path string, paths map[string]map[string]any, asked bool, above []*shape) {
	// Other packages' lists are marked by their own openapi-gen.
	if _, own := u.marks.at(0).own(); own || asked && len(u.marks.at(0)) > 0 {
		paths[path] = u.marks.at(0).extensions()
	}
	if _, named := u.shape.typ.(*types.Named); named && u.shape.form == structForm {
		d.add(u.shape)
		return
	}
	if slices.Contains(above, u.shape) {
		return
	}
	above = append(slices.Clip(above), u.shape)
	d.fields(u.shape, path, paths, asked, above)
	if inner := u.inner(&problems{}); inner != nil {
		step := "/items"
		if u.shape.form == mapForm {
			step = "/additionalProperties"
		}
		d.place(inner, path+step, paths, asked, above)
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
