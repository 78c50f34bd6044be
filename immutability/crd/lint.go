package crd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Lint is the part of the lint of CRDs that judges locks. It links no CEL, so that a program that reads locks stays
// small; lint.CRD of package crd/lint calls it, judges CEL rules too, and so finds what the command fieldlock lint
// finds. A CRD with CEL rules, or whose oldCRD has some, gets a note, not-looked-at, which says that nobody has looked
// at them.
//
// It returns the errors and warnings about the locks of newCRD: those of immutability.Lint for each version, and those
// of the versions together:
//
//   - version-unlocked: served versions lock different fields, so that an update through one gets around the other.
//   - version-default: a locked field has a default in one served version and none, or another, in the next.
//   - not-structural: a schema that no API server could prune and default by.
//   - status-lock (error): a lock on or below the status that no first write of the status passes.
//
// Unless oldCRD is nil, newCRD is an update of it. Lint then finds what such an update may not do:
//
//   - other-crd (error): the two define different groups or kinds.
//   - lock-dropped (error): a version no longer locks what it did, or is no longer served, and no served version has its
//     locks.
//   - v1beta1-lock (error): a CRD of v1beta1 has locks that oldCRD does not have; without oldCRD, any locks.
//
// Errors come first, then warnings, then the note, each in the order of the file. Nil when there is nothing to say. If
// newCRD is nil or was not read, the only finding is an error, not-looked-at; an oldCRD that was not read counts as
// nil.
func Lint(newCRD, oldCRD *CRD, opts ...immutability.Option) []Finding {
	if newCRD.undefined() {
		return []Finding{about(immutability.SeverityError, finding.NotLookedAt, errNoCRD.Error())}
	}
	if oldCRD.undefined() {
		oldCRD = nil
	}
	newCRD, oldCRD = newCRD.with(opts), oldCRD.with(opts)
	l := linter{crd: newCRD}
	for _, v := range newCRD.Versions {
		tree := schema.Read(v.Schema, nil)
		for _, f := range immutability.Lint(v.named(), opts...) {
			l.add(v, aboutSchema(f, tree))
		}
		if status := tree.Root.Property("status"); v.HasStatus && status != nil {
			l.statusLocks(v, status, status.Default(), status.Default() != nil)
		}
		if path, why := rawschema.NotStructural(v.raw); why != "" && !newCRD.PreserveUnknownFields {
			l.report(v, immutability.SeverityWarning, finding.NotStructural, []string{path},
				"the schema is not structural, and an API server refuses the CRD: %s", why)
		}
	}
	several := served(newCRD) > 1
	if several || oldCRD != nil || newCRD.APIVersion == v1beta1 {
		for _, v := range newCRD.Versions {
			l.versions = append(l.versions, newIndex(v))
		}
	}
	if several {
		l.unlocked()
		l.defaults()
	}
	l.update(oldCRD)
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(
			strings.Compare(string(a.Severity), string(b.Severity)),
			cmp.Compare(a.Position.Line, b.Position.Line),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Message, b.Message),
		)
	})
	if newCRD.hasRules() || oldCRD != nil && oldCRD.hasRules() {
		l.add(nil, about(immutability.SeverityNote, finding.NotLookedAt, rulesUnseen))
	}
	return l.findings
}

// rulesUnseen is what Lint says of a CRD with CEL rules, so that nobody takes its silence for that of the whole lint.
const rulesUnseen = "crd.Lint judges locks alone, and this CRD has CEL rules: call lint.CRD of package " +
	"immutability/crd/lint, which judges both"

// hasRules reports whether a schema of c has CEL rules.
func (c *CRD) hasRules() bool {
	return c.anywhere(func(node map[string]any) bool {
		rules, _ := node[schema.KeyValidations].([]any)
		return len(rules) > 0
	})
}

// statusLocks reports the locks at a location in the status and below it that no first write of the status passes. An
// object is created without its status, so at first the location has the value there that comes from defaults, or none:
// what is absent then in a container that is there can never be set, and a default of a whole status that is locked
// stays.
func (l *linter) statusLocks(v *Version, at *schema.Location, value any, there bool) {
	refused := at.Marks.Refuses()
	why, remedy := "", fmt.Sprintf("use %s: [%s, %s], which lets it be set once",
		schema.KeyUpdate, schema.NoUnset, schema.NoModify)
	switch isStatus := at.Parent().In == nil; {
	case !there && refused.Has(schema.Set):
		why = "it is absent then, and the lock refuses to set it"
	case !there && isStatus && refused.Has(schema.AddItem) && len(at.Properties) == 0:
		why, remedy = "it has no keys then, and the lock refuses to add some", "use "+schema.KeyAdditionOnly
	case there && isStatus && refused.Has(schema.Modify):
		why, remedy = "it has its default then, and the lock refuses another value", "remove the default, or lock "+
			"fields below the status"
	}
	if why != "" {
		l.report(v, immutability.SeverityError, finding.StatusLock, []string{at.Path.Pointer()},
			"the lock on %s makes the first write of the status impossible: an object is created without its status, "+
				"so %s; %s",
			at.Path, why, remedy)
	}
	members, ok := value.(map[string]any)
	if !ok || why != "" {
		return
	}
	for child := range at.Children {
		if child.Role == schema.Property {
			below, has := members[child.Name]
			if !has && child.Default() != nil {
				below, has = child.Default(), true
			}
			l.statusLocks(v, child, below, has)
		}
	}
}

// served counts the served versions.
func served(c *CRD) int {
	n := 0
	for _, v := range c.Versions {
		if v.Served {
			n++
		}
	}
	return n
}

// aboutSchema returns what immutability.Lint has found in a schema, with the fix in Go.
func aboutSchema(f immutability.Finding, tree *schema.Tree) Finding {
	out := Finding{Finding: f}
	if f.Fix != nil {
		out.Fix = &Fix{Text: f.Fix.Text, SchemaPath: f.Fix.SchemaPath,
			Markers: lockMarkers(f.Rule, tree.Find(f.Fix.SchemaPath))}
	}
	return out
}

// lockMarkers returns a change of the locks of l in Go, nil where another field needs a marker too.
func lockMarkers(id string, l *schema.Location) []string {
	if id != finding.RenamableKey {
		return []string{"// +k8s:update=" + string(schema.NoUnset)}
	}
	for _, name := range l.Marks.ListMapKeys {
		if field := l.KeyField(name); field != nil && !field.Marks.Has(schema.Immutable) {
			return nil
		}
	}
	return []string{"// +immutable=keys"}
}
