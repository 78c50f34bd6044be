package judge

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// Result is what a run over one kind found.
type Result struct {
	Kind                                string
	Updates, Refused, Unknown, NotValid int
	FalseAlarms, Misses                 int
	Disagreements                       []string // the first few
}

// Create stores an object and returns what applies a manifest over it. Both return an error for an object that no
// server would take as a new one; refused is why an update is refused.
type Create func(oldObj map[string]any) (update func(newObj map[string]any) (refused, err error), err error)

// Objects returns the Create of the judge.
func (j *Judge) Objects() Create {
	return func(oldObj map[string]any) (func(map[string]any) (error, error), error) {
		stored, err := j.Create(oldObj)
		if err != nil {
			return nil, err
		}
		return func(newObj map[string]any) (refused, err error) {
			if _, err := j.Create(newObj); err != nil {
				return nil, err
			}
			return stored.Update(newObj)
		}, nil
	}
}

// Run makes random updates of a kind until n were answered, and compares package builtin with the answers for one way
// of applying. Objects that no server would take are left out: other validation refuses them. A seed gives the same
// updates each time.
func Run(create Create, by builtin.Applier, kinds *builtin.Kinds, cases []kindcase.Case, kind string, n int,
	seed uint64) (Result, error) {
	r := Result{Kind: kind}
	own, err := ownCases()
	if err != nil {
		return r, err
	}
	cases = append(slices.Clone(cases), own...)
	manifests, bases, others := manifestsOf(cases, kind)
	if len(bases) == 0 {
		return r, fmt.Errorf("there are no cases of %s", kind)
	}
	known, _ := kinds.Find(text(bases[0], "apiVersion"), kind)
	if known == nil {
		return r, fmt.Errorf("package builtin does not know %s", kind)
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kind))
	c := newChanger(seed^hash.Sum64(), manifests, others)
	c.unknown = by == builtin.ApplierClientSide // a server-side apply of them is refused
	for tries := 0; r.Updates < n && tries < 100*n; tries++ {
		oldObj := bases[c.rand.IntN(len(bases))]
		if c.rand.IntN(2) == 0 {
			oldObj = c.change(oldObj, 1+c.rand.IntN(2))
		}
		if !consistent(oldObj) {
			continue
		}
		update, err := create(oldObj)
		if err != nil {
			r.NotValid++
			continue
		}
		for range 4 {
			newObj := c.change(oldObj, 1+c.rand.IntN(3))
			if reflect.DeepEqual(newObj, oldObj) || !consistent(newObj) {
				continue
			}
			refused, err := update(newObj)
			if err != nil {
				r.NotValid++
				continue
			}
			r.judge(known.CheckBy(by, newObj, oldObj), refused, newObj, oldObj)
		}
	}
	return r, nil
}

// judge compares a verdict with the answer.
func (r *Result) judge(verdict result.Verdict, refused error, newObj, oldObj map[string]any) {
	r.Updates++
	found := len(verdict.Violations) > 0
	var what string
	switch {
	case refused != nil:
		r.Refused++
		if found {
			return
		}
		if len(verdict.Unknown) > 0 {
			r.Unknown++
			return
		}
		r.Misses++
		what = "MISS " + refused.Error()
	case found:
		r.FalseAlarms++
		what = "FALSE ALARM " + verdict.Violations[0].Path + ": " + verdict.Violations[0].Message
	default:
		if len(verdict.Unknown) > 0 {
			r.Unknown++
		}
		return
	}
	if len(r.Disagreements) < 5 {
		r.Disagreements = append(r.Disagreements,
			fmt.Sprintf("%s\n  old %s\n  new %s", cut(what), Show(oldObj), Show(newObj)))
	}
}

// consistent reports whether a manifest does not say two things about one field. A Node whose podCIDR is not the first
// of its podCIDRs is refused when it is applied again, unchanged.
func consistent(manifest map[string]any) bool {
	spec, _ := manifest["spec"].(map[string]any)
	ranges, _ := spec["podCIDRs"].([]any)
	one, named := spec["podCIDR"]
	return !named || len(ranges) == 0 || ranges[0] == one
}

func cut(text string) string {
	if len(text) > 700 {
		text = strings.ToValidUTF8(text[:700], "") + "…"
	}
	return text
}

// manifestsOf returns all manifests of a kind, those that cases begin with, and those of other kinds.
func manifestsOf(cases []kindcase.Case, kind string) (all, bases, others []map[string]any) {
	for _, c := range cases {
		if text(c.Old, "kind") != kind {
			others = append(others, c.New)
		}
		if text(c.Old, "kind") == kind && !c.ClientSide && !c.Manual {
			all = append(all, c.Old, c.New)
			bases = append(bases, c.Old)
		}
	}
	return all, bases, others
}

func text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}
