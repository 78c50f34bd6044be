package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// judge compares one pair by every definition of its kind.
func (c *checker) judge(p pair) (verdict, error) {
	var all verdict
	if p.new == nil {
		return all, nil
	}
	p.applier = c.applier(p.new)
	p.applier.Forced = p.applier.Forced && p.old != nil && c.applier(p.old).Forced // a change cannot excuse itself
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
	same := p.old.AppliedBy.InstallsOnce == p.new.AppliedBy.InstallsOnce
	if p.live != nil {
		same = c.fate(p) == tool.Updated // an apply does not always take the mark of a hook away
	}
	if p.unchanged() && c.kinds.sameDefaults(p.new) && same {
		return all, nil
	}
	if v, ok, err := c.judgeLeftAlone(p); ok {
		return v, err
	}
	return c.judgeFate(p)
}

// judgeRequest judges one request for an object that both sides have, by every definition of its kind.
func (c *checker) judgeRequest(p pair) (verdict, error) {
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
		all.merge(v.violations)
		all.more += v.more
		all.addRemarks(v.unknown, nil)
		all.notes = append(all.notes, v.notes...)
	}
	for _, d := range c.kinds.byKind[groupKind{p.new.Group, p.new.Kind}] {
		d.describedChanges(&all, p, c.kinds.operators != nil)
	}
	if !judged {
		all.unknown = append(all.unknown, Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the old object (%s:%d) is of %s, and no CRD has both versions", p.old.Document.File, p.old.Document.Position().Line, p.old.APIVersion)})
	}
	if err := c.judgePolicies(&all, p); err != nil {
		return all, err
	}
	if p.new.Kind != "" {
		all.identify(p)
	}
	slices.SortStableFunc(all.violations, func(a, b Violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	return all, nil
}

// fate returns what the tool does with an object that both sides have.
func (c *checker) fate(p pair) tool.Fate {
	by := c.applier(p.new)
	fate := by.Fate(p.new.Document.Object, p.old.Value())
	if fate == tool.Created && p.live != nil && !by.Recreated(p.new.Document.Object) {
		return tool.Updated // the cluster has it still
	}
	return fate
}

// judgeFate judges an object by what its tool does with it, which is not always an update: a hook is deleted and created again.
func (c *checker) judgeFate(p pair) (verdict, error) {
	fate := c.fate(p)
	if fate == tool.Created {
		return verdict{}, nil
	}
	v, err := c.judgeUpdate(p)
	if v.replacement != nil && v.replacement.Requested {
		v.replacement.Requested = v.helped(p)
	}
	if err != nil || fate == tool.Updated {
		return v, err
	}
	const path = "metadata.annotations"
	switch {
	case fate == tool.Colliding:
		return c.judgeColliding(p), nil
	case fate == tool.MayCollide && len(v.violations)+v.more == 0:
		v.unknown = append(v.unknown, Remark{Path: path, Message: createsHook + "; Helm 4 updates the object, if it applies server-side"})
		return v, nil
	case fate == tool.MayCollide:
		return v, nil
	case len(v.violations)+v.more == 0:
		return verdict{}, nil
	case fate == tool.Replaced && v.replacement != nil:
		v.replacement.Requested = true
		v.notes = append(v.notes, Remark{Path: path, Message: fmt.Sprintf("the object becomes a hook: %s deletes it and creates it again", p.applier.Tool)})
		return v, nil
	}
	return verdict{unknown: []Remark{{Path: path, Message: fmt.Sprintf(
		"the object becomes a hook or stops being one, and its tool may delete it and create it again; if the tool updates it instead, the update is refused: %s", v.violations[0].summary())}}}, nil
}

// helped reports whether the replacement that an object asks for gets the change through. Tools replace nothing for some answers of
// the server, and a policy may refuse the new object, too.
func (v *verdict) helped(p pair) bool {
	for i := range v.violations {
		b, says := &v.violations[i], ""
		if b.EnforcedBy != "" {
			says = b.Message
		}
		if b.Policy != "" || (b.Unforced || says != "") && !p.applier.Insists(p.new.Document.Object, p.old.Value(), says) {
			return false
		}
	}
	return true
}

const createsHook = "Helm refuses the upgrade: it creates the hook while the object is still there (\"already exists\"); " +
	"add before-hook-creation to helm.sh/hook-delete-policy"

// judgeColliding judges an object that Helm wants to create, or to have in the release, though it is there and not part of it.
func (c *checker) judgeColliding(p pair) verdict {
	message := "Helm refuses the upgrade: the hook that it made before is still there and not part of the release " +
		"(\"exists and cannot be imported into the current release\")"
	if p.applier.Recreated(p.new.Document.Object) {
		message = createsHook
	}
	v := verdict{replacement: c.worst(p)}
	v.addServerSide(fieldpath.Path{"metadata", "annotations"}, message, "")
	return v
}

// verdict is what an API server makes of one update by one definition of the kind.
type verdict struct {
	violations     []Violation
	more           int // violations beyond the limit of a report
	unknown, notes []Remark
	replacement    *Replacement // what replacing the object costs, where there are violations
	edits          []string     // of the manifest, each of which is enough for one violation

	// standing and old are about an object that is ambiguous: old is what the violations are against.
	standing standing
	old      *manifest.Object
}

// merge adds what another version or definition has found, without what v has already.
func (v *verdict) merge(violations []Violation) {
	type identity struct{ path, lock, rule, key, policy, message string }
	identify := func(b *Violation) identity {
		id := identity{b.Path, b.Lock, b.Rule, fmt.Sprint(b.key.ok, string(raw(b.key))), b.Policy, ""}
		if b.Policy != "" {
			id.message = b.Message // two failures of one policy have no rule
		}
		return id
	}
	known := make(map[identity]bool, len(v.violations))
	for i := range v.violations {
		known[identify(&v.violations[i])] = true
	}
	for i := range violations {
		if !known[identify(&violations[i])] {
			v.violations = append(v.violations, violations[i])
		}
	}
}

// definition is one schema of a kind: a CRD, a built-in kind, a schema of an OpenAPI document.
type definition interface {
	// covers reports whether objects of this apiVersion can be judged.
	covers(apiVersion string) bool
	// judge compares an object that both sides have, in versions that the definition covers.
	judge(p pair) (verdict, error)
	// replacement returns what it takes to replace the object, whatever refuses the update.
	replacement(p pair) *Replacement
}

// Evidence says who refuses the update and how that is known; "" for a lock that one of the files has, and for built-in kinds.
func (v *Violation) Evidence() string {
	switch {
	case v.Source == "":
		return ""
	case v.EnforcedBy == "":
		return "known from " + v.Source
	}
	return "refused by " + v.EnforcedBy + ": " + v.Source
}

// summary is the violation in one line.
func (v *Violation) summary() string {
	if v.Path == "" {
		return v.Message
	}
	return v.Path + ": " + v.Message
}

// value is a value that can be absent.
type value struct {
	v  any
	ok bool
}

// equal reports whether two values are both absent, or equal.
func (v value) equal(other value) bool { return v.ok == other.ok && jsonvalue.Equal(v.v, other.v) }

// newViolation returns what a validator found at a path, without the subject and the place of the lock.
func newViolation(found *immutability.Violation, path string, at fieldpath.Path) Violation {
	v := Violation{
		Path: path, at: at, Lock: string(found.Lock), SchemaPath: found.SchemaPath,
		old: value{found.Old, found.HasOld}, new: value{found.New, found.HasNew}, key: value{found.Key, found.HasKey},
		MoreDifferences: found.MoreDifferences, Message: found.Message(), found: found,
	}
	if found.Lock == immutability.LockIncomparable {
		v.Reason = strings.TrimPrefix(v.Message, schema.Refused+": ")
	}
	for _, d := range found.Differences {
		v.Differences = append(v.Differences, Difference{d.Path.String(), raw(value{d.Old, d.HasOld}), raw(value{d.New, d.HasNew})})
	}
	return v
}

// raw encodes a value that is there, null included; an absent one is left out.
func raw(v value) json.RawMessage {
	if !v.ok {
		return nil
	}
	text, err := jsonvalue.Encode(v.v)
	if err != nil {
		return json.RawMessage("null") // decoded JSON always encodes
	}
	return text
}
