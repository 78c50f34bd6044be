package compare

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// The second step of a check: the verdict on each pair. Most are judged on their own, in judge.go. An object of a group
// is compared with every possible predecessor:
//
//	OLD  a.yaml  Widget x {class: p}     NEW  c.yaml  Widget x {class: q}
//	     b.yaml  Widget x {class: r}
//
// The lock of class refuses c.yaml whichever it was, so the change is refused. With {class: r} in c.yaml the verdict is
// unknown and names a.yaml and b.yaml.

// agreement is what the comparisons of an object with all its possible predecessors have in common.
type agreement int

const (
	mixed       agreement = iota // they differ, or one of them is unknown
	allAllow                     // every comparison allows the change
	allRefuse                    // every comparison refuses it
	notCompared                  // there are too many copies to compare them, or an error
)

// groupMember is an object of a group with the verdict of its comparisons.
type groupMember struct {
	*verdict
	agreement
}

// judgeAll returns the verdicts on pairs, and the errors of those that cannot be judged.
func (c *checker) judgeAll(pairs []pair) (verdicts []verdict, errs []error) {
	if c.Begin != nil {
		c.Begin(len(pairs))
	}
	verdicts, errs = make([]verdict, len(pairs)), make([]error, len(pairs))
	agreements := make([]agreement, len(pairs))
	manifest.Each(len(pairs), func(i int) {
		switch p := pairs[i]; {
		case c.Context != nil && c.Context.Err() != nil:
			errs[i] = c.Context.Err()
			return
		case p.group != nil:
			verdicts[i], agreements[i], errs[i] = c.judgeMember(p)
		default:
			verdicts[i], errs[i] = c.judge(p)
		}
		if c.Step != nil {
			c.Step()
		}
	})
	groups := map[*group][]groupMember{}
	for i, p := range pairs {
		if p.group != nil {
			groups[p.group] = append(groups[p.group], groupMember{&verdicts[i], agreements[i]})
		}
	}
	for g, members := range groups {
		g.decide(members, c.Advice.AskCluster)
	}
	return verdicts, errs
}

// judgeMember compares an object with its possible predecessors. The verdict is the one of the first comparison.
func (c *checker) judgeMember(p pair) (first verdict, all agreement, err error) {
	switch {
	case p.group.relation == completed && c.kinds.builtinOf(p.new) != nil:
		return verdict{}, allAllow, nil // no webhook fills in what a built-in kind requires
	case p.group.tooMany:
		return verdict{}, notCompared, nil
	}
	for i, o := range p.group.predecessors {
		v, err := c.judge(pair{new: p.new, old: o})
		if err != nil {
			return verdict{}, notCompared, err
		}
		one := mixed
		switch {
		case v.Refused():
			one = allRefuse
		case len(v.Unknown) == 0:
			one = allAllow
		}
		if i == 0 {
			first, all = v, one
		}
		if one != all || one == mixed {
			return verdict{}, mixed, nil
		}
	}
	return first, all, nil
}

// decide turns the verdicts on the objects of a group into those for the report. An object that every comparison
// refuses is refused, unless NEW has enough other objects to succeed all objects of OLD: then it may be a new object.
// So copies can hide a change only if each object of OLD has an allowed successor among them.
func (g *group) decide(members []groupMember, askCluster string) {
	refused, others := 0, 0
	for _, m := range members {
		switch m.agreement {
		case allRefuse:
			refused++
		case allAllow, mixed:
			others++
		}
	}
	mayBeNew := refused > 0 && others >= g.count
	for _, m := range members {
		isUpdate := g.relation == successors
		switch {
		case isUpdate && !mayBeNew && (m.agreement == allAllow || m.agreement == allRefuse):
		case isUpdate || m.agreement == allRefuse || m.agreement == notCompared:
			*m.verdict = unknownVerdict("metadata.name", g.whyUnknown(m, askCluster))
		default:
			*m.verdict = verdict{}
		}
	}
}

// whyUnknown says why the verdict on a member is unknown.
func (g *group) whyUnknown(m groupMember, askCluster string) string {
	switch {
	case g.relation == successors && g.count == 1:
		return fmt.Sprintf("NEW has the object several times, and OLD once: %s; the files do not show which of them "+
			"it was", g.found) + "; " + askCluster
	case g.relation == successors:
		return fmt.Sprintf("OLD has the object several times: %s; the files do not show which of them it was",
			g.found) + "; " + askCluster
	case m.agreement == notCompared:
		return fmt.Sprintf("OLD has the object in another file: %s; there are too many copies to compare them all",
			g.found) + "; " + askCluster
	case g.relation == completed:
		return fmt.Sprintf("the object of OLD (%s) lacks a required field, so no API server can have stored it, "+
			"unless a webhook fills the field in; "+
			"in that case the change is refused: %s", g.found, summary(&m.Violations[0]))
	}
	return fmt.Sprintf("OLD has the object in another file: %s; applied to the same cluster, this one is refused: %s",
		g.found, summary(&m.Violations[0]))
}
