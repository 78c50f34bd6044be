package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Warnings and notes about a check as a whole. For example, a change of objects whose CRD has no lock at all is
// accepted, and a warning names the CRD.

// caveats returns warnings about a check that looks cleaner than it is. CRDs of the tree that the change does not touch
// are not its subject.
func (c *checker) caveats(pairs []pair) []string {
	switch {
	case c.report.Checked == 0 && len(c.report.Errors)+len(c.report.Excluded)+c.report.Unchanged > 0:
		return nil
	case c.report.Checked == 0:
		return c.nothingChecked()
	}
	var list []string
	if c.report.Updated == 0 && c.report.Unchanged == 0 {
		which := "object"
		if c.report.Skipped > 0 {
			which = "object that a schema covers"
		}
		list = append(list, fmt.Sprintf("nothing was compared: no %s is in both OLD and NEW (%d created, %d deleted)",
			which, c.report.Created, c.report.Deleted))
	}
	seen := map[*crd.Version]bool{}
	var unlocked []string
	for _, p := range pairs {
		if p.old == nil || p.new == nil || p.unchanged() {
			continue
		}
		_, locked := c.kinds.operatorOf(p.new)
		name := ""
		for _, d := range c.kinds.byKind[groupKind{p.new.Group, p.new.Kind}] {
			for _, v := range []*crd.Version{d.version(p.old.APIVersion), d.version(p.new.APIVersion)} {
				if v == nil {
					continue
				}
				if !seen[v] {
					list = append(list, misspelled(v)...)
				}
				seen[v] = true
				locked = locked || !d.unlocked(v) || c.guarded(d, p) ||
					c.kinds.operators != nil && d.ofConfigConnector()
				if changed := d.onlyOld || !d.inOld; changed || c.given(d.crd) {
					name = fmt.Sprintf("version %s of %s", v.Name, d.crd.Name)
				}
			}
		}
		if !locked && name != "" && !slices.Contains(unlocked, name) {
			unlocked = append(unlocked, name)
		}
	}
	if len(unlocked) > 0 {
		has, its := "has", "its"
		if len(unlocked) > 1 {
			has, its = "have", "their"
		}
		list = append(list, fmt.Sprintf("%s %s no locks and no transition rules, so %s objects may change freely; "+
			"a CRD that was read from a cluster has only the locks in its annotation %s",
			strings.Join(unlocked, ", "), has, its, crd.AnnotationKey))
	}
	return list
}

// nothingChecked returns the warning for a check that no object was part of.
func (c *checker) nothingChecked() []string {
	var kinds []string
	for _, k := range c.report.SkippedKinds {
		kinds = append(kinds, k.Kind)
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	switch {
	case len(kinds) == 0:
		return []string{"nothing was checked: OLD and NEW hold no Kubernetes object"}
	case len(kinds) == 1 && kinds[0] == "CustomResourceDefinition":
		return []string{"nothing was checked: OLD and NEW hold CRDs only; to compare two CRDs, " + c.Advice.LintCRDs}
	}
	return []string{fmt.Sprintf("nothing was checked: no schema covers any of the objects; give the CRDs of %s %s",
		Enumerate(kinds), c.Advice.WithSchema)}
}

// unlocked reports whether the version has neither locks nor transition rules.
func (d *customKind) unlocked(v *crd.Version) bool { return d.versions[v].Empty() }

// misspelled lists the keys in a schema that look like locks and are not: without lint, a misspelled lock would pass
// for one that holds.
func misspelled(v *crd.Version) []string {
	var list []string
	for _, f := range immutability.Lint(v.Schema) {
		if f.Rule == finding.UnknownKey {
			list = append(list, fmt.Sprintf("%s:%d: %s: %s", v.CRD().File, v.Position(f.SchemaPath).Line, f.Path,
				f.Message))
		}
	}
	return list
}

// maxRepeatedKeys bounds the warnings about repeated keys.
const maxRepeatedKeys = 20

// repeatedKeys returns warnings about the keys that a mapping of NEW has twice, with different values. What OLD has
// with the same values, in any file, is not new.
func repeatedKeys(news, olds []*yamldoc.Repeat) []string {
	known := map[string][]*yamldoc.Repeat{}
	for _, r := range olds {
		known[r.Key] = append(known[r.Key], r)
	}
	var list []string
	more := 0
	for _, r := range news {
		if i := slices.IndexFunc(known[r.Key], r.Same); i >= 0 {
			known[r.Key] = slices.Delete(known[r.Key], i, i+1)
		} else if len(list) < maxRepeatedKeys {
			list = append(list, r.String())
		} else {
			more++
		}
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("%d more keys are there twice in NEW", more))
	}
	return list
}

// Enumerate lists names for a message, the first few of them.
func Enumerate(names []string) string {
	const limit = 5
	if more := len(names) - limit; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), more)
	}
	return strings.Join(names, ", ")
}

// hiddenObjects adds what is to know about objects that NEW has only in directories whose name starts with a dot, or in
// files that the settings exclude. They are not part of NEW, so they count as deleted; but kubectl apply -R reads such
// files, and other tools may.
func (c *checker) hiddenObjects(hidden func(names []string) []manifest.File, pairs []pair) {
	var names []string
	for _, p := range pairs {
		if p.new == nil {
			names = append(names, p.old.Name)
		}
	}
	if hidden == nil || len(names) == 0 {
		return
	}
	found := map[manifest.ID]*manifest.Object{}
	for _, o := range manifest.Objects(hidden(names)).Objects {
		if kind := c.kinds.builtinOf(o); kind != nil {
			o.Group = kind.Group // as identify does
		}
		if o.Invalid == nil && found[o.ID] == nil {
			found[o.ID] = o
		}
	}
	for _, p := range pairs {
		if p.new != nil || found[p.old.ID] == nil || p.old.Generated() {
			continue
		}
		o := found[p.old.ID]
		hint := "NEW has the object only in a directory whose name starts with a dot, which check does not read"
		if !manifest.IsHidden(o.Path) {
			hint = "NEW has the object only in a file that exclude in the settings leaves out, or that is expected " +
				"output of tests; check does not read it"
		}
		v, err := c.judge(pair{new: o, old: p.old})
		switch {
		case err != nil:
			c.report.Unknown = append(c.report.Unknown,
				result.Remark{Subject: subject(o, nil), Message: fmt.Sprintf("%s: %v", hint, err)})
		case len(v.Violations) > 0:
			c.report.Unknown = append(c.report.Unknown,
				result.Remark{Subject: subject(o, v.Violations[0].Steps), Path: v.Violations[0].Path,
					Message: fmt.Sprintf(
						"%s; kubectl apply -R does, and the update is refused: %s", hint, summary(&v.Violations[0]))})
		default:
			c.report.Notes = append(c.report.Notes,
				result.Remark{Subject: subject(o, nil),
					Message: hint + ", so it counts as deleted; kubectl apply -R does"})
		}
	}
}

// overridden adds a note about a file whose change would be refused as it is written, while the units that read the
// file print the old value: a change can add a unit that sets a locked field to its current value. The file may still
// be applied without the unit.
func (c *checker) overridden(in *Input, pairs []pair) {
	objects := func(files []manifest.File) []*manifest.Object {
		list := manifest.ObjectsWithoutCRDs(files).Objects
		return slices.DeleteFunc(list, func(o *manifest.Object) bool {
			c.kinds.identify(o)
			return o.Invalid != nil || len(c.kinds.definitionsOf(o)) == 0
		})
	}
	type kind struct{ unit, group, name string }
	printed := map[kind][]pair{}
	for _, p := range pairs {
		o := cmp.Or(p.new, p.old)
		of := kind{o.Unit, o.Group, o.Kind}
		printed[of] = append(printed[of], p)
	}
	written, _ := pairUp(objects(in.NewWritten), objects(in.OldWritten), c.kinds.partialTest())
	for _, p := range written {
		if p.new == nil || p.old == nil {
			continue
		}
		v, err := c.judge(p)
		if err != nil {
			continue // as in what the units print
		}
		readers := in.Readers[p.new.Path]
		if len(readers) > 0 && strings.Contains(p.new.Name, "${") {
			continue // no API server takes such a name, so nobody applies the file as it is written
		}
		for i := range v.Violations {
			b := &v.Violations[i]
			reaches := func(unit string) bool {
				return slices.ContainsFunc(printed[kind{unit, p.new.Group, p.new.Kind}],
					func(q pair) bool { return q.changes(p.new, b.Steps) || q.carries(p, b.Steps) })
			}
			if strings.Contains(fmt.Sprint(b.Old.Data, b.New.Data), "${") || slices.ContainsFunc(readers, reaches) {
				continue
			}
			remark := result.Remark{Subject: subject(p.new, b.Steps), Path: b.Path,
				Message: "no unit that can be rendered reads the file; applied as it is written, " +
					"the change is refused: " + summary(b)}
			if len(readers) == 0 {
				if failing := in.Failing[p.new.Path]; len(failing) > 0 {
					remark.Message = fmt.Sprintf("%s cannot be rendered; applied as it is written, the change is "+
						"refused: %s", Enumerate(failing), summary(b))
				}
				c.report.Unknown = append(c.report.Unknown, remark)
				break
			}
			remark.Message = fmt.Sprintf("the change does not reach the objects of %s; if the file is applied as it "+
				"is written, the change is refused: %s", Enumerate(readers), summary(b))
			c.report.Notes = append(c.report.Notes, remark)
			break
		}
	}
}

// carries reports whether a pair has the change of a written object at a path: under another name, as a replacement of
// kustomize can set it.
func (p pair) carries(written pair, at fieldpath.Path) bool {
	return p.new != nil && p.old != nil && jsonvalue.Equal(valueAt(p.new, at), valueAt(written.new, at)) &&
		jsonvalue.Equal(valueAt(p.old, at), valueAt(written.old, at))
}

// valueAt returns the value of an object at a path, nil for none.
func valueAt(o *manifest.Object, at fieldpath.Path) any {
	return fieldpath.Value(o.Value(), at.Reach(o.Value())...)
}

// changes reports whether the object that a unit prints for a written object changes with it: its value at a path, or
// its name.
func (p pair) changes(written *manifest.Object, at fieldpath.Path) bool {
	if !strings.Contains(cmp.Or(p.new, p.old).Name, written.Name) {
		return false
	}
	return p.new == nil || p.old == nil || !jsonvalue.Equal(valueAt(p.new, at), valueAt(p.old, at))
}
