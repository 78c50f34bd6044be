package manifest

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
)

// Amender adds external locks to schemas, and translates the keys of other dialects. It remembers which entries found
// their kind and path. A nil Amender changes nothing.
type Amender struct {
	locks  *external.Locks
	known  map[int]bool  // entries whose kind some schema describes
	placed map[int]bool  // entries whose path some schema of the kind has
	failed map[int]error // why an entry has no place
	errs   []error
}

// NewAmender returns an Amender for locks, nil if there are none.
func NewAmender(locks *external.Locks) *Amender {
	if locks.Empty() {
		return nil
	}
	return &Amender{locks: locks, known: map[int]bool{}, placed: map[int]bool{}, failed: map[int]error{}}
}

// Errs returns the mistakes in the entries, with their places, once all schemas were amended.
func (a *Amender) Errs() []error {
	if a == nil {
		return nil
	}
	errs := slices.Clone(a.errs)
	for i := range a.locks.Entries {
		if err := a.failed[i]; err != nil && !a.placed[i] {
			errs = append(errs, a.locks.Entries[i].Errorf(err))
		}
	}
	return errs
}

// Warnings names the entries whose kind no schema describes, once all schemas were amended. Standing entries are left
// out.
func (a *Amender) Warnings() []string {
	if a == nil {
		return nil
	}
	var list []string
	for i := range a.locks.Entries {
		if e := &a.locks.Entries[i]; !a.known[i] && !e.Standing {
			list = append(list,
				e.Errorf(errors.New("nothing defines the kind, so the entry locks nothing; give its schema with "+
					"--schema, or remove the entry")).Error())
		}
	}
	return list
}

// CRDs returns the CRDs with the locks. A CRD that changes is copied.
func (a *Amender) CRDs(crds []CRD) []CRD {
	if a == nil {
		return crds
	}
	amended := slices.Clone(crds)
	for i := range amended {
		amended[i].CRD = a.CRD(amended[i].CRD)
	}
	return amended
}

// CRD returns a copy of a CRD with the locks.
func (a *Amender) CRD(c *crd.CRD) *crd.CRD {
	if a == nil {
		return c
	}
	amended := *c
	amended.Versions = nil
	for _, v := range c.Versions {
		version := *v
		s, _, misread := a.Schema(c.Group, v.Name, c.Kind, v.Schema, nil)
		for _, m := range misread {
			a.errs = append(a.errs, fmt.Errorf("%s:%d: CustomResourceDefinition %s, version %s: %s",
				c.File, v.Position(m.SchemaPath).Line, c.Name, v.Name, m.Message))
		}
		version.Schema = s
		amended.Versions = append(amended.Versions, &version)
	}
	return &amended
}

// Documents looks for the kinds and paths of the entries in documents, which stay as they are: Of amends their schemas
// one by one.
func (a *Amender) Documents(documents []*schemadoc.Document) {
	if a == nil {
		return
	}
	for _, d := range documents {
		for _, kind := range kindsOf(d) {
			if s, err := d.Resolve(kind.Ref); err == nil && a.hasEntries(kind) {
				group, version := kindindex.GroupVersion(kind.APIVersion)
				a.Schema(group, version, kind.Kind, s, d.Resolve)
			}
		}
	}
}

// Of returns the schema of a kind in a document with the locks, and what resolves its references. It records nothing,
// and is safe for concurrent use. The error is about the document.
func (a *Amender) Of(d *schemadoc.Document, kind schemadoc.Kind) (*spec.Schema, schema.Resolver, error) {
	s, err := d.Resolve(kind.Ref)
	if err != nil || a == nil {
		return s, d.Resolve, err
	}
	group, version := kindindex.GroupVersion(kind.APIVersion)
	s, resolve, misread := NewAmender(a.locks).Schema(group, version, kind.Kind, s, d.Resolve)
	for _, m := range misread {
		return nil, nil, fmt.Errorf("%s:%d: %s", d.File, d.Position(kind.Ref, m.SchemaPath).Line, m.Message)
	}
	return s, resolve, nil
}

// Compile compiles the schema of a kind in a document, with the locks.
func (a *Amender) Compile(d *schemadoc.Document,
	kind schemadoc.Kind) (*spec.Schema, schema.Resolver, *immutability.Validator, error) {
	s, resolve, err := a.Of(d, kind)
	if err != nil {
		return nil, nil, nil, err
	}
	locks, err := immutability.Compile(s, immutability.WithResolver(resolve))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s, %s: %w", d.File, kind.Ref, err)
	}
	return s, resolve, locks, nil
}

// Builtin returns the built-in kinds with the locks; nil stays nil.
func (a *Amender) Builtin(kinds *builtin.Kinds) *builtin.Kinds {
	if a == nil || kinds == nil {
		return kinds
	}
	for i := range a.locks.Entries {
		e := &a.locks.Entries[i]
		for _, k := range kinds.All() {
			if !slices.ContainsFunc(k.Versions, func(v string) bool { return e.IsFor(k.Group, v, k.Kind) }) {
				continue
			}
			a.known[i] = true
			with, err := kinds.WithLock(k, e.Path, names(e.Locks)...)
			if err != nil {
				a.failed[i] = err
				continue
			}
			a.placed[i], kinds = true, with
		}
	}
	return kinds
}

func names(locks []schema.Lock) []immutability.Lock {
	list := make([]immutability.Lock, len(locks))
	for i, l := range locks {
		list[i] = immutability.Lock(l)
	}
	return list
}

// hasEntries reports whether an entry is for a kind.
func (a *Amender) hasEntries(kind schemadoc.Kind) bool {
	group, version := kindindex.GroupVersion(kind.APIVersion)
	return slices.ContainsFunc(a.locks.Entries, func(e external.Entry) bool {
		return e.IsFor(group, version, kind.Kind)
	})
}

// Schema returns the schema of a kind with the locks, what resolves its references, and the aliases that cannot be
// read. Entries with mistakes are left out and recorded.
func (a *Amender) Schema(group, version, kind string, s *spec.Schema,
	resolve schema.Resolver) (*spec.Schema, schema.Resolver, []schema.Misread) {
	if resolve == nil {
		resolve = schema.Definitions(s)
	}
	resolve = a.locks.Aliases.Resolver(resolve)
	s, misread := a.locks.Aliases.Translate(s)
	amended := s
	var added []int
	for i := range a.locks.Entries {
		e := &a.locks.Entries[i]
		if !e.IsFor(group, version, kind) {
			continue
		}
		a.known[i] = true
		changed, _, err := e.Add(amended, resolve)
		if err != nil {
			a.failed[i] = err
			continue
		}
		amended, added = changed, append(added, i)
		a.placed[i] = true
	}
	if len(added) > 0 && a.mistakes(amended, s, resolve, added) {
		return s, resolve, misread
	}
	return amended, resolve, misread
}

// mistakes records the mistakes that the added entries made in a schema, and reports whether there are any.
func (a *Amender) mistakes(amended, s *spec.Schema, resolve schema.Resolver, added []int) bool {
	before := map[[2]string]bool{}
	for _, f := range mistakesIn(s, resolve) {
		before[[2]string{f.Path, f.Rule}] = true
	}
	found := false
	for _, f := range mistakesIn(amended, resolve) {
		if before[[2]string{f.Path, f.Rule}] {
			continue
		}
		found = true
		err := a.locks.Entries[a.cause(f.Path, added)].Errorf(errors.New(f.Message))
		if !slices.ContainsFunc(a.errs, func(known error) bool { return known.Error() == err.Error() }) {
			a.errs = append(a.errs, err)
		}
	}
	return found
}

func mistakesIn(s *spec.Schema, resolve schema.Resolver) []immutability.Finding {
	_, err := immutability.Compile(s, immutability.WithResolver(resolve))
	var mistakes *immutability.SchemaError
	if errors.As(err, &mistakes) {
		return mistakes.Findings
	}
	return nil
}

// cause returns the entry that a mistake at a path comes from: the last one whose path has the most in common with it.
func (a *Amender) cause(path string, added []int) int {
	best, most := added[0], -1
	for _, i := range added {
		entry := a.locks.Entries[i].Path
		common := 0
		for common < min(len(entry), len(path)) && entry[common] == path[common] {
			common++
		}
		if entry == path {
			common++
		}
		if common >= most {
			best, most = i, common
		}
	}
	return best
}

// kindsOf returns the kinds of a document, and the root of a JSON Schema.
func kindsOf(d *schemadoc.Document) []schemadoc.Kind {
	if d.Root == "" {
		return d.Kinds
	}
	return append(slices.Clone(d.Kinds), RootOf(d))
}

// RootOf returns the kind of a JSON Schema for documents that are not Kubernetes objects: it is named after its file.
func RootOf(d *schemadoc.Document) schemadoc.Kind {
	return schemadoc.Kind{Kind: rootName(d), Ref: d.Root}
}
