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
	if p.unclear != "" {
		return c.judgeUnclear(p)
	}
	if p.old == nil {
		return c.judgeCopy(p)
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
	for _, d := range c.kinds.of(p.new) {
		if !d.covers(p.new.APIVersion) || !d.covers(p.old.APIVersion) {
			continue
		}
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

// judgeCopy judges an object that OLD has in other files only. In another cluster it is a create. In the same cluster it
// is an update, which may be refused.
func (c *checker) judgeCopy(p pair) (verdict, error) {
	var refused string
	for i, o := range p.copies {
		v, err := c.judge(pair{new: p.new, old: o})
		if err != nil || len(v.breaches)+v.more == 0 || i == maxUnclear {
			return verdict{}, err
		}
		refused = v.breaches[0].summary()
	}
	if refused == "" {
		return verdict{}, nil
	}
	return verdict{unknown: []remark{{"metadata.name", fmt.Sprintf(
		"OLD has the object in another file: %s; applied to the same cluster, this one is refused: %s", places(p.copies), refused)}}}, nil
}

// maxUnclear bounds the combinations that are tried for one object.
const maxUnclear = 64

// judgeUnclear judges an object of which nobody can tell what it was. When every combination of its rivals and
// candidates is refused, so is the change; when every one is allowed, so is the change; otherwise the verdict is unknown.
// So copying an object cannot hide that it changed.
func (c *checker) judgeUnclear(p pair) (verdict, error) {
	unknown := verdict{unknown: []remark{{"metadata.name", p.unclear}}}
	if len(p.rivals)*len(p.candidates) > maxUnclear {
		return unknown, nil
	}
	var own verdict
	refused, allowed := false, false
	for _, n := range p.rivals {
		for _, o := range p.candidates {
			v, err := c.judge(pair{new: n, old: o})
			if err != nil {
				return verdict{}, err
			}
			refused = refused || len(v.breaches)+v.more+len(v.unknown) > 0
			allowed = allowed || len(v.breaches)+v.more == 0
			if refused && allowed {
				return unknown, nil
			}
			if n == p.new && own.breaches == nil {
				own = v
			}
		}
	}
	return own, nil
}
