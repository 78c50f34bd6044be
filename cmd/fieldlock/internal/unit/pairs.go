package unit

import (
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
)

// A unit of NEW is paired with the one of OLD that has its kind, name and definition, and differs if its record does:
//
//	OLD                                   NEW
//	kustomization prod  reads a, b        kustomization prod  reads a, b      unchanged, unless a or b changes
//	HelmRelease shop    printed by prod   HelmRelease shop    printed by dev  one pair: another unit prints the definition now
//	kustomization old                     (none)                              rendered from the files of NEW: they may be applied yet

// pairUnits pairs the units of both sides by kind and name, and by the unit that prints their definition unless that is
// another one in NEW.
func (c *comparison) pairUnits() {
	gone, paired := map[string]*Unit{}, map[*Unit]bool{}
	for _, old := range c.olds.units {
		if c.news.byKey[old.pairKey()] == nil && gone[old.written()] == nil {
			gone[old.written()] = old
		}
	}
	for _, n := range c.news.units {
		if !c.newSide.selects(n) {
			continue
		}
		old := c.olds.byKey[n.pairKey()]
		isCut := n.isCut(old)
		if was := gone[n.written()]; old == nil && was != nil {
			before := *was
			before.parent = n.parent // the objects of both pair
			old, paired[was], isCut = &before, true, n.isCut(was)
		}
		was := c.wasDefined(n, old)
		if was != nil {
			c.keepMeaning(n, was)
		}
		p := unitPair{new: n, old: old, changed: c.differ(n, old) || isCut}
		c.pairs = append(c.pairs, p)
		c.addUnclear(p, was)
		if old != nil && (old.tree == nil && n.tree != nil || n.remote() && !old.remote()) {
			before := *old
			before.Name += " from the tree"
			c.pairs = append(c.pairs, c.pairWithItself(&before))
		}
	}
	for _, old := range c.olds.units {
		if c.news.byKey[old.pairKey()] != nil || paired[old] || !c.oldSide.selects(old) {
			continue
		}
		c.olds.resolve(old)
		p := unitPair{old: old, changed: true}
		if exists(c.news.tree, old.File) {
			p = c.pairWithItself(old)
			p.changed = p.changed || old.kind.group != "" // what an object applied goes with it
		}
		c.pairs = append(c.pairs, p)
	}
}

// isCut reports whether a tool no longer applies the definition of a unit, or of one that the unit comes from, though
// NEW still has it in a file. What the unit applied goes with it.
func (n *Unit) isCut(old *Unit) bool {
	var top *Unit // the outermost unit of a tool
	for u := n; u != nil; u = u.parent {
		if u.kind.group != "" {
			top = u
		}
	}
	isBelow := false
	for u := old; u != nil && top != nil; u = u.parent {
		if isBelow && u.kind.group != "" {
			return true
		}
		isBelow = isBelow || u.written() == top.written()
	}
	return false
}

// addUnclear lists a unit as not covered if nothing tells which objects it refers to, and the unit or one of these
// objects changes. was is the unit in OLD that has this definition.
func (c *comparison) addUnclear(p unitPair, was *Unit) {
	if was == nil || p.new.Err != nil {
		return
	}
	if file := p.new.unsureFile(was); file != "" {
		c.uncovered(p.new.Name, p.new.Kind, c.news.tree.Name(file), "it may refer to what changed in "+file)
	} else if why := p.new.unclear(); why != "" && p.changed {
		c.uncovered(p.new.Name, p.new.Kind, c.news.tree.Name(p.new.File), why)
	}
}

// differ reports whether a unit changes. It does if its records differ, and its inputs differ, too, or nothing tells
// which objects it refers to.
func (c *comparison) differ(n, old *Unit) bool {
	switch {
	case old == nil:
		c.news.resolve(n)
		return true
	case c.news.record(n) == c.olds.record(old) && !n.refersToArtifact():
		return false
	}
	c.news.resolve(n)
	c.olds.resolve(old)
	c.shareMeaning(n, old)
	return n.unclear() != "" || n.inputDigest(c.news.tree) != old.inputDigest(c.olds.tree)
}

// shareMeaning makes it clear what the variables of a Kustomization are, if both sides have the same candidates for
// their object: those that all candidates have. The others have values that the tree does not tell.
func (c *comparison) shareMeaning(n, old *Unit) {
	shares := false
	for r, now := range n.refers {
		was := old.refers[r]
		isVariables := n.Kind == "Flux Kustomization" && (r.Kind == "ConfigMap" || r.Kind == "Secret")
		if !isVariables || now.unclear == "" || was == nil || was.unclear == "" {
			continue
		}
		if object := now.alike(was); object != nil {
			now.object, now.unclear, was.object, was.unclear, shares = object, "", object, "", true
		}
	}
	if shares {
		c.news.redefine(n, n.refers)
		c.olds.redefine(old, old.refers)
	}
}

// pairWithItself pairs a unit of OLD with itself, rendered from NEW's files. It is for units that NEW no longer
// defines, or reads at another revision than the tree or elsewhere: none of these excuses a change of the files.
func (c *comparison) pairWithItself(old *Unit) unitPair {
	again := *old
	c.news.close(&again)
	changed := again.inputDigest(c.news.tree) != old.inputDigest(c.olds.tree)
	return unitPair{new: &again, old: old, forced: true, changed: changed}
}

// wasDefined returns the unit of OLD whose definition is that of a unit, perhaps in another file.
func (c *comparison) wasDefined(n, old *Unit) *Unit {
	if old == nil {
		i := slices.IndexFunc(c.olds.units, func(u *Unit) bool {
			return u.String() == n.String() && c.news.byKey[u.pairKey()] == nil
		})
		if i >= 0 {
			return c.olds.units[i]
		}
	}
	return old
}

// keepMeaning makes a unit refer to the objects of the files that OLD means, as long as NEW has these: a change may add
// others of their names.
func (c *comparison) keepMeaning(n, old *Unit) {
	keeps := map[flux.Reference]string{}
	for r, was := range old.refers {
		if now := n.refers[r]; now != nil && len(was.files) > 0 && !slices.Contains(now.files, was.files[0]) &&
			now.contents[was.files[0]] != "" {
			keeps[r] = was.files[0]
		}
	}
	if len(keeps) > 0 {
		n.keeps = keeps
		c.news.redefine(n, references{})
	}
}

// unclear returns why nothing tells what a reference of a unit means, "" if all are clear.
func (n *Unit) unclear() string {
	for _, r := range inOrder(n.refers) {
		if why := n.refers[r].unclear; why != "" {
			return why
		}
	}
	return ""
}

// unsureFile returns a file with an object that a unit may refer to as well, or that may make what it refers to, and
// that changes; "" for none.
func (n *Unit) unsureFile(old *Unit) string {
	for _, r := range inOrder(n.refers) {
		now, was := n.refers[r], old.refers[r]
		if was == nil {
			continue
		}
		for _, file := range sorted(slices.AppendSeq(slices.Collect(maps.Keys(now.contents)),
			maps.Keys(was.contents))) {
			content, before := now.contents[file], was.contents[file]
			counts := content != "" && !now.apart[file] || before != "" && !was.apart[file]
			if counts && content != before &&
				(content != "" && content != now.content() || before != "" && before != was.content()) {
				return file
			}
		}
		for _, file := range sorted(slices.AppendSeq(slices.Collect(maps.Keys(now.makers)), maps.Keys(was.makers))) {
			if now.makers[file] != was.makers[file] {
				return file
			}
		}
	}
	return ""
}
