package markers

import (
	"go/types"
	"slices"

	"github.com/fieldlock/fieldlock/markers/openapi"
)

// Definitions returns the marks of every struct of the packages, for the definitions that openapi-gen makes of them:
//
//	definitions, err := source.Definitions().Apply(api.GetOpenAPIDefinitions(ref))
//
// A struct that a field refers to has a definition of its own, so its fields are marked there, once; a marker on a type
// stands at the places that use it. Packages that types come from are not covered unless they were asked for.
func (s *Source) Definitions() openapi.Marks {
	all := openapi.Marks{}
	for name, u := range s.structs {
		paths := map[string]map[string]any{}
		for _, f := range u.shape.fields {
			collect(f.use, "/properties/"+escape(f.name), paths, nil)
		}
		if len(paths) > 0 {
			all[name] = paths
		}
	}
	return all
}

// collect adds the keys of a place and of what is below it up to the next definition. Above are the shapes that the place is in.
func collect(u *use, path string, paths map[string]map[string]any, above []*shape) {
	if ext := u.marks.at(0).extensions(); ext != nil {
		paths[path] = ext
	}
	_, named := u.shape.typ.(*types.Named)
	if named && u.shape.form == structForm || slices.Contains(above, u.shape) {
		return
	}
	above = append(slices.Clip(above), u.shape)
	for _, f := range u.shape.fields {
		collect(f.use, path+"/properties/"+escape(f.name), paths, above)
	}
	if inner := u.inner(&problems{}); inner != nil {
		step := "/items"
		if u.shape.form == mapForm {
			step = "/additionalProperties"
		}
		collect(inner, path+step, paths, above)
	}
}
