package compare

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// A tick means that everything that changed was checked. So each change is accounted for: by an object that a
// definition judged, or as a gap. Gaps are files and units that nothing could read, verdicts that only the cluster can
// give, and objects of kinds whose rules are not known. A file or unit that is equal on both sides is not a gap.

// countKind adds an object to those of its kind.
func countKind(kinds []result.KindCount, o *manifest.Object, changed bool) []result.KindCount {
	i := slices.IndexFunc(kinds,
		func(k result.KindCount) bool { return k.APIVersion == o.APIVersion && k.Kind == o.Kind })
	if i < 0 {
		i, kinds = len(kinds), append(kinds, result.KindCount{APIVersion: o.APIVersion, Kind: o.Kind})
	}
	kinds[i].Objects++
	if changed {
		kinds[i].Changed++
	}
	return kinds
}

// Uncovered returns what changed, could not be read, and is not accepted.
func (r *Report) Uncovered() []result.NotCovered {
	return slices.DeleteFunc(slices.Clone(r.NotCovered),
		func(n result.NotCovered) bool { return !n.Changed || n.Accepted })
}

// UncheckedChanges returns the kinds with changed objects that no definition covers, and those whose definition is not
// complete. Objects counts the changed objects only.
func (r *Report) UncheckedChanges() (skipped, unchecked []result.KindCount) {
	changed := func(kinds []result.KindCount) []result.KindCount {
		var list []result.KindCount
		for _, k := range kinds {
			if k.Objects = k.Changed; k.Changed > 0 {
				list = append(list, k)
			}
		}
		return list
	}
	return changed(r.SkippedKinds), changed(r.UncheckedKinds)
}

// Lost returns the deletions that lose data or other objects.
func (r *Report) Lost() []result.Deletion {
	return slices.DeleteFunc(slices.Clone(r.Deletions), func(d result.Deletion) bool { return !d.Loses() })
}

// Failed reports whether the run fails: a change is refused, or with Strict something that changed was not checked.
func (r *Report) Failed() bool { return !r.Allowed || r.Strict && !r.Complete }

// finish decides what the report means.
func (r *Report) finish(strict bool) {
	refused := r.MoreViolations > 0
	for i := range r.Violations {
		refused = refused || r.Violations[i].Refused()
	}
	skipped, unchecked := r.UncheckedChanges()
	r.Allowed, r.Strict = !refused, strict
	r.Complete = len(r.Errors)+len(r.Unknown)+len(r.Uncovered())+len(skipped)+len(unchecked) == 0
}

// skip counts the objects of both sides that no definition covers. An object of NEW that OLD has, too, counts once. In
// a comparison with a cluster, each may be a changed one.
func (c *checker) skip(news, olds []*manifest.Object, live bool) {
	pairs, partial := pairUp(news, olds, func(*manifest.Object) bool { return false })
	for _, p := range pairs {
		o, changed := p.new, p.changed()
		switch {
		case p.new == nil:
			o = p.old
		case live:
			changed = true
		}
		c.report.Skipped++
		c.report.SkippedKinds = countKind(c.report.SkippedKinds, o, changed)
	}
	c.report.Skipped += len(partial)
}

// complete reports whether the definition of an object's kind is complete, so that a change which it does not refuse is
// allowed. It is if the kind is built in. Otherwise its CRD is at hand, or all transition rules of its CRD are known;
// and if the catalogue lists its operator, it also has the kind.
func (k *kinds) complete(o *manifest.Object) bool {
	gk := groupKind{o.Group, o.Kind}
	if k.builtinOf(o) != nil || o.Kind == "" || k.faulty[gk] != nil { // what has a fault is unknown
		return true
	}
	_, hasFacts := k.factsOf(o)
	isOpen := slices.ContainsFunc(k.open, func(d *openKind) bool { return d.isOf(o) })
	if len(k.byKind[gk]) == 0 && !hasFacts && !isOpen {
		return false
	}
	if _, hasRows := k.operatorOf(o); hasRows || k.operators == nil {
		return true
	}
	return slices.ContainsFunc(k.byKind[gk], (*customKind).ofConfigConnector) || !k.operatorListed(o)
}

// operatorListed reports whether the catalogue has kinds of an object's operator. The facts about its CRD name the
// project, also where several projects share a group; without them, the group decides.
func (k *kinds) operatorListed(o *manifest.Object) bool {
	facts, ok := crdfacts.Find(o.APIVersion, o.Kind)
	return slices.ContainsFunc(k.operators.All(), func(kind *operators.Kind) bool {
		if ok {
			return kind.Operator.Module == facts.Project.Module
		}
		return kind.Group == o.Group
	})
}

// countUnchecked counts the changed objects of kinds whose definition is not complete.
func (c *checker) countUnchecked(p pair) {
	if p.changed() && !c.kinds.complete(p.new) {
		c.report.UncheckedKinds = countKind(c.report.UncheckedKinds, p.new, true)
	}
}
