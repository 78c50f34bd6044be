package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Check compares the objects of in.New with those of in.Old. What cannot be read or compared is listed in
// Report.Errors, and the rest is checked all the same. The error is about an input that holds no object at all.
func Check(in Input, o Options) (*Report, error) {
	var newPlain, oldPlain []*manifest.Object
	if in.hasPlainSchema() {
		in.New, newPlain = manifest.SplitPlain(in.New)
		in.Old, oldPlain = manifest.SplitPlain(in.Old)
		nameAlike(newPlain, oldPlain)
	}
	newSet, oldSet := manifest.Objects(in.New), manifest.Objects(in.Old)
	if len(newPlain)+len(oldPlain)+newSet.Documents+oldSet.Documents+len(newSet.Errs)+len(oldSet.Errs)+len(in.Errs) == 0 {
		return nil, errors.New("OLD and NEW hold no object; there is nothing to check")
	}
	c := &checker{
		Options: o,
		kinds:   newKinds(slices.Concat(in.NewSchemas.CRDs, newSet.CRDs), slices.Concat(in.OldSchemas.CRDs, oldSet.CRDs), o),
		report: &Report{
			SkippedKinds: []SkippedKind{}, Violations: []Violation{}, Unknown: []Remark{}, Notes: []Remark{}, Replacements: []Replacement{},
			Warnings: []string{}, Others: others(newSet.Others, oldSet.Others),
		},
	}
	c.kinds.addDocuments(in.NewSchemas.Documents, in.OldSchemas.Documents)
	c.kinds.defaults = defaults{in.NewDefaults, in.OldDefaults}
	for _, o := range slices.Concat(oldSet.Objects, newSet.Objects) {
		c.kinds.identify(o)
	}
	for _, p := range newSet.Patches {
		c.kinds.identify(p.Object)
	}
	c.fail(in.Errs...)
	if newSet.Unrendered != nil { // one error is enough for the templates of both sides
		oldSet.Errs = slices.DeleteFunc(oldSet.Errs, func(err error) bool { return err == oldSet.Unrendered })
	}
	c.fail(oldSet.Errs...)
	c.fail(newSet.Errs...)
	c.fail(c.kinds.errs...)
	c.report.Warnings = append(append(c.report.Warnings, in.Warnings...), c.kinds.warnings...)
	c.report.Warnings = append(c.report.Warnings, repeatedKeys(slices.Concat(in.NewSchemas.Repeated, newSet.Repeated), slices.Concat(in.OldSchemas.Repeated, oldSet.Repeated))...)
	for _, p := range newSet.Patches {
		if was := becamePatch(p, newSet, oldSet); was != nil {
			c.report.Unknown = append(c.report.Unknown, Remark{subject(p.Object, ""), "", fmt.Sprintf(
				"it is a patch of %s, and the object itself in OLD (%s); render the manifests with --render 'kustomize build DIR' to check what it changes",
				p.Kustomization, was.Document.File)})
			continue
		}
		c.report.Notes = append(c.report.Notes, Remark{subject(p.Object, ""), "", fmt.Sprintf(
			"it is a patch of %s, not an object, and was skipped; to check what it changes, render the manifests with --render 'kustomize build DIR'", p.Kustomization)})
	}
	oldSet.Objects, newSet.Objects = append(oldSet.Objects, oldPlain...), append(newSet.Objects, newPlain...)
	olds, news := c.covered(oldSet, nil), c.covered(newSet, oldSet)
	c.fail(repeated(olds, news)...)
	c.fail(repeated(news, olds)...)
	pairs, partial := pairUp(news, olds, c.kinds.isPartial())
	c.report.Others += len(partial)
	if in.Live != nil {
		pairs = livePairs(news, in.Live)
	}
	c.compareAll(pairs)
	c.hiddenObjects(in.Hidden, pairs)
	c.report.Skipped += c.report.Others
	c.report.accept(&in, o.Now)
	c.report.Warnings = append(append(c.report.Warnings, c.kinds.notRun()...), c.caveats(pairs)...)
	c.report.finish(o.Strict)
	return c.report, nil
}

// becamePatch returns an object of OLD that is no longer in its file in NEW, and that a patch of NEW may have been; nil for
// none. Another copy of the object in NEW tells nothing, and a patch that OLD has too was none.
func becamePatch(p manifest.Patch, newSet, oldSet *manifest.Set) *manifest.Object {
	if slices.ContainsFunc(oldSet.Patches, func(old manifest.Patch) bool { return old.ID == p.ID && jsonvalue.Equal(old.Value(), p.Value()) }) {
		return nil
	}
	for _, was := range oldSet.Objects {
		isOne := was.Group == p.Group && was.Kind == p.Kind && was.Name == p.Name && (was.Namespace == p.Namespace || was.Namespace == "" || p.Namespace == "")
		stays := func(o *manifest.Object) bool { return o.ID == was.ID && o.Path == was.Path }
		if isOne && !slices.ContainsFunc(newSet.Objects, stays) {
			return was
		}
	}
	return nil
}

// others counts the documents of both sides that are not objects; a file that both sides have counts once.
func others(news, olds []string) int {
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

// compareAll judges the pairs and adds the verdicts to the report.
func (c *checker) compareAll(pairs []pair) {
	if c.Begin != nil {
		c.Begin(len(pairs))
	}
	verdicts := make([]verdict, len(pairs))
	errs := make([]error, len(pairs))
	manifest.Each(len(pairs), func(i int) {
		verdicts[i], errs[i] = c.judge(pairs[i])
		verdicts[i].settle(pairs[i].live)
		if c.Step != nil {
			c.Step()
		}
	})
	resolveAll(pairs, verdicts)
	r := &printer{}
	for i, p := range pairs {
		switch {
		case p.new == nil:
			c.report.Deleted++
			continue
		case p.old == nil && !p.updates:
			c.report.Created++
		default:
			c.report.Updated++
		}
		if errs[i] != nil {
			c.fail(errs[i])
		}
		c.add(r, p, &verdicts[i])
	}
	c.report.Checked = c.report.Created + c.report.Updated + c.report.Deleted
}

// add adds a verdict to the report.
func (c *checker) add(r *printer, p pair, v *verdict) {
	replaced := v.replacement != nil && v.replacement.requested && v.replacement.harmless()
	for i := range v.breaches {
		violation := r.violation(p.new, &v.breaches[i])
		violation.addOld(p.new, cmp.Or(p.old, v.old))
		violation.Replaced = replaced
		c.report.Violations = append(c.report.Violations, violation)
	}
	c.report.MoreViolations += v.more
	if v.more > 0 {
		c.report.Warnings = append(c.report.Warnings, fmt.Sprintf("%s %s has %d more violations than are listed", p.new.Kind, p.new, v.more))
	}
	for _, u := range v.unknown {
		c.report.Unknown = append(c.report.Unknown, Remark{subject(p.new, u.path), u.path, u.message})
	}
	for _, n := range v.notes {
		c.report.Notes = append(c.report.Notes, Remark{subject(p.new, n.path), n.path, n.message})
	}
	if v.replacement != nil {
		c.report.Replacements = append(c.report.Replacements, Replacement{
			Subject: subject(p.new, ""), Cost: v.replacement.cost, Requested: v.replacement.requested, Message: v.replacement.message,
			How: append([]string{}, v.replacement.how...),
		})
	}
}

// finish decides what the report means.
func (r *Report) finish(strict bool) {
	refused := r.MoreViolations > 0 || strict && len(r.Unknown) > 0
	for i := range r.Violations {
		refused = refused || r.Violations[i].Refused()
	}
	r.Allowed = !refused
}
