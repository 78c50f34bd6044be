package convert

import (
	"cmp"
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Fix adds the rules of a fix for a finding in one version of a CRD. Rules that the schema already has are left out.
func (f *File) Fix(name, version string, fix *immutability.Fix) error {
	version = cmp.Or(fix.Version, version)
	return f.Change(name, version, []celrule.Change{{SchemaPath: fix.SchemaPath, AddRules: f.missing(name, version, fix)}})
}

// missing returns the rules of a fix that the node does not have.
func (f *File) missing(name, version string, fix *immutability.Fix) []map[string]any {
	i := slices.IndexFunc(f.crds, func(d document) bool { return d.Name == name })
	if i < 0 {
		return fix.AddRules
	}
	node, _ := rawschema.Node(f.crds[i].schema(version), fix.SchemaPath)
	present, _ := node[schema.KeyValidations].([]any)
	var missing []map[string]any
	for _, add := range fix.AddRules {
		if !slices.ContainsFunc(present, func(r any) bool {
			have, _ := r.(map[string]any)
			return have["rule"] == add["rule"]
		}) {
			missing = append(missing, add)
		}
	}
	return missing
}
