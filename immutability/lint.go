package immutability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// analysis is a schema that was read once, for Compile and Lint.
type analysis struct {
	config   *config
	schema   *spec.Schema // with aliases translated and external locks added
	tree     *schema.Tree
	presence normalizer.Presence
	redacted []*schema.Location
	findings []Finding // mistakes and unknown keys
}

func analyse(s *spec.Schema, opts []Option) *analysis {
	c := configure(opts)
	a := &analysis{config: c}
	a.read(s)
	a.unknownKeys()
	a.redactedPaths()
	a.normalize()
	return a
}

// read reads the schema with its aliases translated and the external locks added, and finds the mistakes in it.
func (a *analysis) read(s *spec.Schema) {
	resolve := schema.Resolver(a.config.resolve)
	if resolve == nil {
		resolve = schema.Definitions(cmp.Or(s, &spec.Schema{}))
	}
	resolve = a.config.aliases.Resolver(resolve)
	s, misread := a.config.aliases.Translate(s)
	a.schema = s
	a.tree = schema.Read(s, resolve)
	a.findings = mistakesIn(a.tree)
	for _, m := range misread {
		a.mistake(m.SchemaPath, finding.AliasValue, m.Message)
	}
	if err := a.config.aliases.Check(); err != nil {
		a.mistake("", finding.AliasValue, err.Error())
	}
	if s, found := a.config.externalLocks(s, resolve); found != nil || s != nil {
		a.schema = s
		a.tree = schema.Read(s, resolve)
		for _, f := range mistakesIn(a.tree) {
			if !slices.ContainsFunc(a.findings,
				func(g Finding) bool { return g.SchemaPath == f.SchemaPath && g.Message == f.Message }) {
				a.findings = append(a.findings, f)
			}
		}
		a.findings = append(a.findings, found...)
	}
}

// unknownKeys adds the unknown keys. If they are allowed, none of them is an error.
func (a *analysis) unknownKeys() {
	for _, f := range unknownKeys(a.tree) {
		if a.config.unknownKeys {
			f.Severity = SeverityWarning
		}
		a.findings = append(a.findings, f)
	}
}

// redactedPaths resolves the paths of WithRedacted. One that leads nowhere is an error, because what it was meant to
// hide would be shown.
func (a *analysis) redactedPaths() {
	for _, path := range slices.Sorted(maps.Keys(a.config.redacted)) {
		l := a.tree.Find(path)
		if l == nil {
			a.mistake(path, finding.RedactedPath,
				fmt.Sprintf("the schema has no %q to redact: paths are JSON pointers such as "+
					"/properties/spec/properties/token", path))
			continue
		}
		a.redacted = append(a.redacted, l)
	}
}

// normalize compiles what normalization says about properties. Of its problems it adds those that lint does not find.
func (a *analysis) normalize() {
	var problems []normalizer.Problem
	_, a.presence, problems = normalizer.Compile(a.tree)
	for _, p := range problems {
		if p.Rule == finding.NormalizeType {
			a.mistake(p.SchemaPath, p.Rule, p.Message)
		}
	}
}

// mistake adds an error at a schema path.
func (a *analysis) mistake(schemaPath, id, message string) {
	a.findings = append(a.findings, Finding{
		Path: schema.Readable(schemaPath), SchemaPath: schemaPath, Severity: SeverityError, Rule: id, Message: message,
	})
}

// err returns the errors among the findings as a *SchemaError, nil for none.
func (a *analysis) err() error {
	failed := slices.DeleteFunc(slices.Clone(a.findings), func(f Finding) bool { return f.Severity != SeverityError })
	if len(failed) == 0 {
		return nil
	}
	return &SchemaError{sorted(failed)}
}

// Lint returns the errors and warnings about the locks of s: errors first, then by path. An error is what fails
// Compile. A warning is a hole through which a locked value can still change, one for each hole with the fields behind
// it, or a lock without effect. Package crd finds what concerns a CRD as a whole, such as a lock that one served
// version lacks. Lint returns nil if there is nothing to say. Cost: linear in the schema and in what it returns; it
// stops when the paths of the findings have a million steps together, and the last message says so.
func Lint(s *spec.Schema, opts ...Option) []Finding {
	a := analyse(s, opts)
	return sorted(append(a.findings, warnings(a.tree)...))
}

// Each kind of finding is one small function. The variable mistakes lists the functions for mistakes; the functions for
// ways around locks are methods of holes. Package finding has the IDs.

// mistakesIn returns what makes the schema unusable.
func mistakesIn(t *schema.Tree) []Finding {
	var found list
	bodies := map[*schema.Body]bool{}
	t.Walk(func(v schema.Visit) {
		if found.full() {
			return
		}
		for _, find := range mistakes {
			find(v, func(schemaPath *schema.Path, id, format string, args ...any) {
				found.mistake(v.At, schemaPath, id, format, args...)
			})
		}
		if !bodies[v.Body] {
			bodies[v.Body] = true
			found.body(v)
		}
	})
	return found.done()
}

// mistake finds the mistakes of one kind at one location.
type mistake func(v schema.Visit, report func(schemaPath *schema.Path, id, format string, args ...any))

var mistakes = [...]mistake{
	unreadableKeys, lockPosition, conflictingLocks, lockContainer, mapKeyFields, lockedMapKeys, normalizePosition,
}

// body reports the mistakes in what several locations may share.
func (l *list) body(v schema.Visit) {
	for _, p := range v.Body.Problems {
		l.mistake(v.At, v.Body.Path, p.Rule, "%s", p.Message)
	}
	for _, u := range v.Unchecked {
		l.unchecked(v, &u)
	}
	for _, u := range v.Hidden {
		l.unchecked(v, &u)
	}
}

// unchecked: a mark in a part of the schema that only validates is never applied.
func (l *list) unchecked(v schema.Visit, u *schema.Unchecked) {
	id := finding.LockInUncheckedKeyword
	switch {
	case !u.Lock:
		l.mistake(v.At, v.Body.Path, finding.NormalizePosition,
			"%s is below %s (at %s), where it has no effect: put it on the property itself",
			schema.KeyNormalize, u.Keyword, u.Path.Pointer())
		return
	case u.Combines():
		id = finding.LockInCombinator
	}
	l.mistake(v.At, v.Body.Path, id,
		"a lock is below %s (at %s), where no update is checked: put it on the property itself",
		u.Keyword, u.Path.Pointer())
}

// unreadableKeys: a wrong value, the wrong letter case, a $ref that leads nowhere.
func unreadableKeys(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	for _, p := range v.Location.Problems {
		report(v.Path, p.Rule, "%s", p.Message)
	}
}

// lockPosition: a lock at the root or in metadata would break API machinery, and items of a set are never compared.
func lockPosition(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	if !v.Marks.Locked() {
		return
	}
	switch at := v.Path; {
	case v.Role == schema.Root:
		report(at, finding.LockAtRoot,
			"the whole object cannot be locked, because API machinery changes it on every update: lock spec or "+
				"fields below it")
	case v.InMetadata:
		report(at, finding.LockInMetadata,
			"metadata cannot be locked, because API machinery changes it on every update: remove the lock")
	case v.InSet:
		report(at, finding.LockBelowSet,
			"a lock here has no effect, because items of a set are in it or not and are never compared with each "+
				"other: lock the set")
	}
}

// conflictingLocks: some keys exclude each other.
func conflictingLocks(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	var keys []string
	for _, l := range v.Marks.Locks {
		if !slices.Contains(keys, l.Key()) {
			keys = append(keys, l.Key())
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return !slices.ContainsFunc(v.Marks.Locks, func(l schema.Lock) bool {
			return schema.ConflictingKeys(key, l.Key())
		})
	})
	if len(keys) > 1 {
		report(v.LockPath(), finding.ConflictingLocks, "one field has %s: keep one of them",
			strings.Join(keys, " and "))
	}
}

// lockContainer: a lock on keys needs something with keys.
func lockContainer(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	for _, l := range v.Marks.Locks {
		if id, message := l.Misplaced(v.Container()); id != "" {
			report(v.LockPath(), id, "%s", message)
		}
	}
}

// mapKeyFields: the keys of a list-type map are scalar properties of its items.
func mapKeyFields(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	if v.Marks.ListType != schema.ListMap {
		return
	}
	at := v.MarkPath(schema.KeyListType)
	if len(v.Marks.ListMapKeys) == 0 {
		report(at, finding.MapKeysMissing, "%s: map needs %s with the names of the key fields",
			schema.KeyListType, schema.KeyListMapKeys)
	}
	for _, name := range v.Marks.ListMapKeys {
		switch field := v.KeyField(name); {
		case field == nil:
			report(at, finding.MapKeyMissing, "the items lack the property %q, which %s names",
				name, schema.KeyListMapKeys)
		case !field.Scalar():
			report(at, finding.MapKeyNotScalar, "the map key %q must be a string, integer, number or boolean", name)
		}
	}
}

// lockedMapKeys: where the keys of a list-type map are locked, its key fields are marked so ("enforced" in the
// proposal).
func lockedMapKeys(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	lock := v.Marks.KeyLock()
	if lock == "" || v.Marks.ListType != schema.ListMap {
		return
	}
	for _, name := range v.Marks.ListMapKeys {
		if field := v.KeyField(name); field != nil && !field.Marks.Has(schema.Immutable) {
			report(v.LockPath(), finding.UnlockedMapKey, "%s needs its map key %q to be %s: true",
				lock.Key(), name, schema.KeyImmutable)
		}
	}
}

// normalizePosition: only a property can be absent.
func normalizePosition(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	if v.Marks.Normalize != "" && v.Role != schema.Property {
		report(v.Path, finding.NormalizePosition,
			"%s is allowed on properties: list items, map values and the whole object cannot be absent",
			schema.KeyNormalize)
	}
}

// unknownKeys returns the extension keys that look like one of Kubernetes or fieldlock and are neither. They do
// nothing: a misspelled lock locks nothing. Those that must be mistakes are errors, the others warnings.
func unknownKeys(t *schema.Tree) []Finding {
	var found list
	bodies := map[*schema.Body]bool{}
	t.Walk(func(v schema.Visit) {
		for _, u := range v.Location.UnknownKeys() {
			found.unknown(v.At, v.Path, &u)
		}
		if !bodies[v.Body] {
			bodies[v.Body] = true
			for _, u := range v.TargetUnknownKeys() {
				found.unknown(v.At, v.Body.Path, &u)
			}
		}
	})
	return found.done()
}

func (l *list) unknown(at, schemaPath *schema.Path, u *schema.UnknownKey) {
	severity, right := SeverityWarning, "the locks are "+strings.Join(schema.LockKeys(), ", ")
	if u.Mistake {
		severity = SeverityError
	}
	if u.Meant != "" {
		right = fmt.Sprintf("did you mean %s?", u.Meant)
	}
	l.add(at, schemaPath, Finding{Severity: severity, Rule: finding.UnknownKey, Message: fmt.Sprintf(
		"Kubernetes and fieldlock do not know %s, so it does nothing: %s", u.Key, right)})
}
