package unit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Compare finds what two trees deploy, and renders and reads what differs.
//
// A unit that only NEW has excuses no file: what OLD reads as it is written, or through another unit, is read in that
// way from NEW too, as long as it is there.
func Compare(newSide, oldSide *Side, o Options) (*Comparison, error) {
	c := &comparison{newSide: newSide, oldSide: oldSide, out: &Comparison{}, engine: newEngine(o)}
	defer c.engine.close()
	if !o.Values && c.nothingChanged() {
		return c.out, nil
	}
	var err error
	if c.news, err = c.engine.find(newSide.Tree); err != nil {
		return nil, fmt.Errorf("in NEW: %w", err)
	}
	if c.olds, err = c.engine.find(oldSide.Tree); err != nil {
		return nil, fmt.Errorf("in OLD: %w", err)
	}
	c.news.edits, c.olds.edits = newEdits(newSide.Tree, oldSide.Tree), newEdits(oldSide.Tree, newSide.Tree)
	c.checkUnits()
	c.exclude()
	c.pairUnits()
	c.renderChanged()
	c.addElsewhere()
	c.pairFiles()
	c.addWritten()
	c.addPredecessors()
	c.addNeeded()
	c.addUnread()
	if o.Values {
		c.addValues()
	}
	c.forgiveNew()
	c.identifyChanges()
	return c.out, nil
}

// forgiveNew takes new units that cannot be rendered for unchanged, as creates need no rules, unless OLD could have
// held their objects: if it has an object that NEW no longer has, or a unit that cannot be rendered either.
func (c *comparison) forgiveNew() {
	defer func() { c.out.NotCovered = append(c.out.NotCovered, c.created...) }()
	has := map[named]bool{}
	for _, as := range objectsOf(c.out.New) {
		as.namespace = ""
		has[as] = true
	}
	for _, as := range objectsOf(c.out.Old) {
		if as.namespace = ""; !has[as] {
			return
		}
	}
	names := map[string]bool{}
	for _, u := range slices.Concat(c.news.units, c.news.elsewhere) {
		names[u.String()] = true
	}
	for _, u := range slices.Concat(c.olds.units, c.olds.elsewhere) {
		if u.Err != nil && !names[u.String()] {
			return
		}
	}
	for i := range c.created {
		c.created[i].Changed = false
	}
}

// nothingChanged reports whether both trees have the same files with the same content, as far as they were not left
// out.
func (c *comparison) nothingChanged() bool {
	news, olds := c.newSide.Tree.Paths(), c.oldSide.Tree.Paths()
	if c.newSide.Partial || c.oldSide.Partial || !slices.Equal(news, olds) ||
		len(c.newSide.Files) != len(c.oldSide.Files) {
		return false
	}
	for i := range c.newSide.Files {
		if n, o := &c.newSide.Files[i], &c.oldSide.Files[i]; n.Path != o.Path || n.Err != nil ||
			c.newSide.id(n) != c.oldSide.id(o) {
			return false
		}
	}
	for _, name := range news {
		if state(c.newSide.Tree, name) != state(c.oldSide.Tree, name) {
			return false
		}
	}
	c.out.Unchanged = len(c.newSide.Files)
	return true
}

// checkUnits adds an error if a changed unit is one of those beyond maxUnits.
func (c *comparison) checkUnits() {
	before := map[string]string{}
	for _, u := range slices.Concat(c.olds.leftOut, c.olds.units) {
		before[u.pairKey()] = c.olds.record(u)
	}
	for _, u := range c.news.leftOut {
		if was, ok := before[u.pairKey()]; !ok || was != c.news.record(u) {
			c.out.Errs = append(c.out.Errs,
				c.news.mistakeOf(u, fmt.Errorf("the tree has more than %d units, and no more are read", maxUnits)))
			return
		}
	}
}

// addElsewhere lists the definitions of units whose files are not in the tree, and the units of NEW whose files were not
// in the tree of OLD, such as the release of a chart that the change copies into the tree.
func (c *comparison) addElsewhere() {
	olds, names, stays := map[string][]*Unit{}, map[string]bool{}, map[string]bool{}
	for _, u := range c.news.elsewhere {
		stays[u.written()] = true
	}
	for _, u := range c.olds.elsewhere {
		if c.oldSide.names(u.File) {
			olds[u.String()] = append(olds[u.String()], u)
		}
		isOther := strings.Contains(u.Name, "$") && stays[u.written()] // a variable has another value elsewhere
		names[u.String()] = names[u.String()] || !isOther
	}
	for _, u := range c.olds.units {
		names[u.String()] = true
	}
	for _, n := range c.news.missingUnits(c.newSide, func(u *Unit) bool {
		return !slices.ContainsFunc(olds[u.String()], func(old *Unit) bool { return !c.differ(u, old) })
	}) {
		c.addNotCovered(n, !names[n.Kind+" "+n.Unit])
	}
	for _, p := range c.pairs {
		if p.new != nil && p.old == nil && len(olds[p.new.String()]) > 0 {
			_, _, reason := p.new.place(olds[p.new.String()][0].Err)
			c.out.NotCovered = append(c.out.NotCovered,
				c.news.changedNotCovered(p.new, &rendered.NotCovered{Reason: noBaseline + reason}))
		}
	}
}

// identifyChanges adds a digest to what changed and is not covered, of all that both sides have of it. An acceptance
// that has it does not accept the next change.
func (c *comparison) identifyChanges() {
	for i := range c.out.NotCovered {
		if n := &c.out.NotCovered[i]; n.Changed {
			sum := sha256.Sum256([]byte(c.news.textOf(n) + "\x00" + c.olds.textOf(n)))
			n.Change = hex.EncodeToString(sum[:8])
		}
	}
}
