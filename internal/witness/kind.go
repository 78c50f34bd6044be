package witness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Version is one version of a kind: what an API server knows about its objects.
type Version struct {
	APIVersion string // group and version
	Kind       string
	Name       string // of the version
	Schema     *spec.Schema
	Served     bool
	Storage    bool
	Prunes     bool // fields that Schema does not have

	// Prepare returns an object as the server has it when it validates: pruned, with defaults.
	Prepare func(obj map[string]any) (map[string]any, error)
	// Locks is the compiled schema.
	Locks *immutability.Validator

	once       sync.Once
	err        error
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *celrun.Validator
	transition map[celrun.Rule]bool
	reads      map[string]*ruleReads
	root       *node
	known      map[uint64]*contents // by their hashes
	shared     *Shared              // nil for nothing

	effort *effort
}

// Shared keeps what kinds with the same rules have in common. The zero value is ready to use. It is safe for concurrent
// use.
type Shared struct {
	celrun.Shared
	reads sync.Map // *ruleReads by the text of the rule
}

// readsOf is the function readsOf, once for each text.
func (s *Shared) readsOf(r celrun.Rule) *ruleReads {
	known, ok := s.reads.Load(r.Text)
	if !ok {
		made := readsOf(r.Text)
		made.transition = celrun.Transition(r)
		known, _ = s.reads.LoadOrStore(r.Text, made)
	}
	return known.(*ruleReads)
}

// compile makes the server's validators; it takes as long as the server takes for a new CRD.
func (v *Version) compile() error {
	v.once.Do(func() {
		shared := cmp.Or(v.shared, new(Shared))
		var internal *apiextensions.JSONSchemaProps
		if internal, v.err = shared.Convert(v.Schema); v.err != nil {
			return
		}
		if v.structural, v.err = structuralschema.NewStructural(internal); v.err != nil {
			return
		}
		if v.validator, _, v.err = validation.NewSchemaValidator(internal); v.err != nil {
			return
		}
		v.rules = celrun.New(v.Schema, nil).Strict(&shared.Shared)
		v.transition, v.reads = map[celrun.Rule]bool{}, map[string]*ruleReads{}
		for _, r := range v.rules.Rules() {
			v.reads[r.Text] = shared.readsOf(r)
			v.transition[r] = v.reads[r.Text].transition
		}
	})
	return v.err
}

// errors returns what the server finds in a prepared object without its rules, were it a new one.
func (v *Version) errors(obj map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, obj, v.validator)
	errs = append(errs, embeddedErrors(obj, v.structural)...)
	return append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
}

// write returns what a client can write of an object in v: all that v knows.
func (v *Version) write(value map[string]any) *object {
	c := v.contents(value)
	if c.written == nil {
		pruned := v.pruned(value)
		pruned["apiVersion"] = v.APIVersion
		c.written = v.contents(pruned)
		c.written.written = c.written
	}
	return &object{contents: c.written}
}

// pruned returns a copy of an object of v without the fields that v does not have, which a strict client refuses to
// send.
func (v *Version) pruned(obj map[string]any) map[string]any {
	if !v.Prunes {
		return maps.Clone(obj)
	}
	copied := jsonvalue.Clone(obj).(map[string]any)
	pruning.Prune(copied, v.structural, true)
	return copied
}

// read returns a prepared object of version from as version v shows it, under the conversion strategy None: in the
// version that it is stored in, then in v.
func (v *Version) read(obj *object, stored *Version) (*object, error) {
	for _, version := range []*Version{stored, v} {
		if obj.value["apiVersion"] == version.APIVersion {
			continue
		}
		other, ok := (path{"apiVersion"}).Set(obj.value, version.APIVersion)
		if !ok {
			return nil, fmt.Errorf("an object of %s cannot be converted", v.APIVersion)
		}
		var err error
		if obj, err = version.prepare(version.object(other.(map[string]any))); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

// schemaAt returns the schema at p; metadata.name is a string, although CRDs do not say so.
func (v *Version) schemaAt(p path) *node {
	if len(p) == 2 && p[0] == "metadata" && p[1] == "name" {
		if n := v.node().at(p); n != nil && len(n.Type) > 0 {
			return n
		}
		return &node{Schema: &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}}
	}
	return v.node().at(p)
}

// node returns the schema of whole objects.
func (v *Version) node() *node {
	if v.root == nil {
		v.root = &node{Schema: v.Schema}
	}
	return v.root
}

// prepare is v.Prepare.
func (v *Version) prepare(obj *object) (*object, error) {
	c := obj.contents
	if c.prepared == nil && c.err == nil {
		var made map[string]any
		if made, c.err = v.Prepare(c.value); c.err == nil {
			c.prepared = v.contents(made)
		}
	}
	if obj.prepared == nil && c.err == nil {
		obj.prepared = &object{contents: c.prepared}
	}
	return obj.prepared, c.err
}

// Kind is a kind of objects under audit. It is not safe for concurrent use.
type Kind struct {
	Versions []*Version // the served ones and the one that objects are stored in

	effort *effort             // nil until Allow
	wasted int                 // objects that were judged to make one larger, in vain
	vain   map[celrun.Rule]int // searches in vain where the rule refuses the first steps
	bases  map[*Version]map[string]any
	// containing are valid objects with a value at a pattern.
	containing map[baseID]map[string]any
	fields     map[*Version]map[string]string // schema paths by path for people
}

// stored is the version that objects are stored in.
func (k *Kind) stored(otherwise *Version) *Version {
	for _, v := range k.Versions {
		if v.Storage {
			return v
		}
	}
	return otherwise
}

// How many sequences are judged for one hole: at a glance, in a search, and with one object more. How many objects are
// judged to find the first valid one of a version, and how many updates to show that a rule which should be dead is
// not.
const (
	glanceEffort = 12
	plainEffort  = 100
	keptEffort   = 24 // where a transition rule refuses the first steps
	stepsEffort  = 160
	validEffort  = 700
	deadEffort   = 60
	manyStarts   = 4 // values with which a base is extended
	manyKept     = 4 // sequences whose first steps are looked at
	manyVain     = 8 // searches in vain where one rule refuses the first steps

	// manyWasted bounds how many objects are judged in vain to make others larger. After that, none is made larger.
	manyWasted = 2000
)

// baseID is a version and a pattern.
type baseID struct {
	version *Version
	pattern string
}

// FromCRD returns the kind that a CRD defines. A version whose schema does not compile has no locks. Conversions of a
// webhook are taken for ones that keep every field that both versions have. Kinds may share what they have in
// common; nil shares it with no other.
func FromCRD(c *crd.CRD, shared *Shared) *Kind {
	k := &Kind{}
	for _, v := range c.Versions {
		if !v.Served && !v.Storage {
			continue
		}
		version := &Version{
			APIVersion: strings.TrimPrefix(c.Group+"/"+v.Name, "/"), Kind: c.Kind, Name: v.Name,
			Schema: v.Schema, Served: v.Served, Storage: v.Storage, Prunes: !c.PreserveUnknownFields,
			Prepare: prepare.New(v).Prepare, shared: shared,
		}
		if locks, err := v.Compile(); err == nil {
			version.Locks = locks
		}
		k.Versions = append(k.Versions, version)
	}
	return k
}

// Update judges an update of complete objects, each in the version that its apiVersion says. It returns the locks and
// transition rules that refuse the update, in the order of their paths, and why the old or the new object is not a
// valid one, whatever the other is. The error is about an object of another kind or of an unknown version, or a schema
// that an API server would refuse.
func (k *Kind) Update(newObj, oldObj map[string]any) (refused []Refusal, mistakes []string, err error) {
	var versions []*Version
	for _, obj := range []map[string]any{oldObj, newObj} {
		v, err := k.versionOf(obj)
		if err != nil {
			return nil, nil, err
		}
		versions = append(versions, v)
	}
	objects := []*object{versions[0].object(oldObj), versions[1].object(newObj)}
	s := &sequence{versions: versions, objects: objects, stored: k.stored(versions[0])}
	problems, refused := judge(s)
	for _, p := range problems {
		side := "the old object"
		if p.at == 1 {
			side = "the new object"
		}
		switch {
		case p.kind == unreadable, p.kind == invalid:
			mistakes = append(mistakes, side+": "+p.message)
		case p.kind == brokenRule && !versions[p.at].transition[*p.rule]:
			mistakes = append(mistakes, side+": "+p.message+" (rule: "+p.rule.Text+")")
		}
	}
	return refused, mistakes, nil
}

// versionOf returns the version of an object, ready to judge.
func (k *Kind) versionOf(obj map[string]any) (*Version, error) {
	var known []string
	for _, v := range k.Versions {
		if obj["apiVersion"] == v.APIVersion && obj["kind"] == v.Kind {
			return v, v.compile()
		}
		known = append(known, v.APIVersion)
	}
	return nil, fmt.Errorf("%v of %v is not the kind %s in %s",
		obj["kind"], obj["apiVersion"], k.Versions[0].Kind, strings.Join(known, ", "))
}

// embeddedErrors returns what the server finds wrong with the metadata of the objects embedded in obj. Its validator
// takes a context since Kubernetes 0.37. Whoever imports locktest chooses the version, so both forms are called.
func embeddedErrors(obj map[string]any, s *structuralschema.Structural) field.ErrorList {
	switch validate := any(objectmeta.Validate).(type) {
	case func(*field.Path, any, *structuralschema.Structural, bool) field.ErrorList:
		return validate(nil, obj, s, false)
	case func(context.Context, *field.Path, any, *structuralschema.Structural, bool) field.ErrorList:
		return validate(context.Background(), nil, obj, s, false)
	}
	return field.ErrorList{field.InternalError(nil, errors.New("this version of k8s.io/apiextensions-apiserver "+
		"validates embedded objects in a way that fieldlock does not know"))}
}

// object is an object of a version. Judging it counts as steps also if the contents are known from another object: how
// far a search gets does not depend on what is remembered.
type object struct {
	*contents
	prepared *object
	stepped  map[*object]bool // the objects that it was written over; nil for a create
	compared map[*object]bool // the old objects of direct updates to it
}

// contents are what the objects of a version with the same contents have in common: what the version says of them. The
// ways around the locks and rules of a kind have many objects in common. They must not change.
type contents struct {
	value  map[string]any
	hash   uint64
	size   int // as JSON
	weight int // about how many steps it takes to judge it; 0 if nobody asked yet

	written, prepared *contents
	err               error                   // of preparing it
	invalid           func() field.ErrorList  // what the schema refuses
	steps             map[*contents][]problem // of writing it, by what it is written over
	refusals          map[*contents][]Refusal // of a direct update, by the old contents
}

// nothing is what a create writes over.
var nothing = &contents{}

// manyRemembered bounds how many contents a version remembers.
const manyRemembered = 2000

// object returns an object of v with a value.
func (v *Version) object(value map[string]any) *object { return &object{contents: v.contents(value)} }

// seed is the seed of all hashes of contents.
var seed = maphash.MakeSeed()

// contents returns the contents that equal a value.
func (v *Version) contents(value map[string]any) *contents {
	hash := jsonvalue.Hash(seed, value)
	if known, ok := v.known[hash]; ok && jsonvalue.Equal(known.value, value) {
		return known
	}
	if v.known == nil || len(v.known) == manyRemembered {
		v.known = map[uint64]*contents{}
	}
	c := &contents{value: value, hash: hash, size: sizeOf(value),
		invalid: sync.OnceValue(func() field.ErrorList { return v.errors(value) }), steps: map[*contents][]problem{},
		refusals: map[*contents][]Refusal{}}
	v.known[hash] = c
	return c
}

// first reports whether old was not in a set, and adds it.
func first(set *map[*object]bool, old *object) bool {
	if (*set)[old] {
		return false
	}
	if *set == nil {
		*set = map[*object]bool{}
	}
	(*set)[old] = true
	return true
}

// Valid returns a small object that version accepts as a new one, and whether there is one within a bounded effort.
func (k *Kind) Valid(version *Version) (map[string]any, bool) {
	if obj, ok := k.bases[version]; ok {
		return obj, obj != nil
	}
	if version.compile() != nil {
		return nil, false
	}
	if k.bases == nil {
		k.bases = map[*Version]map[string]any{}
	}
	obj, _ := smallest(version.node()).(map[string]any)
	if obj == nil {
		obj = map[string]any{}
	}
	obj = maps.Clone(obj)
	obj["apiVersion"], obj["kind"] = version.APIVersion, version.Kind
	obj["metadata"] = map[string]any{"name": "example"}
	start := newSequence(k.stored(version), []*Version{version}, obj)
	if found := (&search{budget: validEffort}).run([]*sequence{start}); found != nil {
		k.bases[version] = found.objects[0].value
	} else if !k.Over() {
		k.bases[version] = nil
	}
	return k.bases[version], k.bases[version] != nil
}

// HasObjects reports whether Valid returns an object of a version. A version whose schema an API server refuses has
// none.
func (k *Kind) HasObjects(name string) bool {
	v := k.version(name)
	if v == nil {
		return true
	}
	if v.compile() != nil {
		return false
	}
	_, ok := k.Valid(v)
	return ok
}

// with returns a small valid object that has a value at a pattern, or as many steps of it as can be reached within a
// bounded effort. It goes one step at a time, so that what several holes have in common is made valid once.
func (k *Kind) with(version *Version, pattern []string) (map[string]any, bool) {
	base, ok := k.Valid(version)
	for n := 1; ok && n <= len(pattern); n++ {
		id := baseID{version, strings.Join(pattern[:n], "\x01")}
		if known, made := k.containing[id]; made && known == nil {
			break
		} else if made {
			base = known
			continue
		}
		at := expand(base, version.node(), nil, pattern[:n])[0]
		if value, there := fieldpath.Get(base, at...); there && value != nil {
			continue
		}
		if k.containing == nil {
			k.containing = map[baseID]map[string]any{}
		}
		var extended map[string]any
		if k.wasted <= manyWasted {
			extended = k.extend(version, base, at)
		}
		if extended == nil {
			if !k.Over() {
				k.containing[id] = nil
			}
			break
		}
		k.containing[id] = extended
		base = extended
	}
	return base, ok
}

// extend returns a valid object made from base that has a value at a path, nil where it finds none.
func (k *Kind) extend(version *Version, base map[string]any, at path) map[string]any {
	var starts []*sequence
	for _, value := range values(version.schemaAt(at)) {
		if obj, ok := put(base, version.node(), at, value); ok && len(starts) < manyStarts {
			starts = append(starts, newSequence(k.stored(version), []*Version{version}, obj))
		}
	}
	has := func(s *sequence) bool { v, ok := fieldpath.Get(s.objects[0].value, at...); return ok && v != nil }
	x := &search{budget: validEffort, keeps: has}
	if found := x.run(starts); found != nil {
		return found.objects[0].value
	}
	k.wasted += validEffort - x.budget
	return nil
}
