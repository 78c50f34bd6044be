package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// The verdict on one pair. Three questions narrow it down, from the object to one request:
//
//	judge         what the files say: is there a change at all, and what does the cluster answer?
//	judgeUpdate   what the tool does with the object: update it, leave it alone, delete it and create it again?
//	judgeRequests which requests can carry the update (applier.go): do their verdicts agree?
//	judgeRequest  what the definitions of the kind and the policies say about one request

// judge returns the verdict on a pair whose predecessor is known, or on a create. Of a deletion it has nothing to say.
func (c *checker) judge(p pair) (verdict, error) {
	if p.new == nil {
		return verdict{}, nil
	}
	if err := c.kinds.unknownVersion(p.new); err != nil {
		return verdict{}, err
	}
	if p.old == nil || p.old.APIVersion != p.new.APIVersion {
		if err := c.kinds.unservedVersion(p.new); err != nil {
			return verdict{}, err
		}
	}
	r := c.requestOf(p)
	if p.old == nil {
		var v verdict
		if p.new.Kind != "" {
			v.identify(r)
		}
		return v, nil
	}
	var v verdict
	var err error
	if c.mayDiffer(r) {
		r.pair = withoutEncryption(p)
	}
	if c.mayDiffer(r) {
		v, err = c.judgeUpdate(r)
	}
	// The server was asked about an update, which may not be what the tool does; where nobody knows the tool, the answer counts.
	if r.live != nil && (c.fate(r) == tool.Updated || c.applier(p.new).Tool == "") {
		v.addAnswer(r.live)
	}
	v.excuseUnknown(r.pair)
	v.old = r.old
	return v, err
}

// requestOf returns what is known about the request that updates an object of NEW.
func (c *checker) requestOf(p pair) request {
	r := request{pair: p, applier: c.applier(p.new)}
	r.applier.Forced = r.applier.Forced && p.old != nil && c.applier(p.old).Forced // a change cannot excuse itself
	if l, ok := c.live[p.new.Document]; ok && l.Old != nil {
		r.live = &l
	}
	return r
}

// mayDiffer reports whether the request may change the object that is stored.
func (c *checker) mayDiffer(r request) bool {
	sameFate := r.old.AppliedBy.InstallsOnce == r.new.AppliedBy.InstallsOnce
	if r.live != nil {
		sameFate = c.fate(r) == tool.Updated // an apply does not always take the mark of a hook away
	}
	return !sameFate || !c.kinds.sameDefaults(r.new) || !r.unchanged()
}

// fate returns what the tool does with an object that both sides have.
func (c *checker) fate(r request) tool.Fate {
	by := c.applier(r.new)
	fate := by.Fate(r.new.Document.Object, r.old.Value())
	if fate == tool.Created && r.live != nil && !by.Recreated(r.new.Document.Object) {
		return tool.Updated // the cluster has it still
	}
	return fate
}

// judgeUpdate judges an object by what its tool does with it, which is not always an update: a hook is deleted and created again.
func (c *checker) judgeUpdate(r request) (verdict, error) {
	if v, ok, err := c.judgeLeftAlone(r); ok {
		return v, err
	}
	fate := c.fate(r)
	if fate == tool.Created {
		return verdict{}, nil
	}
	v, err := c.judgeRequests(r)
	if v.replacement != nil && v.replacement.Requested {
		v.replacement.Requested = v.replacementApplies(r)
	}
	if err != nil || fate == tool.Updated {
		return v, err
	}
	const path = "metadata.annotations"
	switch {
	case fate == tool.Colliding:
		return c.judgeColliding(r), nil
	case fate == tool.MayCollide && !v.refuses():
		v.unknown = append(v.unknown, result.Remark{Path: path, Message: createsHook + "; Helm 4 updates the object, if it applies server-side; --applier says which of the two"})
		return v, nil
	case fate == tool.MayCollide:
		return v, nil
	case !v.refuses():
		return verdict{}, nil
	case fate == tool.Replaced && v.replacement != nil:
		v.replacement.Requested = true
		v.notes = append(v.notes, result.Remark{Path: path, Message: fmt.Sprintf("the object becomes a hook: %s deletes it and creates it again", r.applier.Tool)})
		return v, nil
	}
	return verdict{unknown: []result.Remark{{Path: path, Message: fmt.Sprintf(
		"the object becomes a hook or stops being one, and its tool may delete it and create it again; if the tool updates it instead, the update is refused: %s; the setting tool names the tool", v.violations[0].summary())}}}, nil
}

// replacementApplies reports whether the tool deletes and recreates an object that asks for it. Tools replace nothing for some answers
// of the server, and a policy may refuse the new object, too.
func (v *verdict) replacementApplies(r request) bool {
	for i := range v.violations {
		b, says := &v.violations[i], ""
		if b.EnforcedBy != "" {
			says = b.Message
		}
		if b.Policy != "" || (b.Unforced || says != "") && !r.applier.Insists(r.new.Document.Object, r.old.Value(), says) {
			return false
		}
	}
	return true
}

const createsHook = "Helm refuses the upgrade: it creates the hook while the object is still there (\"already exists\"); " +
	"add before-hook-creation to helm.sh/hook-delete-policy"

// judgeColliding judges an object that Helm wants to create, or to have in the release, though it is there and not part of it.
func (c *checker) judgeColliding(r request) verdict {
	message := "Helm refuses the upgrade: the hook that it made before is still there and not part of the release " +
		"(\"exists and cannot be imported into the current release\")"
	if r.applier.Recreated(r.new.Document.Object) {
		message = createsHook
	}
	v := verdict{replacement: c.worst(r)}
	v.addServerSide(fieldpath.Path{"metadata", "annotations"}, message, "")
	return v
}

// judgeRequest judges one request for an object that both sides have, by every definition of its kind.
func (c *checker) judgeRequest(r request) (verdict, error) {
	var all verdict
	judged := false
	for _, d := range c.kinds.covering(r) {
		judged = true
		v, err := d.judge(r)
		if err != nil {
			return all, err
		}
		if all.replacement == nil || v.replacement != nil && worse(v.replacement, all.replacement) {
			all.replacement = v.replacement
		}
		all.merge(v.violations)
		all.more += v.more
		all.addRemarks(v.unknown, nil)
		all.notes = append(all.notes, v.notes...)
	}
	for _, d := range c.kinds.byKind[groupKind{r.new.Group, r.new.Kind}] {
		d.describedChanges(&all, r, c.kinds.operators != nil)
	}
	if !judged {
		all.unknown = append(all.unknown, result.Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the old object (%s:%d) is of %s, and no CRD has both versions; give one that has with --schema", r.old.Document.File, r.old.Document.Position().Line, r.old.APIVersion)})
	}
	if err := c.judgePolicies(&all, r); err != nil {
		return all, err
	}
	if r.new.Kind != "" {
		all.identify(r)
	}
	slices.SortStableFunc(all.violations, func(a, b violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	return all, nil
}
