package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrun"
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
	if tool.Recreated(p.new.Document.Object) {
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
	if tool.Recreated(p.old.Value()) {
		return verdict{}, nil
	}
	v, err := c.judgeUpdate(p)
	if err != nil || len(v.breaches)+v.more == 0 {
		return verdict{}, err
	}
	return verdict{unknown: []remark{{"metadata.annotations", fmt.Sprintf(
		"the object becomes a hook, which its tool deletes and creates anew; an apply of it is refused: %s", v.breaches[0].summary())}}}, nil
}

// verdict is what an API server makes of one update by one definition of the kind.
type verdict struct {
	breaches       []breach
	more           int // breaches beyond the limit of a report
	unknown, notes []remark
	replacement    *replacement // what replacing the object costs, where there are breaches

	// standing and old are about an object that is ambiguous: old is what the breaches are against.
	standing standing
	old      *manifest.Object
}

// merge adds what another version or definition has found, without what v has already.
func (v *verdict) merge(breaches []breach) {
	type identity struct{ path, lock, rule, key string }
	identify := func(b *breach) identity {
		return identity{b.path, b.lock, b.rule, fmt.Sprint(b.key.ok, string(raw(b.key)))}
	}
	known := make(map[identity]bool, len(v.breaches))
	for i := range v.breaches {
		known[identify(&v.breaches[i])] = true
	}
	for i := range breaches {
		if !known[identify(&breaches[i])] {
			v.breaches = append(v.breaches, breaches[i])
		}
	}
}

// definition is one schema of a kind: a CRD, a built-in kind, a schema of an OpenAPI document.
type definition interface {
	// covers reports whether objects of this apiVersion can be judged.
	covers(apiVersion string) bool
	// judge compares an object that both sides have, in versions that the definition covers.
	judge(p pair) (verdict, error)
}

// breach is one lock or rule that an update breaks.
type breach struct {
	path, lock, rule, schemaPath string
	old, new, key                value
	change                       string // digest of what changes, with the values that are not shown
	differences                  []difference
	moreDifferences              int
	message                      string
	says                         string // as Violation.Says
	reason                       string // as Violation.Reason
	item, owners                 string // as in Violation
	version                      string // as Violation.Version
	file                         string // of the lock
	line                         int
	onlyOld                      bool
}

// summary is the breach in one line.
func (b *breach) summary() string {
	if b.path == "" {
		return b.message
	}
	return b.path + ": " + b.message
}

// value is a value that can be absent.
type value struct {
	v  any
	ok bool
}

type difference struct {
	path     string
	old, new value
}

// newBreach makes a breach of a violation, without the place of its lock.
func newBreach(v *immutability.Violation) breach {
	b := breach{
		path: v.Path.String(), lock: string(v.Lock), schemaPath: v.SchemaPath,
		old: value{v.Old, v.HasOld}, new: value{v.New, v.HasNew}, key: value{v.Key, v.HasKey},
		moreDifferences: v.MoreDifferences, message: v.Message(),
	}
	if v.Lock == immutability.LockIncomparable {
		b.reason = strings.TrimPrefix(b.message, schema.Refused+": ")
	}
	for _, d := range v.Differences {
		b.differences = append(b.differences, difference{d.Path.String(), value{d.Old, d.HasOld}, value{d.New, d.HasNew}})
	}
	return b
}

// remark is an unknown verdict or a note.
type remark struct{ path, message string }

// replacement is Replacement without its subject.
type replacement struct {
	cost, message string
	requested     bool
	how           []string
}

// harmless reports whether a replacement that the object asks for needs no acknowledgement.
func (r *replacement) harmless() bool {
	return r.cost == CostNone || r.cost == CostRestart || r.cost == CostDowntime
}

// worse reports whether a replacement costs more than another one.
func (r *replacement) worse(other *replacement) bool {
	costs := []string{CostNone, CostRestart, CostDowntime, CostUnknown, CostData, CostCascade}
	return slices.Index(costs, r.cost) > slices.Index(costs, other.cost)
}

// raw encodes a value that is there, null included; an absent one is left out.
func raw(v value) json.RawMessage {
	if !v.ok {
		return nil
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v.v) != nil {
		return json.RawMessage("null") // decoded JSON always encodes
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
