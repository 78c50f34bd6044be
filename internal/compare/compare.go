package compare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// isPlain reports whether an object that has no apiVersion or no kind is a document of its own, which one of the
// schemas may be for: a JSON Schema, or a schema that has the name in the document's kind.
func (in *Input) isPlain(object map[string]any) bool {
	kind, _ := object["kind"].(string)
	return slices.ContainsFunc(slices.Concat(in.NewSchemas.Documents, in.OldSchemas.Documents),
		func(d *schemadoc.Document) bool {
			_, named := d.Find("", kind)
			return d.Root != "" || kind != "" && object["apiVersion"] == nil && named
		})
}

// Check compares the objects of in.New with the objects of in.Old. Report.Errors lists the objects that cannot be read
// or compared; the rest is checked all the same. The error is about an input that holds no object at all.
func Check(in Input, o Options) (*Report, error) {
	var newPlain, oldPlain []*manifest.Object
	// otherwise no document is plain, and no list is copied
	if len(in.NewSchemas.Documents)+len(in.OldSchemas.Documents) > 0 {
		in.New, newPlain = manifest.SplitPlain(in.New, in.isPlain)
		in.Old, oldPlain = manifest.SplitPlain(in.Old, in.isPlain)
		nameAfterNewFile(newPlain, oldPlain)
	}
	equal := in.equalDocuments()
	newSet, oldSet := in.sets(equal)
	documents := len(newPlain) + len(oldPlain) + newSet.Documents + oldSet.Documents
	unread := len(newSet.Errs) + len(oldSet.Errs) + len(in.Errs) + len(in.NotCovered) + len(in.Excluded) + in.Unchanged
	if documents+unread == 0 {
		return nil, errors.New("OLD and NEW hold no object; there is nothing to check")
	}
	if o.Advice == (Advice{}) {
		o.Advice = flags()
	}
	amender := manifest.NewAmender(in.Locks)
	o.Builtin = amender.Builtin(o.Builtin)
	newCRDs, oldCRDs := amender.CRDs(slices.Concat(in.NewSchemas.CRDs, newSet.CRDs)),
		amender.CRDs(slices.Concat(in.OldSchemas.CRDs, oldSet.CRDs))
	given := func(c manifest.CRD) bool {
		isOne := func(other manifest.CRD) bool { return other.Document == c.Document }
		return slices.ContainsFunc(in.NewSchemas.CRDs, isOne) || slices.ContainsFunc(in.OldSchemas.CRDs, isOne)
	}
	c := &checker{
		Options: o,
		given:   given,
		kinds:   newKinds(newCRDs, oldCRDs, given, o),
		live:    in.Live,
		report: &Report{
			Version:      reportVersion,
			SkippedKinds: []result.KindCount{}, Violations: []result.Violation{}, Unknown: []result.Remark{},
			Notes: []result.Remark{}, Replacements: []result.Replacement{}, Deletions: []result.Deletion{},
			UncheckedKinds: []result.KindCount{}, Warnings: []string{},
			Others: otherDocuments(newSet.Others, oldSet.Others),
		},
	}
	c.report.Units, c.report.NotCovered, c.report.Unchanged = append([]result.Unit{}, in.Units...),
		append([]result.NotCovered{}, in.NotCovered...), in.Unchanged
	c.report.Excluded = append([]string{}, in.Excluded...)
	amender.Documents(slices.Concat(in.NewSchemas.Documents, in.OldSchemas.Documents))
	c.kinds.amender = amender
	c.kinds.addDocuments(in.NewSchemas.Documents, in.OldSchemas.Documents)
	c.kinds.defaults = defaults{in.NewDefaults, in.OldDefaults}
	for _, f := range manifest.Forgive(newSet, oldSet) {
		c.kinds.addFaulty(f)
	}
	for _, o := range slices.Concat(oldSet.Objects, newSet.Objects) {
		c.kinds.identify(o)
	}
	for _, p := range newSet.Patches {
		c.kinds.identify(p.Object)
	}
	c.policies = newPolicies(c.kinds, slices.Concat(in.NewSchemas.Objects, newSet.Objects),
		slices.Concat(in.OldSchemas.Objects, oldSet.Objects))
	c.fail(in.Errs...)
	if newSet.Unrendered != nil { // one error is enough for the templates of both sides
		oldSet.Errs = slices.DeleteFunc(oldSet.Errs, func(err error) bool { return err == oldSet.Unrendered })
	}
	c.fail(oldSet.Errs...)
	c.fail(newSet.Errs...)
	c.fail(c.kinds.errs...)
	c.fail(amender.Errs()...)
	c.report.Warnings = append(c.report.Warnings, slices.Concat(in.Warnings, c.kinds.warnings, c.policies.Warnings(),
		amender.Warnings())...)
	newRepeats, oldRepeats := slices.Concat(in.NewSchemas.Repeated, newSet.Repeated),
		slices.Concat(in.OldSchemas.Repeated, oldSet.Repeated)
	c.report.Warnings = append(c.report.Warnings, repeatedKeys(newRepeats, oldRepeats)...)
	for _, p := range newSet.Patches {
		if was := becamePatch(p, newSet, oldSet); was != nil {
			c.report.Unknown = append(c.report.Unknown,
				result.Remark{Subject: subject(p.Object, nil), Message: fmt.Sprintf(
					"it is a patch of %s, and the object itself in OLD (%s); %s to check what it changes",
					p.Kustomization, was.Document.File, o.Advice.Kustomize)})
			continue
		}
		c.report.Notes = append(c.report.Notes, result.Remark{Subject: subject(p.Object, nil), Message: fmt.Sprintf(
			"it is a patch of %s, not an object, and was skipped; to check what it changes, %s", p.Kustomization,
			o.Advice.Kustomize)})
	}
	oldSet.Objects, newSet.Objects = append(oldSet.Objects, oldPlain...), append(newSet.Objects, newPlain...)
	olds, oldSkipped := c.covered(oldSet, nil, equal)
	news, newSkipped := c.covered(newSet, oldSet, equal)
	c.skip(newSkipped, oldSkipped, in.Live != nil)
	for _, r := range repeatsIn(news, olds) {
		c.fail(r.asMistake())
	}
	for _, r := range repeatsIn(olds, news) {
		if !(pair{new: r.Object, old: r.first}).unchanged() {
			c.report.NotCovered = append(c.report.NotCovered, r.notCovered())
		}
	}
	uninstalled, olds := split(olds, c.uninstalled)
	pairs, partial := pairUp(news, olds, c.kinds.partialTest())
	for _, o := range uninstalled {
		pairs = append(pairs, pair{old: o})
	}
	c.report.Others += len(partial)
	c.findGone(newSet, oldSet)
	if in.Live != nil {
		pairs = livePairs(news, in.Live)
	}
	verdicts, errs := c.judgeAll(pairs)
	c.addVerdicts(pairs, verdicts, errs)
	for _, o := range c.gone.uncovered {
		c.addDeletion(o, false)
	}
	if in.Live == nil {
		c.addUnsure(in.Unsure, newSet)
	}
	c.hiddenObjects(in.Hidden, pairs)
	c.overridden(&in, pairs)
	c.report.Skipped += c.report.Others
	c.report.markAccepted(&in, o.Now)
	c.report.Warnings = append(append(c.report.Warnings, slices.Concat(c.kinds.notRun(), c.kinds.unpicked())...),
		c.caveats(pairs)...)
	c.report.finish(o.Strict)
	return c.report, nil
}

// equalDocuments returns the documents that a unit has on both sides with equal objects: no definition has to judge
// them. It is nil if all documents have to be judged.
func (in *Input) equalDocuments() map[*yamldoc.Document]bool {
	if !in.Locks.Empty() || in.Live != nil {
		return nil
	}
	return manifest.EqualDocuments(in.New, in.Old)
}

// sets sorts the objects of both sides. CRDs that are equal on both sides are read only if something is judged by them.
func (in *Input) sets(equal map[*yamldoc.Document]bool) (newSet, oldSet *manifest.Set) {
	newSet, oldSet = manifest.ObjectsWithoutCRDs(in.New), manifest.ObjectsWithoutCRDs(in.Old)
	if equal == nil {
		all := func(*manifest.Object) bool { return true }
		newSet.ReadCRDs(all, nil)
		oldSet.ReadCRDs(all, nil)
		return newSet, oldSet
	}
	judging := map[string]bool{} // kinds that may be judged by their CRDs, or be the parameters of a policy
	for _, o := range slices.Concat(newSet.Objects, oldSet.Objects) {
		if !equal[o.Document] {
			judging[o.Kind] = true
		}
		if kind, ok := fieldpath.Value(o.Document.Object, "spec", "paramKind", "kind").(string); ok {
			judging[kind] = true
		}
	}
	for _, f := range in.OldWritten {
		for _, d := range f.Documents {
			kind, _ := d.Object["kind"].(string)
			judging[kind] = true
		}
	}
	wanted := func(other *manifest.Set) func(*manifest.Object) bool {
		theirs := map[manifest.ID][]*manifest.Object{}
		for _, o := range other.Objects {
			theirs[o.ID] = append(theirs[o.ID], o)
		}
		return func(o *manifest.Object) bool {
			kind, ok := fieldpath.Value(o.Document.Object, "spec", "names", "kind").(string)
			return !ok || judging[kind] || !slices.ContainsFunc(theirs[o.ID],
				func(other *manifest.Object) bool { return pair{new: o, old: other}.unchanged() })
		}
	}
	newSet.ReadCRDs(wanted(oldSet), nil)
	oldSet.ReadCRDs(wanted(newSet), newSet)
	return newSet, oldSet
}

// becamePatch returns an object of OLD that NEW no longer has in the same file and may have turned into the patch p;
// nil if there is no such object. Copies of the object in other files do not matter. A patch that OLD has too did not
// come from an object.
func becamePatch(p manifest.Patch, newSet, oldSet *manifest.Set) *manifest.Object {
	if slices.ContainsFunc(oldSet.Patches,
		func(old manifest.Patch) bool { return old.ID == p.ID && jsonvalue.Equal(old.Value(), p.Value()) }) {
		return nil
	}
	for _, was := range oldSet.Objects {
		stays := func(o *manifest.Object) bool { return o.ID == was.ID && o.Path == was.Path }
		if was.Fits(p.ID) && !slices.ContainsFunc(newSet.Objects, stays) {
			return was
		}
	}
	return nil
}

// otherDocuments counts the documents of both sides that are not objects; a file that both sides have counts once.
func otherDocuments(news, olds []string) int {
	count := map[string]int{}
	for _, path := range olds {
		count[path]++
	}
	n := len(olds)
	for _, path := range news {
		if count[path]--; count[path] < 0 {
			n++
		}
	}
	return n
}

// covered returns the objects of set that a definition covers, and the others. old is nil if set is OLD. Objects
// in equal documents need no definition.
func (c *checker) covered(set, old *manifest.Set, equal map[*yamldoc.Document]bool) (
	list, skipped []*manifest.Object) {
	for _, o := range set.Objects {
		switch {
		case equal[o.Document] && o.Invalid == nil:
			list = append(list, o)
		case len(c.kinds.definitionsOf(o)) == 0:
			skipped = append(skipped, o)
		case o.Invalid != nil:
			c.failInvalid(o, old)
		default:
			list = append(list, o)
		}
	}
	return list, skipped
}

// failInvalid adds the error of an object of NEW that cannot be identified, unless OLD has an equal object. In a
// directory of OLD such an object is not an error: kubectl refuses it, so no cluster has it, and a change may repair
// it.
func (c *checker) failInvalid(o *manifest.Object, old *manifest.Set) {
	switch {
	case old == nil && o.Path != "":
	case old != nil && slices.ContainsFunc(old.Objects, func(was *manifest.Object) bool {
		return was.Invalid != nil && jsonvalue.Equal(was.Value(), o.Value())
	}):
	default:
		c.fail(o.Invalid)
	}
}
