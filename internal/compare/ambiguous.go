package compare

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// ambiguity is objects of NEW that have one name, and the objects of OLD that each of them may have been. Who writes NEW
// may have added any number of copies, so each object is compared on its own, and copies cost no more than n log n.
type ambiguity struct {
	kind   ambiguityKind
	news   []int              // where pairs has the objects of NEW
	olds   []*manifest.Object // one of each content
	count  int                // how many objects of OLD there are, with those of the same content
	reason string             // why it is ambiguous
}

type ambiguityKind int

const (
	// successors: each object of NEW is one of OLD's, or a new one in another cluster.
	successors ambiguityKind = iota
	// copies: the objects of OLD have other successors. In another cluster, those of NEW are creates; in the same cluster
	// they are updates, which may be refused.
	copies
	// completed: the object of OLD is partial, and the one of NEW in its file is whole. Only where a webhook fills in what
	// OLD leaves out can this be an update.
	completed
)

// standing is what came of comparing an object with the ones that it may have been.
type standing int

const (
	untried standing = iota // with none of them: there are too many copies
	allowed                 // every comparison allows the change
	refused                 // every comparison refuses it
	mixed
)

// To compare the objects of an ambiguity, each is read up to effort times on average. A small one may read values of size
// leastEffort in all: about a thousand comparisons of small objects.
const (
	effort      = 8
	leastEffort = 1 << 16
)

// plan says which objects of OLD each of rivals is compared with. The first is the one with the same content, or else the
// one in the same place of the order, then its neighbours: where a folder was renamed, the order stays. Every rival gets a
// first one before any gets a second, and so on, until the effort is spent.
func (a *ambiguity) plan(rivals []*manifest.Object) [][]*manifest.Object {
	plans := make([][]*manifest.Object, len(rivals))
	sizes := make([]int, len(a.olds))
	rest := leastEffort
	for i, o := range a.olds {
		sizes[i] = size(o.Value())
		rest += effort * sizes[i]
	}
	own := make([]int, len(rivals))
	for k, n := range rivals {
		own[k] = size(n.Value())
		rest += effort * own[k]
	}
	equal := a.equals(rivals)
	for round := range a.olds {
		for k := range rivals {
			first := equal[k]
			if first < 0 {
				first = k * len(a.olds) / len(rivals)
			}
			i := around(first, round, len(a.olds))
			if rest -= own[k] + sizes[i]; rest < 0 {
				return plans
			}
			plans[k] = append(plans[k], a.olds[i])
		}
	}
	return plans
}

// equals returns for each rival the index of the object of OLD that has the same content, or -1.
func (a *ambiguity) equals(rivals []*manifest.Object) []int {
	c := newContents()
	for _, o := range a.olds {
		c.add(o)
	}
	at := make([]int, len(rivals))
	for k, n := range rivals {
		at[k] = c.index(n)
	}
	return at
}

// around returns the index that is round steps away from first: 0, +1, -1, +2, … of n.
func around(first, round, n int) int {
	step := (round + 1) / 2
	if round%2 == 0 {
		step = -step
	}
	return ((first+step)%n + n) % n
}

// size measures what reading a value costs.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			n += len(name)/64 + size(member)
		}
	case []any:
		for _, item := range v {
			n += size(item)
		}
	case string:
		n += len(v) / 64
	}
	return n
}

// different returns one object of each content, in their order.
func different(objects []*manifest.Object) []*manifest.Object {
	c := newContents()
	for _, o := range objects {
		if c.index(o) < 0 {
			c.add(o)
		}
	}
	return c.objects
}

// contents finds objects by what is written in them.
type contents struct {
	objects []*manifest.Object
	seed    maphash.Seed
	byHash  map[uint64][]int
}

func newContents() *contents {
	return &contents{seed: maphash.MakeSeed(), byHash: map[uint64][]int{}}
}

func (c *contents) hash(o *manifest.Object) uint64 { return jsonvalue.Hash(c.seed, written(o)) }

func (c *contents) add(o *manifest.Object) {
	hash := c.hash(o)
	c.byHash[hash] = append(c.byHash[hash], len(c.objects))
	c.objects = append(c.objects, o)
}

// index returns the index of the first object with the content of o, or -1.
func (c *contents) index(o *manifest.Object) int {
	for _, i := range c.byHash[c.hash(o)] {
		if alike(o, c.objects[i]) {
			return i
		}
	}
	return -1
}

// judgeAmbiguous compares an object with those that it may have been. It returns the verdict of the first comparison,
// with where the object stands after all of them.
func (c *checker) judgeAmbiguous(p pair) (verdict, error) {
	var first verdict
	if p.ambiguous.kind == completed && c.kinds.builtinOf(p.new) != nil {
		first.standing = allowed // no webhook fills in what a built-in kind requires
		return first, nil
	}
	for i, o := range p.candidates {
		v, err := c.judge(pair{new: p.new, old: o})
		if err != nil {
			return verdict{}, err
		}
		now := v.stand()
		switch {
		case i == 0:
			first, first.standing, first.old = v, now, o
		case now != first.standing:
			first.standing = mixed
		}
		if first.standing == mixed {
			break
		}
	}
	return first, nil
}

// stand returns where one comparison leaves an object.
func (v *verdict) stand() standing {
	switch {
	case len(v.violations)+v.more > 0:
		return refused
	case len(v.unknown) > 0:
		return mixed
	}
	return allowed
}

// resolve turns the verdicts on the objects of an ambiguity into verdicts for the report. An object that every comparison
// refuses is refused, unless NEW has enough other objects to succeed all objects of OLD: then it may be a new object. So
// copies can hide a change only if each object of OLD has an allowed successor among them.
func (a *ambiguity) resolve(verdicts []verdict) {
	refusals, others := 0, 0
	for _, i := range a.news {
		switch verdicts[i].standing {
		case refused:
			refusals++
		case allowed, mixed:
			others++
		}
	}
	crowded := refusals > 0 && others >= a.count
	for _, i := range a.news {
		v := &verdicts[i]
		switch {
		case a.kind != successors && (v.standing == allowed || v.standing == mixed):
			*v = verdict{}
		case a.kind != successors:
			*v = verdict{unknown: []Remark{{Path: "metadata.name", Message: a.mayRefuse(v)}}}
		case !crowded && (v.standing == allowed || v.standing == refused):
		default:
			*v = verdict{unknown: []Remark{{Path: "metadata.name", Message: a.reason}}}
		}
	}
}

// mayRefuse says why a create may be refused.
func (a *ambiguity) mayRefuse(v *verdict) string {
	switch {
	case v.standing == untried:
		return fmt.Sprintf("OLD has the object in another file: %s; there are too many copies to compare them all", a.reason)
	case a.kind == completed:
		return fmt.Sprintf("the object of OLD (%s) lacks a required field, so no API server can have stored it, unless a webhook fills the field in; "+
			"in that case the change is refused: %s", a.reason, v.violations[0].summary())
	}
	return fmt.Sprintf("OLD has the object in another file: %s; applied to the same cluster, this one is refused: %s", a.reason, v.violations[0].summary())
}

// resolveAll resolves the ambiguities of pairs.
func resolveAll(pairs []pair, verdicts []verdict) {
	done := map[*ambiguity]bool{}
	for i := range pairs {
		if a := pairs[i].ambiguous; a != nil && !done[a] {
			done[a] = true
			a.resolve(verdicts)
		}
	}
}

// alike reports whether two objects are equal as they are written, but for labels and the like.
func alike(a, b *manifest.Object) bool { return jsonvalue.Equal(written(a), written(b)) }

// written returns what is written in an object. Of metadata only the annotations count, as nothing else in it can be
// locked.
func written(o *manifest.Object) map[string]any {
	object := maps.Clone(o.Value())
	metadata, _ := object["metadata"].(map[string]any)
	object["metadata"] = metadata["annotations"]
	return object
}

// places names objects by namespace and file, the first few of them.
func places(objects []*manifest.Object) string {
	var names []string
	for _, o := range objects {
		names = append(names, fmt.Sprintf("%s:%d (namespace %s)", o.Document.File, o.Document.Position().Line, cmp.Or(o.Namespace, "not given")))
	}
	slices.Sort(names)
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

var _ definition = movedDefinition{}

// movedDefinition judges an object that a change moves to a version which the CRD of its old version does not have: a new
// version, or one with a new name. Without conversion, the object in storage stays the same one. So the laws of its old
// version count for the fields that both versions have.
type movedDefinition struct{ new, old *crdDefinition }

// covering returns the definitions that can judge a pair.
func (k *kinds) covering(p pair) []definition {
	var list []definition
	for _, d := range k.of(p.new) {
		if d.covers(p.new.APIVersion) && d.covers(p.old.APIVersion) {
			list = append(list, d)
		}
	}
	if p.new.APIVersion == p.old.APIVersion {
		return list
	}
	ofKind := k.byKind[groupKind{p.new.Group, p.new.Kind}]
	for _, before := range ofKind {
		if before.covers(p.new.APIVersion) || !before.covers(p.old.APIVersion) {
			continue
		}
		for _, after := range ofKind {
			if after.covers(p.new.APIVersion) {
				list = append(list, movedDefinition{after, before})
			}
		}
	}
	return list
}

func (movedDefinition) covers(string) bool { return true }

func (d movedDefinition) judge(p pair) (verdict, error) {
	var v verdict
	newVersion, oldVersion := d.new.version(p.new.APIVersion), d.old.version(p.old.APIVersion)
	if !storageversion.Unconverted(d.new.crd.CRD) || !storageversion.Unconverted(d.old.crd.CRD) {
		v.unknown = append(v.unknown, Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object moves from version %s (%s:%d) to %s, and only the conversion webhook of the CRD knows what becomes of it there",
			oldVersion.Name, p.old.Document.File, p.old.Document.Position().Line, newVersion.Name)})
		return v, nil
	}
	if !d.new.covers(p.old.APIVersion) { // otherwise d.new judges the pair by itself
		if err := d.check(&v, p, d.new, newVersion, nil, []*crd.Version{oldVersion}); err != nil {
			return v, err
		}
	}
	// What the new version does not have is pruned from both sides.
	if err := d.check(&v, p, d.old, oldVersion, []*crd.Version{newVersion}, []*crd.Version{oldVersion, newVersion}); err != nil {
		return v, err
	}
	if len(v.violations)+v.more > 0 {
		v.replacement = d.replacement(p)
	}
	return v, nil
}

func (d movedDefinition) replacement(p pair) *Replacement { return d.new.replacement(p) }

// check adds what the pair breaks by the laws of one version of a CRD. Each side goes through the versions that lead there
// first, then through that one. What the laws refuse although the value did not change is left out: the move to a version
// that lacks a field is not a change of it.
func (d movedDefinition) check(v *verdict, p pair, by *crdDefinition, version *crd.Version, newThrough, oldThrough []*crd.Version) error {
	laws := by.laws[version]
	if laws.empty() {
		return nil
	}
	newObj, err := d.old.prepareThrough(append(newThrough, version), p.new, d.new)
	if err != nil {
		return err
	}
	oldObj, err := d.old.prepareThrough(append(oldThrough, version), p.old, d.new)
	if err != nil {
		return err
	}
	var unmoved, moved verdict
	place := func(v *Violation) { by.place(v, p, version) }
	err = cmp.Or(laws.check(&unmoved, oldObj, oldObj, oldObj, place), laws.check(&moved, newObj, oldObj, newObj, place))
	if err != nil {
		return p.new.Mistake(nil, "the CEL rules of its CRD cannot be run: %v", err)
	}
	known := map[string]bool{}
	for i := range unmoved.violations {
		known[unmoved.violations[i].summary()] = true
	}
	var violations []Violation
	for _, b := range moved.violations {
		if !known[b.summary()] {
			violations = append(violations, b)
		}
	}
	v.merge(violations)
	v.more += moved.more
	v.unknown = append(v.unknown, moved.unknown...)
	return nil
}
