package unit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Comparison is what two trees deploy, as far as it differs.
type Comparison struct {
	// New and Old are the objects to compare: those of changed units and changed files. Then come the objects of unchanged
	// files and units that the changed ones need, which both sides have alike.
	New, Old []manifest.File
	// Units are those that NEW has, or that only OLD has.
	Units      []Status
	NotCovered []NotCovered
	// Errs are the mistakes that the change brings.
	Errs []error
	// Unchanged is how many units and files were left out, since both sides have them alike.
	Unchanged int
	// NewWritten and OldWritten are the changed files that units read, as they are written, and Readers the units of NEW that read them.
	NewWritten, OldWritten []manifest.File
	Readers                map[string][]string
	// Failing are the units of NEW that may read a changed file and cannot be rendered.
	Failing map[string][]string
	// Warnings are what the change touches and rendering cannot tell.
	Warnings []string
	// Excluded are the files of NEW that Options.Exclude leaves out, not parsed.
	Excluded []manifest.File
}

// Status is what came of a unit.
type Status struct {
	Unit, Kind string
	Objects    int
	Changed    bool
}

// Compare finds what two trees deploy, and renders and reads what differs.
//
// A unit that only NEW has excuses no file: what OLD reads as it is written, or through another unit, is read in that way from
// NEW too, as long as it is there.
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

// forgiveNew takes new units that cannot be rendered for unchanged, as creates need no rules, unless OLD could have held their objects: if it
// has an object that NEW no longer has, or a unit that cannot be rendered either.
func (c *comparison) forgiveNew() {
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
	for i := range c.out.NotCovered {
		if n := &c.out.NotCovered[i]; n.isNew {
			n.Changed = false
		}
	}
}

// comparison is one run of Compare.
type comparison struct {
	engine           *engine
	newSide, oldSide *Side
	news, olds       *side
	out              *Comparison

	pairs     []unitPair
	unchanged []filePair
}

// unitPair is a unit on both sides; one of them is nil for a unit that only one side has.
type unitPair struct {
	new, old *Unit
	changed  bool
	// forced is set for a unit of OLD that can still be rendered in NEW, although NEW does not deploy it so.
	forced bool
	// installs is set for charts as an upgrade applies them: the pair for their installation, which is compared as well.
	installs *unitPair
}

// unchanged reports whether both sides render the unit alike.
func (p *unitPair) unchanged() bool { return !p.changed && !p.forced && p.new.Err == nil }

// filePair is a file that both sides read as it is written.
type filePair struct{ new, old manifest.File }

// nothingChanged reports whether both trees have the same files with the same content, as far as they were not left out.
func (c *comparison) nothingChanged() bool {
	news, olds := c.newSide.Tree.Paths(), c.oldSide.Tree.Paths()
	if c.newSide.Partial || c.oldSide.Partial || !slices.Equal(news, olds) || len(c.newSide.Files) != len(c.oldSide.Files) {
		return false
	}
	for i := range c.newSide.Files {
		if n, o := &c.newSide.Files[i], &c.oldSide.Files[i]; n.Path != o.Path || n.Err != nil || c.newSide.id(n) != c.oldSide.id(o) {
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
		before[u.key()] = c.olds.record(u)
	}
	for _, u := range c.news.leftOut {
		if was, ok := before[u.key()]; !ok || was != c.news.record(u) {
			c.out.Errs = append(c.out.Errs, c.news.mistake(u, fmt.Errorf("the tree has more than %d units, and no more are read", maxUnits)))
			return
		}
	}
}

// pairUnits pairs the units of both sides by kind and name, and by the unit that prints their definition unless that is another one in
// NEW.
func (c *comparison) pairUnits() {
	gone, taken := map[string]*Unit{}, map[*Unit]bool{}
	for _, old := range c.olds.units {
		if c.news.byKey[old.key()] == nil && gone[old.written()] == nil {
			gone[old.written()] = old
		}
	}
	for _, n := range c.news.units {
		if !c.newSide.selects(n) {
			continue
		}
		old := c.olds.byKey[n.key()]
		if was := gone[n.written()]; old == nil && was != nil {
			before := *was
			before.parent = n.parent // the objects of both pair
			old, taken[was] = &before, true
		}
		was := c.wasDefined(n, old)
		if was != nil {
			c.keepMeaning(n, was)
		}
		p := unitPair{new: n, old: old, changed: c.differ(n, old)}
		c.pairs = append(c.pairs, p)
		c.addUnclear(p, was)
		if old != nil && old.tree == nil && n.tree != nil {
			before := *old
			before.Name += " from the tree"
			c.pairs = append(c.pairs, c.forced(&before))
		}
	}
	for _, old := range c.olds.units {
		if c.news.byKey[old.key()] != nil || taken[old] || !c.oldSide.selects(old) {
			continue
		}
		c.olds.resolve(old)
		p := unitPair{old: old, changed: true}
		if exists(c.news.tree, old.File) {
			p = c.forced(old)
			p.changed = p.changed || old.kind.group != "" // what an object applied goes with it
		}
		c.pairs = append(c.pairs, p)
	}
}

// addUnclear lists a unit as not covered if nothing tells which objects it refers to, and the unit or one of these objects
// changes. was is the unit in OLD that has this definition.
func (c *comparison) addUnclear(p unitPair, was *Unit) {
	if was == nil || p.new.Err != nil {
		return
	}
	if file := p.new.unsure(was); file != "" {
		c.uncovered(p.new.Name, p.new.Kind, c.news.tree.Name(file), "it may refer to what changed in "+file)
	} else if p.new.unclear != "" && p.changed {
		c.uncovered(p.new.Name, p.new.Kind, c.news.tree.Name(p.new.File), p.new.unclear)
	}
}

// differ reports whether a unit changes. It does if its records differ, and its inputs differ, too, or nothing tells which
// objects it refers to.
func (c *comparison) differ(n, old *Unit) bool {
	switch {
	case old == nil:
		c.news.resolve(n)
		return true
	case c.news.record(n) == c.olds.record(old):
		return false
	}
	c.news.resolve(n)
	c.olds.resolve(old)
	return n.unclear != "" || n.digest(c.news.tree) != old.digest(c.olds.tree)
}

// forced pairs a unit of OLD with itself, rendered from NEW's files. It is for units that NEW no longer defines, or reads at another
// revision than the tree: neither excuses a change of the files.
func (c *comparison) forced(old *Unit) unitPair {
	again := *old
	c.news.close(&again)
	return unitPair{new: &again, old: old, forced: true, changed: again.digest(c.news.tree) != old.digest(c.olds.tree)}
}

// renderChanged renders the units that differ.
func (c *comparison) renderChanged() {
	var jobs []func()
	for _, p := range c.pairs {
		if !p.changed {
			continue
		}
		if p.new != nil {
			jobs = append(jobs, func() { c.news.render(p.new) })
		}
		if p.old != nil {
			jobs = append(jobs, func() { c.olds.render(p.old) })
		}
	}
	manifest.Each(len(jobs), func(i int) { jobs[i]() })
	c.pairUpgrades()
	for _, p := range c.pairs {
		c.add(p)
	}
}

// notCovered describes a changed unit that NEW cannot render. A file that the change removes is one of OLD.
func (c *comparison) notCovered(p unitPair, err error) NotCovered {
	n := c.news.changedNotCovered(p.new, err)
	if n.From != "" || p.old == nil {
		return n
	}
	if was := c.olds.changedNotCovered(p.old, err); was.From != "" {
		n.File, n.Line, n.From = was.File, was.Line, n.File
	}
	return n
}

// add adds what came of a unit to the result.
func (c *comparison) add(p unitPair) {
	if !p.changed {
		c.out.Unchanged++
		if !p.forced {
			c.out.Units = append(c.out.Units, Status{Unit: p.new.Name, Kind: p.new.Kind})
		}
		switch {
		case isMissing(p.new.Err):
			c.out.NotCovered = append(c.out.NotCovered, c.news.notCovered(p.new, p.new.Err))
		case p.new.lacking.First != nil && !p.forced:
			c.out.NotCovered = append(c.out.NotCovered, c.news.notCovered(p.new, p.new.lacking.First))
		}
		return
	}
	var newObjects, oldObjects []Object
	var newErr, oldErr error
	if p.new != nil {
		newObjects, newErr = c.news.render(p.new)
	}
	if p.old != nil {
		oldObjects, oldErr = c.olds.render(p.old)
	}
	switch {
	case errors.Is(newErr, worker.ErrLimit): // also where OLD fails: a change that makes rendering slow would hide what it does
		c.out.Errs = append(c.out.Errs, c.news.mistake(p.new, newErr))
		return
	case errors.Is(oldErr, worker.ErrLimit) && p.new != nil:
		c.out.Errs = append(c.out.Errs, c.olds.mistake(p.old, fmt.Errorf("there is nothing to compare with: in OLD, %w", oldErr)))
		return
	case p.installs != nil && (newErr != nil || oldErr != nil): // such as a chart that reads what the last release has left in the cluster
		return
	case p.forced && newErr != nil: // it is no unit of NEW; what it has become is compared
	case isMissing(newErr):
		n := c.notCovered(p, newErr)
		n.isNew = p.old == nil
		c.out.NotCovered = append(c.out.NotCovered, n)
		return
	case newErr != nil && p.old != nil && oldErr != nil && !isMissing(oldErr):
		c.out.NotCovered = append(c.out.NotCovered, c.notCovered(p, newErr))
		return
	case newErr != nil:
		c.out.Errs = append(c.out.Errs, c.news.mistake(p.new, newErr))
		return
	case oldErr != nil && p.new != nil:
		n := c.olds.changedNotCovered(p.old, oldErr)
		n.Reason = "there is nothing to compare with, since OLD cannot be rendered: " + n.Reason
		c.out.NotCovered = append(c.out.NotCovered, n)
		return
	case oldErr != nil:
		return // nobody deploys it any more
	}
	if p.new != nil && newErr == nil {
		c.noteLookups(p)
		oldObjects = c.addPartial(p, newObjects, oldObjects)
		if p.old != nil {
			oldObjects = c.settle(p, newObjects, oldObjects)
		}
		if p.old != nil && p.new.Kind == "Application" {
			newObjects = keepIgnored(p.new, newObjects, oldObjects)
		}
		if p.installs != nil {
			newObjects, oldObjects = c.unlikeInstalled(p, newObjects, oldObjects)
		}
		c.out.New = append(c.out.New, c.news.manifests(Rendered{Unit: p.new, Objects: newObjects})...)
	}
	if p.old != nil {
		files, why := c.olds.manifests(Rendered{Unit: p.old, Objects: oldObjects}), c.uninstalls(p)
		for i := range files {
			files[i].AppliedBy.Uninstalls = why
		}
		c.out.Old = append(c.out.Old, files...)
	}
	if u := p.new; u != nil && !p.forced && p.installs == nil {
		c.out.Units = append(c.out.Units, Status{u.Name, u.Kind, len(newObjects), true})
	} else if u == nil {
		c.out.Units = append(c.out.Units, Status{p.old.Name, p.old.Kind, len(oldObjects), true})
	}
}

// addPartial lists a unit as not covered in part if it was rendered without something that the tree lacks. That part counts as
// changed unless both sides lack the same thing and the files that decide about it are equal. The objects of a changed part are unknown, so
// addPartial then returns only the objects of OLD that NEW has, too.
func (c *comparison) addPartial(p unitPair, news, olds []Object) []Object {
	lacks, lacked := c.news.lacks(p.new), c.olds.lacks(p.old)
	if lacks == nil && lacked == nil || p.installs != nil {
		return olds
	}
	alike := lacks != nil && lacked != nil && lacks.Reason == lacked.Reason && c.news.decides(p.new) == c.olds.decides(p.old)
	var n NotCovered
	switch {
	case lacks == nil:
		n = c.olds.changedNotCovered(p.old, lacked)
	case alike:
		n = c.news.notCovered(p.new, lacks)
	default:
		n = c.news.changedNotCovered(p.new, lacks)
	}
	n.Reason += "; the rest of it was checked"
	n.isNew = p.old == nil
	c.out.NotCovered = append(c.out.NotCovered, n)
	if alike {
		return olds
	}
	has := byName(news)
	return slices.DeleteFunc(slices.Clone(olds), func(o Object) bool { return has[namedAs(o.Document)] == nil })
}
