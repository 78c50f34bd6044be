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
// counts wherever the type is used.
func (s *Source) Definitions() openapi.Marks {
	d := definitions{source: s, marks: openapi.Marks{}, seen: map[*goType]bool{}}
	for _, u := range s.structs {
		d.add(u.typ)
	}
	return d.marks
}

// definitions collects the marks of definitions, each once.
type definitions struct {
	source *Source
	marks  openapi.Marks
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
