package unit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// What came of each unit that differs: its objects on both sides, a mistake, or why it is not covered.

// renderChanged renders the units that differ.
func (c *comparison) renderChanged() {
	var jobs []func()
	for _, p := range c.pairs {
		if !p.changed {
			continue
		}
		if p.new != nil {
			jobs = append(jobs, func() { c.news.objectsOf(p.new) })
		}
		if p.old != nil {
			jobs = append(jobs, func() { c.olds.objectsOf(p.old) })
		}
	}
	manifest.Each(len(jobs), func(i int) { jobs[i]() })
	c.pairUpgrades()
	for _, p := range c.pairs {
		c.add(p)
	}
}

// notCovered describes a changed unit that NEW cannot render. A file that the change removes is one of OLD.
func (c *comparison) notCovered(p unitPair, err error) result.NotCovered {
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
			c.out.Units = append(c.out.Units, result.Unit{Unit: p.new.Name, Kind: p.new.Kind})
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
		newObjects, newErr = c.news.objectsOf(p.new)
		if p.old == nil || p.old.outside == nil { // otherwise it is built with --load-restrictor LoadRestrictionsNone
			newErr = cmp.Or(newErr, p.new.outside)
		}
	}
	if p.old != nil {
		oldObjects, oldErr = c.olds.objectsOf(p.old)
	}
	switch {
	case errors.Is(newErr, worker.ErrLimit): // an error even if OLD fails too: otherwise a slow rendering could hide a refusal
		c.out.Errs = append(c.out.Errs, c.news.mistakeOf(p.new, newErr))
		return
	case errors.Is(oldErr, worker.ErrLimit) && p.new != nil:
		c.out.Errs = append(c.out.Errs,
			c.olds.mistakeOf(p.old, fmt.Errorf("there is nothing to compare with: in OLD, %w", oldErr)))
		return
	case p.installs != nil && (newErr != nil || oldErr != nil): // such as a chart that reads what the last release has left in the cluster
		return
	case p.forced && newErr != nil: // NEW does not have the unit; its files are compared as NEW reads them
	case isMissing(newErr), newErr != nil && c.asksForValues(p.new, newErr):
		if p.old != nil || !c.isPruned(p.new.rootUnit()) { // otherwise the deletion is listed
			c.addNotCovered(c.notCovered(p, newErr), c.isNew(p))
		}
		return
	case newErr != nil && p.old != nil && oldErr != nil && !isMissing(oldErr):
		c.out.NotCovered = append(c.out.NotCovered, c.notCovered(p, newErr))
		return
	case newErr != nil:
		c.out.Errs = append(c.out.Errs, c.news.mistakeOf(p.new, newErr))
		return
	case oldErr != nil && p.new != nil:
		n := c.olds.changedNotCovered(p.old, oldErr)
		n.Reason = noBaseline + n.Reason
		c.out.NotCovered = append(c.out.NotCovered, n)
		return
	case isMissing(oldErr) && p.old.kind.group == "":
		n := c.olds.changedNotCovered(p.old, oldErr)
		n.Reason = "it goes, with all that it deploys: " + n.Reason
		c.out.NotCovered = append(c.out.NotCovered, n)
		return
	case oldErr != nil:
		return // nothing could deploy the unit, or its definition is listed as a deletion
	}
	if p.new != nil && newErr == nil {
		c.noteLookups(p)
		var unsure []Object
		oldObjects, unsure = c.addPartial(p, newObjects, oldObjects)
		if len(unsure) > 0 {
			c.out.Unsure = append(c.out.Unsure, c.olds.manifests(p.old, unsure)...)
		}
		if p.old != nil {
			oldObjects = c.withoutRandom(p, newObjects, oldObjects)
		}
		if p.old != nil && p.new.Kind == "Application" {
			newObjects = keepIgnored(p.new, newObjects, oldObjects)
		}
		if p.installs != nil {
			newObjects, oldObjects = c.unlikeInstalled(p, newObjects, oldObjects)
		}
		files, isDropped := c.news.manifests(p.new, newObjects), c.isDropped(p.new)
		for i := range files {
			files[i].AppliedBy.Dropped = isDropped
		}
		c.out.New = append(c.out.New, files...)
	}
	if p.old != nil {
		files, why := c.olds.manifests(p.old, oldObjects), c.uninstalls(p)
		for i := range files {
			files[i].AppliedBy.Uninstalls = why
		}
		c.out.Old = append(c.out.Old, files...)
	}
	if u := p.new; u != nil && !p.forced && p.installs == nil {
		c.out.Units = append(c.out.Units,
			result.Unit{Unit: u.Name, Kind: u.Kind, Objects: len(newObjects), Changed: true})
	} else if u == nil {
		c.out.Units = append(c.out.Units,
			result.Unit{Unit: p.old.Name, Kind: p.old.Kind, Objects: len(oldObjects), Changed: true})
	}
}

// isDropped reports whether others included a kustomization in OLD, and none does in NEW. A tool that applied the others
// deletes its objects.
func (c *comparison) isDropped(u *Unit) bool {
	return u.Kind == "kustomization" && c.olds.byKey[u.pairKey()] == nil && len(c.olds.readers[u.File]) > 0
}

// isPruned reports whether a tool no longer applies a kustomization, and deletes what it deployed.
func (c *comparison) isPruned(u *Unit) bool {
	return c.isDropped(u) && slices.ContainsFunc(c.olds.readers[u.File], func(by *Unit) bool { return by.kind.group != "" })
}

// isNew reports whether OLD does not have a unit, not even with another definition that is in another file.
func (c *comparison) isNew(p unitPair) bool {
	if p.old != nil {
		return false
	}
	was := c.wasDefined(p.new, nil)
	return was == nil || !c.differ(p.new, was)
}

// asksForValues reports whether the templates of a new chart refuse its own values: they ask for those of a release,
// which are not here.
func (c *comparison) asksForValues(u *Unit, err error) bool {
	asks := u.Kind == "chart" && strings.Contains(err.Error(), "execution error at (")
	return asks && !slices.ContainsFunc(c.olds.units, func(old *Unit) bool {
		return old.Kind == u.Kind && old.dir == u.dir
	})
}

// addPartial lists a unit as not covered in part if it was rendered without something that the tree lacks. That part
// counts as changed unless both sides lack the same thing and the files that decide about it are equal. A changed part
// of NEW may have any object, so addPartial then tells the objects of OLD that NEW still prints from those that are
// unsure.
func (c *comparison) addPartial(p unitPair, news, olds []Object) (printed, unsure []Object) {
	lacks, lacked := c.news.lackedBy(p.new), c.olds.lackedBy(p.old)
	if lacks == nil && lacked == nil || p.installs != nil {
		return olds, nil
	}
	same := lacks != nil && lacked != nil && lacks.Reason == lacked.Reason &&
		c.news.decidingParts(p.new) == c.olds.decidingParts(p.old)
	var n result.NotCovered
	switch {
	case lacks == nil:
		n = c.olds.changedNotCovered(p.old, lacked)
	case same:
		n = c.news.notCovered(p.new, lacks)
	default:
		n = c.news.changedNotCovered(p.new, lacks)
	}
	n.Reason += "; the rest of it was checked"
	c.addNotCovered(n, c.isNew(p))
	if same {
		return olds, nil
	}
	has := byIdentity(news)
	for _, o := range olds {
		if has[namedAs(o.Document)] == nil {
			unsure = append(unsure, o)
		} else {
			printed = append(printed, o)
		}
	}
	return printed, unsure
}
