package builtin

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Check predicts what the API server says when newObj is applied over oldObj. Both are decoded manifests, as written:
// Check prepares them as the server does. They stay as they are.
//
// Cost: O(object); the first call compiles the kind's rows, in milliseconds.
func (k *Kind) Check(newObj, oldObj map[string]any) Verdict { return k.check(newObj, oldObj, false) }

// CheckLive is Check for an old object as a cluster has it: its status counts.
func (k *Kind) CheckLive(newObj, oldObj map[string]any) Verdict { return k.check(newObj, oldObj, true) }

func (k *Kind) check(newObj, oldObj map[string]any, live bool) Verdict {
	verdict := Identity(newObj, oldObj)
	if len(k.source.Rows) == 0 {
		return verdict
	}
	if err := k.compile(); err != nil {
		// The data is part of the program, and a test compiles all of it.
		panic(err)
	}
	u := k.update(newObj, oldObj)
	u.live = live
	failed, err := k.rules.evaluate(u.applied, u.stored)
	if err != nil {
		verdict.Unknown = append(verdict.Unknown, Remark{Message: "a rule could not be run: " + err.Error()})
		return verdict
	}
	name := text(newObj, "metadata", "name")
	for _, c := range k.checks {
		if !c.row.applies(name) {
			continue
		}
		for _, v := range c.run(u, failed) {
			verdict.add(&c.row, v)
		}
	}
	k.finish(&verdict, newObj, oldObj)
	return verdict
}

// Identity is the part of a verdict that objects of all kinds share, custom resources too: the server refuses a manifest
// that names another uid than the stored object has, an apply with 422 and a PUT with 409. What uid the object has is known
// if the old manifest names one. oldObj is nil for a new object: a server-side apply of it is refused with 409, as no object
// has the uid, and a client-side apply gives it another one.
func Identity(newObj, oldObj map[string]any) Verdict {
	is, was := text(newObj, "metadata", "uid"), text(oldObj, "metadata", "uid")
	switch {
	case is == "" || is == was:
		return Verdict{}
	case oldObj == nil:
		return Verdict{Unknown: []Remark{{uidRow.Path, "a server-side apply refuses to create an object with a uid, a client-side apply ignores the uid; leave it out"}}}
	case was == "":
		return Verdict{Unknown: []Remark{{uidRow.Path, "the server refuses any uid but the object's own; leave it out"}}}
	}
	v := Violation{Path: uidRow.Path, Message: uidRow.Message, Cause: uidRow.Cause, row: &uidRow}
	v.Lock, v.Old, v.HasOld, v.New, v.HasNew = immutability.Immutable, was, true, is, true
	return Verdict{Violations: []Violation{v}}
}

// Edit returns a change to the manifest that makes a replacement unnecessary, "" where there is none.
func (v *Violation) Edit() string {
	if v.row == nil {
		return ""
	}
	return v.row.Edit
}

// uidRow is the lock of every kind's uid. Deleting and creating the object does not help.
var uidRow = Row{
	Path: "metadata.uid", Lock: string(immutability.Immutable), Cause: "metadata.uid",
	Message: defaultText,
	Edit:    "in the manifest, leave metadata.uid out: the server gives each object its own",
}

// finish sorts the verdict, shows values as the manifests have them, and drops what is said twice.
func (k *Kind) finish(v *Verdict, newObj, oldObj map[string]any) {
	if k.moved(newObj, oldObj) {
		v.withdraw(oldObj)
	}
	slices.SortStableFunc(v.Violations, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) })
	v.Violations = slices.CompactFunc(v.Violations, func(a, b Violation) bool { return a.Path == b.Path && a.Message == b.Message })
	v.Unknown = slices.DeleteFunc(v.Unknown, func(r Remark) bool {
		return slices.ContainsFunc(v.Violations, func(found Violation) bool { return yamldoc.Within(r.Path, found.Path) })
	})
	if len(v.Violations) > 0 {
		v.Notes = nil // nothing of a refused change is accepted
	}
	for i := range v.Violations {
		found := &v.Violations[i]
		if jsonvalue.Equal(found.New, found.Old) && !names(newObj, found.Path) && !names(oldObj, found.Path) {
			// The value is the server's: a rule refuses it together with another field.
			found.New, found.HasNew, found.Old, found.HasOld = nil, false, nil, false
		}
		found.New = written(newObj, found.Path, found.New)
		found.Old = written(oldObj, found.Path, found.Old)
		for j := range found.Differences {
			d := &found.Differences[j]
			d.New = written(newObj, d.Path.String(), d.New)
			d.Old = written(oldObj, d.Path.String(), d.Old)
		}
	}
}

// names reports whether a manifest has a field.
func names(manifest map[string]any, path string) bool {
	_, ok := at(manifest, path)
	return ok
}

// written returns the value that a manifest has at a path, where it says the same as the stored value: "5Gi" for
// "5368709120".
func written(manifest map[string]any, path string, stored any) any {
	raw, ok := at(manifest, path)
	if !ok || raw == nil || stored == nil {
		return stored
	}
	switch stored.(type) {
	case map[string]any, []any:
		return raw
	}
	if jsonvalue.Equal(raw, stored) || jsonvalue.Equal(quantity(raw), stored) {
		return raw
	}
	return stored
}

// moved reports whether the two objects have different apiVersions, one of which no known minor serves.
func (k *Kind) moved(newObj, oldObj map[string]any) bool {
	is, was := text(newObj, "apiVersion"), text(oldObj, "apiVersion")
	return is != was && (slices.Contains(k.source.Formerly, is) || slices.Contains(k.source.Formerly, was))
}
