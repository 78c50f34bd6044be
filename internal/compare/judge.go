package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/celrun"
)

// judge compares one pair by every definition of its kind.
func (c *checker) judge(p pair) (verdict, error) {
	var all verdict
	if p.new == nil {
		return all, nil
	}
	if err := c.kinds.unknownVersion(p.new); err != nil {
		return all, err
	}
	if p.ambiguous != nil {
		return c.judgeAmbiguous(p)
	}
	if p.old == nil {
		if p.new.Kind != "" {
			all.identify(p)
		}
		return all, nil
	}
	if p.unchanged() && c.kinds.sameDefaults(p.new) {
		return all, nil
	}
	if builtin.Recreated(p.new.Document.Object) {
		return c.judgeRecreated(p)
	}
	return c.judgeUpdate(p)
}

// judgeUpdate compares an object that both sides have.
func (c *checker) judgeUpdate(p pair) (verdict, error) {
	var all verdict
	judged := false
	for _, d := range c.kinds.covering(p) {
		judged = true
		v, err := d.judge(p)
		if err != nil {
			return all, err
		}
		if all.replacement == nil || v.replacement != nil && v.replacement.worse(all.replacement) {
			all.replacement = v.replacement
		}
		all.merge(v.breaches)
		all.more += v.more
		for _, u := range v.unknown {
			if !slices.Contains(all.unknown, u) {
				all.unknown = append(all.unknown, u)
			}
		}
		all.notes = append(all.notes, v.notes...)
	}
	if !judged {
		all.unknown = append(all.unknown, remark{"apiVersion", fmt.Sprintf(
			"the old object (%s:%d) is of %s, and no CRD has both versions", p.old.Document.File, p.old.Document.Position().Line, p.old.APIVersion)})
	}
	if p.new.Kind != "" {
		all.identify(p)
	}
	slices.SortStableFunc(all.breaches, func(a, b breach) int { return celrun.ComparePaths(a.path, b.path) })
	return all, nil
}

// judgeRecreated judges an object that its tool deletes and creates anew each time. Where it was not like that before, that
// is true of the tool only: whoever applies the object updates it.
func (c *checker) judgeRecreated(p pair) (verdict, error) {
	if builtin.Recreated(p.old.Value()) {
		return verdict{}, nil
	}
	v, err := c.judgeUpdate(p)
	if err != nil || len(v.breaches)+v.more == 0 {
		return verdict{}, err
	}
	return verdict{unknown: []remark{{"metadata.annotations", fmt.Sprintf(
		"the object becomes a hook, which its tool deletes and creates anew; an apply of it is refused: %s", v.breaches[0].summary())}}}, nil
}
