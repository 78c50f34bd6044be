package markers

import (
	"go/ast"
	"go/constant"
	"go/token"
	"strings"

	"golang.org/x/tools/go/packages"
)

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
