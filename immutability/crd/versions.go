package crd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/token"
	"iter"
	"maps"
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
		return []Finding{{Severity: immutability.SeverityError, Rule: finding.NotLookedAt, Message: errNoCRD.Error()}}
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
		l.add(nil, Finding{Severity: immutability.SeverityNote, Rule: finding.NotLookedAt, Message: rulesUnseen})
	}
	return l.findings
}

// rulesUnseen is what Lint says of a CRD with CEL rules, so that nobody takes its silence for that of the whole lint.
const rulesUnseen = "crd.Lint judges locks alone, and this CRD has CEL rules: call lint.CRD of package immutability/crd/lint, which judges both"

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
	why, remedy := "", fmt.Sprintf("use %s: [%s, %s], which lets it be set once", schema.KeyUpdate, schema.NoUnset, schema.NoModify)
	switch isStatus := at.Parent().In == nil; {
	case !there && refused.Has(schema.Set):
		why = "it is absent then, and the lock refuses to set it"
	case !there && isStatus && refused.Has(schema.AddItem) && len(at.Properties) == 0:
		why, remedy = "it has no keys then, and the lock refuses to add some", "use "+schema.KeyAdditionOnly
	case there && isStatus && refused.Has(schema.Modify):
		why, remedy = "it has its default then, and the lock refuses another value", "remove the default, or lock fields below the status"
	}
	if why != "" {
		l.report(v, immutability.SeverityError, finding.StatusLock, []string{at.Path.Pointer()},
			"the lock on %s makes the first write of the status impossible: an object is created without its status, so %s; %s",
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

// Finding is one thing that lint found in a CRD, with its place in the file.
type Finding struct {
	CRD      string         // name of the CustomResourceDefinition
	Version  string         // of the schema that SchemaPath leads through; "" where the CRD as a whole is meant
	Position token.Position // in the file of the CRD; zero for a CRD that comes from no file

	// These are as in immutability.Finding.
	Path, SchemaPath string
	Severity         immutability.Severity
	Rule, Message    string
	Fields           []string

	// Fix is a change of the CRD that closes a hole, nil if none is known.
	Fix *Fix
}

// Fix is a change of a CRD that makes a finding go away.
type Fix struct {
	// Text is the change as YAML, to be added at SchemaPath; its first line is a comment that names the field.
	Text string
	// Version is the version whose schema changes; "" means the version of the finding.
	Version string
	// SchemaPath is the JSON pointer of the node that changes, and AddRules what is appended to its
	// x-kubernetes-validations. A change of locks has no AddRules.
	SchemaPath string
	AddRules   []map[string]any
	// Markers are the change as lines of Go for the type that the CRD is made from: for AddRules markers of
	// controller-gen, for locks those of package markers.
	Markers []string
	// Refuses says what will be refused from now on: "an update that removes spec.backup, such as from … to …". It is
	// "" for a change of locks.
	Refuses string
	// Safe reports whether a tool may add the rules without asking the author: every object that is valid today stays
	// valid, and nothing in the schema hints that the updates that will be refused are meant. It is false for a change
	// of locks.
	Safe bool
}

// aboutSchema returns what immutability.Lint has found in a schema, with the fix in Go.
func aboutSchema(f immutability.Finding, tree *schema.Tree) Finding {
	out := Finding{
		Path: f.Path, SchemaPath: f.SchemaPath, Severity: f.Severity, Rule: f.Rule, Message: f.Message, Fields: f.Fields,
	}
	if f.Fix != nil {
		out.Fix = &Fix{Text: f.Fix.Text, SchemaPath: f.Fix.SchemaPath, Markers: lockMarkers(f.Rule, tree.Find(f.Fix.SchemaPath))}
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

// linter collects the findings of one CRD.
type linter struct {
	crd      *CRD
	versions []*index
	findings []Finding
}

// add keeps a finding of v, or with nil of the whole CRD.
func (l *linter) add(v *Version, f Finding) {
	f.CRD = l.crd.Name
	if v == nil {
		f.Position = l.crd.Position()
	} else {
		f.Version = v.Name
		f.Position = v.Position(f.SchemaPath)
	}
	l.findings = append(l.findings, f)
}

// report adds a finding about the nodes of v at schemaPaths, at the node that they have in common.
func (l *linter) report(v *Version, severity immutability.Severity, rule string, schemaPaths []string, format string, args ...any) {
	at := common(schemaPaths)
	l.add(v, Finding{
		Path: schema.Readable(at), SchemaPath: at, Severity: severity, Rule: rule, Message: fmt.Sprintf(format, args...), Fields: fieldsOf(schemaPaths),
	})
}

// fieldsOf returns the paths for people, sorted.
func fieldsOf(schemaPaths []string) []string {
	fields := make([]string, len(schemaPaths))
	for i, path := range schemaPaths {
		fields[i] = schema.Readable(path)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// update compares with the CRD before the update, or with none.
func (l *linter) update(oldCRD *CRD) {
	var before []*index
	if oldCRD != nil {
		if oldCRD.Group != l.crd.Group || oldCRD.Kind != l.crd.Kind {
			l.add(nil, Finding{Severity: immutability.SeverityError, Rule: finding.OtherCRD, Message: fmt.Sprintf(
				"it defines %s of %s, and the old CRD %s of %s: an update changes neither; compare a CRD with its own old version",
				l.crd.Kind, l.crd.Group, oldCRD.Kind, oldCRD.Group)})
			return
		}
		for _, v := range oldCRD.Versions {
			before = append(before, newIndex(v))
		}
	}
	for _, v := range l.versions {
		l.gained(v, before)
		l.dropped(v, before)
	}
	for _, old := range before {
		l.gone(old, before)
	}
}

// gained reports the locks that a CRD of v1beta1 gains: the proposal allows it only those that it had before.
func (l *linter) gained(v *index, before []*index) {
	if l.crd.APIVersion != v1beta1 {
		return
	}
	var paths []string
	for _, path := range v.locked() {
		if !slices.ContainsFunc(before, func(old *index) bool { return old.refuses(path, v.nodes[path].Marks.Refuses()) }) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		l.report(v.Version, immutability.SeverityError, finding.V1beta1Lock, paths,
			"a %s of %s cannot gain locks: %s; move it to %s, where every schema is structural", kindCRD, v1beta1, finding.Enumerate(fieldsOf(paths)), v1)
	}
}

// dropped reports the locks that a version loses: existing objects were written under them.
func (l *linter) dropped(v *index, before []*index) {
	for _, old := range before {
		if old.Name != v.Name {
			continue
		}
		var paths []string
		for _, path := range old.locked() {
			if !v.refuses(path, old.nodes[path].Marks.Refuses()) {
				paths = append(paths, path)
			}
		}
		if len(paths) > 0 {
			l.report(v.Version, immutability.SeverityError, finding.LockDropped, paths,
				"the update drops or weakens locks of version %s: %s; clients rely on the values to stay", v.Name, finding.Enumerate(fieldsOf(paths)))
		}
	}
}

// gone reports the locks of a version that is no longer served, because it has gone, has a new name, or is switched
// off: those that no served version has. An update goes through a version that leaves the field free then, or that
// loses its value. With a webhook, a field that no served version has may have moved.
func (l *linter) gone(old *index, before []*index) {
	var served []*index
	for _, v := range l.versions {
		if v.Served {
			served = append(served, v)
		}
	}
	if !old.Served || len(served) == 0 || slices.ContainsFunc(served, func(v *index) bool { return v.Name == old.Name }) {
		return
	}
	paths := map[*index][]string{}
	for _, path := range old.locked() {
		changes := old.nodes[path].Marks.Refuses()
		if slices.ContainsFunc(served, func(v *index) bool { return v.refuses(path, changes) }) || l.alreadyDropped(path, changes, before) {
			continue
		}
		has := func(v *index) bool { return v.nodes[path] != nil || v.preserved(path) }
		if i := slices.IndexFunc(served, has); i >= 0 {
			paths[served[i]] = append(paths[served[i]], path)
		} else if old.Storage && l.crd.Conversion == ConversionNone {
			paths[served[0]] = append(paths[served[0]], path)
		}
	}
	for _, v := range served {
		if len(paths[v]) > 0 {
			l.report(v.Version, immutability.SeverityError, finding.LockDropped, paths[v],
				"the update stops serving version %s, and no served version has its locks: %s; clients rely on the values to stay",
				old.Name, finding.Enumerate(fieldsOf(paths[v])))
		}
	}
}

// alreadyDropped reports whether a version of the update loses a lock that it had itself, which is a finding of its
// own.
func (l *linter) alreadyDropped(path string, changes schema.Change, before []*index) bool {
	return slices.ContainsFunc(before, func(old *index) bool {
		return old.refuses(path, changes) && slices.ContainsFunc(l.versions, func(v *index) bool { return v.Name == old.Name && !v.refuses(path, changes) })
	})
}

// unlocked warns of each served version that leaves free what another served version locks. A field that a version
// does not have counts as free where an update through the version loses or keeps it unseen: without conversion, and
// where unknown fields are preserved.
func (l *linter) unlocked() {
	for i, free := range l.versions {
		var paths, lockers []string
		for j, locked := range l.versions {
			if i == j || !free.Served || !locked.Served {
				continue
			}
			before := len(paths)
			for _, path := range locked.locked() {
				_, exists := free.nodes[path]
				if !free.refuses(path, locked.nodes[path].Marks.Refuses()) && (exists || free.preserved(path) || l.crd.Conversion == ConversionNone) {
					paths = append(paths, path)
				}
			}
			if len(paths) > before {
				lockers = append(lockers, locked.Name)
			}
		}
		if len(paths) == 0 {
			continue
		}
		l.report(free.Version, immutability.SeverityWarning, finding.VersionUnlocked, paths,
			"version %s leaves free what is locked in %s, so an update through %s gets around the locks: %s; put the same locks in every served version",
			free.Name, strings.Join(lockers, " and "), free.Name, finding.Enumerate(fieldsOf(paths)))
	}
}

// defaults warns of locked fields that the served versions default differently: an object that leaves them out then
// means one value through one version and another through the next, and comparing both sees no change, or a false one.
func (l *linter) defaults() {
	for i, first := range l.versions {
		if !first.Served {
			continue
		}
		var paths []string
		var example string
		for _, path := range slices.Sorted(maps.Keys(first.nodes)) {
			if l.seenBefore(i, path) {
				continue // compared when the version that has it first was
			}
			values := l.defaultsAt(l.versions[i:], path)
			if len(values) < 2 {
				continue
			}
			if paths = append(paths, path); example == "" {
				example = schema.Readable(path) + " is " + strings.Join(values, ", ")
			}
		}
		if len(paths) > 0 {
			l.report(first.Version, immutability.SeverityWarning, finding.VersionDefault, paths,
				"the served versions have different defaults for locked fields: %s (the default of %s); "+
					"an object without the value then changes with the version that it is written through: give every served version the same default",
				finding.Enumerate(fieldsOf(paths)), example)
		}
	}
}

// defaultsAt returns the different defaults of a locked field, each with the served versions that have it.
func (l *linter) defaultsAt(versions []*index, path string) []string {
	var values []string
	names := map[string][]string{}
	for _, v := range versions {
		node, ok := v.nodes[path]
		if !ok || !v.Served || !v.guards(path) {
			continue
		}
		value := "none"
		if node.Default() != nil {
			value = encode(node.Default())
		}
		if names[value] == nil {
			values = append(values, value)
		}
		names[value] = append(names[value], v.Name)
	}
	for i, value := range values {
		values[i] = value + " in " + strings.Join(names[value], ", ")
	}
	return values
}

// encode writes a value as JSON for a message.
func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// seenBefore reports whether a served version before the i-th has a guarded node at path.
func (l *linter) seenBefore(i int, path string) bool {
	return slices.ContainsFunc(l.versions[:i], func(v *index) bool {
		_, ok := v.nodes[path]
		return ok && v.Served && v.guards(path)
	})
}

// index has the locations of a version's schema by schema path, to compare versions.
type index struct {
	*Version
	nodes map[string]*schema.Location
}

// newIndex reads the schema of v. Locks that cannot be read are left out: immutability.Lint reports those.
func newIndex(v *Version) *index {
	x := &index{v, make(map[string]*schema.Location)}
	for _, l := range schema.Read(v.Schema, nil).All {
		x.nodes[l.Path.Pointer()] = l
	}
	return x
}

// locked returns the schema paths of the locks, sorted.
func (x *index) locked() []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(x.nodes)) {
		if x.nodes[path].Marks.Locked() {
			paths = append(paths, path)
		}
	}
	return paths
}

// above yields path, its parent, and so on up to the root.
func above(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(path) && path != "" {
			path = parent(path)
		}
	}
}

// refuses reports whether the schema refuses changes at path, by a lock there or on a parent that is locked as a whole.
func (x *index) refuses(path string, changes schema.Change) bool {
	for p := range above(path) {
		l := x.nodes[p]
		if l != nil && (p == path && l.Marks.Refuses().Has(changes) || l.Marks.Refuses().Has(schema.ChangeValue)) {
			return true
		}
	}
	return false
}

// guards reports whether path or a parent of it has a lock on the value.
func (x *index) guards(path string) bool {
	for p := range above(path) {
		if l := x.nodes[p]; l != nil && l.Marks.Refuses()&schema.ChangeValue != 0 {
			return true
		}
	}
	return false
}

// preserved reports whether the schema keeps the fields at path although it does not describe them.
func (x *index) preserved(path string) bool {
	for p := range above(parent(path)) {
		if l := x.nodes[p]; l != nil && l.PreservesUnknown() {
			return true
		}
	}
	return false
}

// parent returns the JSON pointer one token shorter.
func parent(pointer string) string { return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)] }

// common returns the deepest schema path that is equal to all of paths or above them; "" for none.
func common(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	prefix := paths[0]
	for _, path := range paths[1:] {
		for path != prefix && !strings.HasPrefix(path, prefix+"/") {
			prefix = parent(prefix)
		}
	}
	// A path that ends in "properties" is the map of properties; the schema is above it.
	if strings.HasSuffix(prefix, "/properties") && !strings.HasSuffix(prefix, "/properties/properties") {
		prefix = parent(prefix)
	}
	return prefix
}
