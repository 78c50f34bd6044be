package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// The verdict on one pair. Four functions narrow it down, from the object to one request:
//
//	judge          is there a change at all, and what does the cluster answer?
//	judgeUpdate    does the tool update the object, leave it alone, or delete it and create it again?
//	judgeRequests  which requests can carry the update (applier.go), and do their verdicts agree?
//	judgeRequest   what do the definitions of the kind and the policies say about one request?

// judge returns the verdict on a pair whose predecessor is known, or on a create. Of a deletion it has nothing to say.
func (c *checker) judge(p pair) (verdict, error) {
	if p.new == nil {
		return verdict{}, nil
	}
	if err := c.kinds.unknownVersion(p.new); err != nil {
		return verdict{}, err
	}
	if p.old == nil || p.old.APIVersion != p.new.APIVersion || c.kinds.wasServed(p.new) {
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
	// The cluster answered a dry run of an update. The answer counts if the tool updates the object, or is unknown.
	if r.live != nil && (c.fate(r) == tool.Updated || c.applierOf(p.new).Tool == "") {
		v.addAnswer(r.live)
	}
	v.excuseUnknown(r.pair)
	v.old = r.old
	return v, err
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
	by := c.applierOf(r.new)
	fate := by.Fate(r.new.Document.Object, r.old.Value())
	if fate == tool.Created && r.live != nil && !by.Recreated(r.new.Document.Object) {
		return tool.Updated // the cluster has it still
	}
	return fate
}

// judgeUpdate judges an object by what its tool does with it, which is not always an update: a hook is deleted and
// created again.
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
	case fate == tool.MayCollide && !v.Refused():
		v.Unknown = append(v.Unknown, result.Remark{Path: path,
			Message: createsHook + "; Helm 4 updates the object, if it applies server-side; " + c.Advice.WhichHelm})
		return v, nil
	case fate == tool.MayCollide:
		return v, nil
	case !v.Refused():
		return verdict{}, nil
	case fate == tool.Replaced && v.replacement != nil:
		v.replacement.Requested = true
		v.Notes = append(v.Notes, result.Remark{Path: path,
			Message: fmt.Sprintf("the object becomes a hook: %s deletes it and creates it again", r.applier.Tool)})
		return v, nil
	}
	message := fmt.Sprintf("the object becomes a hook or stops being one, and its tool may delete it and create it "+
		"again; "+
		"if the tool updates it instead, the update is refused: %s; the setting tool names the tool",
		summary(&v.Violations[0]))
	return unknownVerdict(path, message), nil
}

// judgeLeftAlone judges an object that tells its tool, on one side at least, not to update it. ok is false for all
// others. Disabling updates with one change and enabling them with the next would get around every lock in between. So
// an object that enables updates again is unknown: the cluster may have another object than OLD.
func (c *checker) judgeLeftAlone(p request) (v verdict, ok bool, err error) {
	by := p.applier
	by.InstallsOnce = p.old.AppliedBy.InstallsOnce
	is, was := p.applier.LeftAlone(p.new.Document.Object), by.LeftAlone(p.old.Value())
	const path = "metadata"
	switch {
	case is == "" && (was == "" || p.live != nil):
		return v, false, nil
	case is == "":
		v.Unknown = []result.Remark{{Path: path, Message: fmt.Sprintf(
			"%s: refused if the object in the cluster differs from NEW in a locked field%s",
			leftAlone("old object", was), p.askCluster())}}
		return v, true, nil
	case was == "":
		if v, err = c.judgeRequests(p); err != nil {
			return v, true, err
		}
		if v.Refused() {
			return unknownVerdict(path, fmt.Sprintf("%s; without that, the update is refused: %s",
				leftAlone("changed object", is), summary(&v.Violations[0]))), true, nil
		}
	}
	var left verdict
	left.Unknown = v.Unknown
	left.Notes = []result.Remark{{Path: path, Message: "not compared: " + leftAlone("object", is)}}
	return left, true, nil
}

// replacementApplies reports whether the tool deletes and recreates an object that asks for it. Tools replace nothing
// for some answers of the server, and a policy may refuse the new object, too.
func (v *verdict) replacementApplies(r request) bool {
	for i := range v.Violations {
		b, says := &v.Violations[i], ""
		if b.EnforcedBy != "" {
			says = b.Message
		}
		if b.Policy != "" || (b.Unforced || says != "") &&
			!r.applier.Insists(r.new.Document.Object, r.old.Value(), says) {
			return false
		}
	}
	return true
}

const createsHook = "Helm refuses the upgrade: it creates the hook while the object is still there (\"already " +
	"exists\"); " +
	"add before-hook-creation to helm.sh/hook-delete-policy"

// judgeColliding judges an object that Helm wants to create, or to have in the release, though it is there and not part
// of it.
func (c *checker) judgeColliding(r request) verdict {
	message := "Helm refuses the upgrade: the hook that it made before is still there and not part of the release " +
		"(\"exists and cannot be imported into the current release\")"
	if r.applier.Recreated(r.new.Document.Object) {
		message = createsHook
	}
	v := verdict{replacement: c.worstReplacement(r)}
	v.addServerSide(fieldpath.Path{"metadata", "annotations"}, message, "")
	return v
}

// judgeRequests judges an object that both sides have by all requests that are possible. A cluster has answered
// already.
func (c *checker) judgeRequests(p request) (verdict, error) {
	if p.live != nil {
		return c.judgeRequest(p)
	}
	var predictions []prediction
	for _, w := range c.requestTypes(p) {
		if i := slices.IndexFunc(predictions, func(o prediction) bool { return c.sameRequest(p, o, w) }); i >= 0 {
			predictions = append(predictions, prediction{w, predictions[i].verdict})
			continue
		}
		q := p
		q.by = w.by
		v, err := c.judgeRequest(q)
		if err != nil {
			return v, err
		}
		predictions = append(predictions, prediction{w, v})
	}
	v := agree(predictions, c.Advice.WhoApplies)
	// whether the old Job is there or not
	replaced := v.replacement != nil && v.replacement.Requested && v.replacementApplies(p)
	if expires(p.old) && len(v.Violations) > 0 && !replaced {
		return unknownVerdict(v.Violations[0].Path, fmt.Sprintf(
			"refused unless the cluster has deleted the old Job by then, which has ttlSecondsAfterFinished; a new "+
				"one is created in that case: %s%s", v.Violations[0].Message, p.askCluster())), nil
	}
	return v, nil
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
		all.merge(v.Violations)
		all.MoreViolations += v.MoreViolations
		all.addRemarks(v.Unknown, nil)
		all.Notes = append(all.Notes, v.Notes...)
	}
	for _, d := range c.kinds.byKind[groupKind{r.new.Group, r.new.Kind}] {
		d.describedChanges(&all, r, c.kinds.operators != nil)
	}
	if !judged {
		all.Unknown = append(all.Unknown, result.Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the old object (%s:%d) is of %s, and no CRD has both versions; give one that has %s", r.old.Document.File,
			r.old.Document.Position().Line, r.old.APIVersion, c.Advice.WithSchema)})
	}
	if err := c.judgePolicies(&all, r); err != nil {
		return all, err
	}
	if r.new.Kind != "" {
		all.identify(r)
	}
	slices.SortStableFunc(all.Violations, func(a, b result.Violation) int {
		return celrun.ComparePaths(a.Path, b.Path)
	})
	return all, nil
}
