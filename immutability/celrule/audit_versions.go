package celrule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// LintVersions names the transition rules that a write through another served version gets around. It takes the schemas
// of the served versions of one CRD by name, and returns the findings of each version that lacks rules: one for each
// version that has them, with the fields behind it. Fields that a version does not have, or has at another schema path,
// are not compared.
func LintVersions(served map[string]*spec.Schema) map[string][]immutability.Finding {
	read := map[string]*versionRules{}
	for name, s := range served {
		read[name] = newVersionRules(s)
	}
	findings := map[string][]immutability.Finding{}
	for _, free := range slices.Sorted(maps.Keys(served)) {
		for _, strict := range slices.Sorted(maps.Keys(served)) {
			paths, fields := read[strict].missingIn(read[free])
			if len(fields) == 0 {
				continue
			}
			findings[free] = append(findings[free], immutability.Finding{
				Path: at(read[free], paths[0]).path(), SchemaPath: paths[0], Severity: immutability.SeverityWarning, Rule: rule.CELVersionWithoutRule, Fields: fields,
				Message: fmt.Sprintf("a write through version %s gets around the CEL transition rules that version %s has on %s: copy them to version %s, or stop serving it",
					free, strict, strings.Join(fields, ", "), free),
			})
		}
	}
	return findings
}

// versionRules is what the transition rules of one version say.
type versionRules struct {
	*importer
	byPath map[string]*place
}

func newVersionRules(s *spec.Schema) *versionRules {
	v := &versionRules{newImporter(s, true), map[string]*place{}}
	v.settle()
	for _, p := range v.places {
		v.byPath[p.schemaPath()] = p
	}
	return v
}

func at(v *versionRules, schemaPath string) *place { return v.byPath[schemaPath] }

// missingIn lists the schema paths, and the paths for people, of rules of v that other lacks although it has the field.
func (v *versionRules) missingIn(other *versionRules) (schemaPaths, fields []string) {
	missing := map[string]string{}
	note := func(p *place) {
		if other.byPath[p.schemaPath()] != nil {
			missing[p.schemaPath()] = p.displayPath()
		}
	}
	for _, rd := range v.rules {
		if !rd.done() {
			if there := other.byPath[rd.rule.SchemaPath]; there != nil && !slices.ContainsFunc(there.rules, rd.rule.same) {
				note(rd.rule.at)
			}
			continue
		}
		for _, p := range rd.parts {
			for _, w := range p.locks {
				if place := w.at(p.chain); !other.says(place.schemaPath(), w.word) {
					note(place)
				}
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(missing)) {
		schemaPaths = append(schemaPaths, path)
		fields = append(fields, missing[path])
	}
	slices.Sort(fields)
	return schemaPaths, slices.Compact(fields)
}

func (r *Rule) same(other Rule) bool {
	return strings.TrimSpace(r.Text) == strings.TrimSpace(other.Text)
}

// says reports whether rules or locks of v say word at a schema path, there or for a parent as a whole.
func (v *versionRules) says(schemaPath string, w word) bool {
	p := v.byPath[schemaPath]
	if p == nil {
		return true
	}
	if slices.Contains(v.accepted[p], w) || w == valueFixed && slices.Contains(v.accepted[p], extension.NoModify) ||
		w == extension.NoModify && slices.Contains(v.accepted[p], valueFixed) {
		return true
	}
	for p = p.parent; p != nil; p = p.parent {
		if slices.Contains(v.accepted[p], extension.NoModify) {
			return true
		}
	}
	return slices.Contains([]word{extension.NoSet, extension.NoUnset}, w) && v.byPath[schemaPath].present()
}
