package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// Deployment tools send different requests for the same manifests, and the API server refuses some of them only. What is known
// about who applies decides which requests are predicted; where several are possible and their verdicts differ, the verdict is
// unknown and names them. testdata/appliers has what a real server answered to each.

// applier returns what is known about who applies an object. A flag beats the unit, and the unit beats the settings, where the applier
// beats the method of the tool.
func (c *checker) applier(o *manifest.Object) tool.Applier {
	a := o.AppliedBy.By(c.DefaultTool)
	if (a.Tool == "" || a.Assumed) && len(a.Methods) == 0 && c.DefaultApplier != "" {
		a.Methods = []tool.Method{c.DefaultApplier}
	}
	if c.Applier != "" {
		a.Methods = []tool.Method{c.Applier}
	}
	if a.Tool == "" && slices.Equal(a.Methods, []tool.Method{tool.ThreeWay}) {
		a.Tool = tool.Helm // nobody else merges so
	}
	return a
}

// threeWay is the merge of Helm, which treats built-in kinds as kubectl's client-side apply does.
const threeWay = builtin.Applier(apply.ThreeWay)

// way is one request that can be made for an update.
type way struct {
	by   builtin.Applier
	name string
}

// ways returns the requests that are possible for a pair, server-side applies first.
func (c *checker) ways(p request) []way {
	methods := p.applier.For(p.new.Document.Object, p.old.Value())
	if c.Applier != "" {
		methods = []tool.Method{c.Applier}
	}
	if !slices.ContainsFunc(methods, func(m tool.Method) bool { return slices.Contains(tool.Methods(), m) }) {
		methods = tool.Methods()
	}
	var list []way
	for _, method := range tool.Methods() {
		if !slices.Contains(methods, method) {
			continue
		}
		switch method {
		case tool.ServerSide:
			if p.applier.Tool != tool.Flux {
				list = append(list, way{builtin.ApplierServerSide, "server-side apply"})
			}
			if p.applier.Tool == tool.Flux || p.applier.Tool == "" {
				list = append(list, way{builtin.ApplierFlux, "the server-side apply of Flux"})
			}
		case tool.ClientSide:
			list = append(list, way{builtin.ApplierClientSide, "client-side apply"})
		case tool.ThreeWay:
			list = append(list, way{threeWay, "the three-way merge of Helm"})
		case tool.Replace:
			list = append(list, way{builtin.ApplierReplace, "a PUT"})
		}
	}
	return list
}

// outcome is the verdict on one way.
type outcome struct {
	way
	verdict
}

// judgeRequests judges an object that both sides have by all requests that are possible. A cluster has answered already.
func (c *checker) judgeRequests(p request) (verdict, error) {
	if p.live != nil {
		return c.judgeRequest(p)
	}
	var outcomes []outcome
	for _, w := range c.ways(p) {
		if i := slices.IndexFunc(outcomes, func(o outcome) bool { return c.sameRequest(p, o, w) }); i >= 0 {
			outcomes = append(outcomes, outcome{w, outcomes[i].verdict})
			continue
		}
		q := p
		q.by = w.by
		v, err := c.judgeRequest(q)
		if err != nil {
			return v, err
		}
		outcomes = append(outcomes, outcome{w, v})
	}
	v := agree(outcomes)
	replaced := v.replacement != nil && v.replacement.Requested && v.replacementApplies(p) // whether the old Job is there or not
	if expires(p.old) && len(v.violations) > 0 && !replaced {
		return verdict{unknown: []result.Remark{{Path: v.violations[0].Path, Message: fmt.Sprintf(
			"refused unless the cluster has deleted the old Job by then, which has ttlSecondsAfterFinished; a new one is created in that case: %s%s",
			v.violations[0].Message, askCluster)}}}, nil
	}
	return v, nil
}

// sameRequest reports whether a way gets the verdict of another one without asking. Custom resources differ where a server-side
// apply is refused on its own, and where the manifest has something that requests store in their own ways. Of built-in kinds, client-side applies differ where another one is refused, where a
// manifest has null, and for Deployments; Flux where there is anything that it normalizes.
func (c *checker) sameRequest(p request, o outcome, w way) bool {
	if o.by == w.by {
		return true
	}
	serverSide := func(by builtin.Applier) bool {
		return by == builtin.ApplierServerSide || by == builtin.ApplierFlux
	}
	clientSide := func(by builtin.Applier) bool {
		return by == builtin.ApplierClientSide || by == threeWay
	}
	of := c.kinds.builtinOf(p.new)
	switch {
	case of != nil && clientSide(o.by) && clientSide(w.by):
		return true
	case of == nil:
		ownRefusal := slices.ContainsFunc(o.violations, func(v violation) bool { return v.Lock == lockServer })
		return serverSide(o.by) && serverSide(w.by) || !ownRefusal && !slices.ContainsFunc(c.kinds.byKind[groupKind{p.new.Group, p.new.Kind}], func(d *customKind) bool { return d.mayDiffer(p) })
	case w.by == builtin.ApplierReplace || o.by == builtin.ApplierReplace:
		return false
	case o.by == builtin.ApplierFlux || w.by == builtin.ApplierFlux:
		return len(o.violations) == 0 && apply.IsNormal(p.new.Value()) && apply.IsNormal(p.old.Value()) && of.Kind != "Deployment"
	}
	return len(o.violations) == 0 && !kind.HasScalar(p.new.Value(), nil) && of.Kind != "Deployment"
}

// expires reports whether the cluster deletes a Job when it is done.
func expires(o *manifest.Object) bool {
	if o.Group != "batch" || o.Kind != "Job" {
		return false
	}
	return kind.Child(kind.Child(o.Value(), "spec").Data, "ttlSecondsAfterFinished").Data != nil
}

// agree makes one verdict of those on all ways. Where some refuse and others accept, it is unknown.
func agree(outcomes []outcome) verdict {
	var refusing, accepting []outcome
	for _, o := range outcomes {
		if len(o.violations)+o.more > 0 {
			refusing = append(refusing, o)
		} else {
			accepting = append(accepting, o)
		}
	}
	if len(accepting) == 0 && len(refusing) > 0 {
		all := refusing[0].verdict
		for _, o := range refusing[1:] {
			all.merge(o.violations) // whoever accepts some of them accepts no others
			all.addRemarks(o.unknown, nil)
		}
		slices.SortStableFunc(all.violations, func(a, b violation) int { return celrun.ComparePaths(a.Path, b.Path) })
		return all
	}
	var all verdict
	for _, o := range accepting {
		all.addRemarks(o.unknown, o.notes)
	}
	if len(refusing) == 0 {
		return all
	}
	const shown = 3 // the others follow from the same request
	for _, o := range refusing {
		for _, v := range o.violations[:min(len(o.violations), shown)] {
			var same []outcome
			for _, other := range refusing {
				if slices.ContainsFunc(other.violations, func(w violation) bool { return w.Path == v.Path && w.Message == v.Message }) {
					same = append(same, other)
				}
			}
			message := fmt.Sprintf("refused by %s: %s; accepted by %s; --applier says who applies", wayNames(same), v.Message, wayNames(accepting))
			all.addRemarks([]result.Remark{{Path: v.Path, Message: message}}, nil)
		}
	}
	all.notes = nil // nothing is accepted for sure
	return all
}

// wayNames lists the names of ways as "a, b and c". Flux is named where it differs from other server-side applies.
func wayNames(outcomes []outcome) string {
	var list []string
	for _, o := range outcomes {
		if o.by != builtin.ApplierFlux || len(list) == 0 {
			list = append(list, o.name)
		}
	}
	list = slices.Compact(list)
	if n := len(list) - 1; n > 0 {
		return strings.Join(list[:n], ", ") + " and " + list[n]
	}
	return list[0]
}

// judgeLeftAlone judges an object that tells its tool, on one side at least, not to update it. ok is false for all others.
// Whoever disables updates with one change and enables them with the next gets around every lock in between: what the cluster
// has then is not known.
func (c *checker) judgeLeftAlone(p request) (v verdict, ok bool, err error) {
	by := p.applier
	by.InstallsOnce = p.old.AppliedBy.InstallsOnce
	is, was := p.applier.LeftAlone(p.new.Document.Object), by.LeftAlone(p.old.Value())
	const path = "metadata"
	switch {
	case is == "" && (was == "" || p.live != nil):
		return v, false, nil
	case is == "":
		v.unknown = []result.Remark{{Path: path, Message: fmt.Sprintf(
			"%s: refused if the object in the cluster differs from NEW in a locked field%s", leftAlone("old object", was), askCluster)}}
		return v, true, nil
	case was == "":
		if v, err = c.judgeRequests(p); err != nil {
			return v, true, err
		}
		if len(v.violations)+v.more > 0 {
			return verdict{unknown: []result.Remark{{Path: path, Message: fmt.Sprintf(
				"%s; without that, the update is refused: %s", leftAlone("changed object", is), v.violations[0].summary())}}}, true, nil
		}
	}
	note := "not compared: " + leftAlone("object", is)
	return verdict{unknown: v.unknown, notes: []result.Remark{{Path: path, Message: note}}}, true, nil
}

// leftAlone says why a tool does not update an object.
func leftAlone(object, mark string) string {
	if mark == tool.InCRDs {
		return "Helm creates the objects of a chart's crds directory once and does not update them"
	}
	return fmt.Sprintf("the %s has %s, with which its tool does not update it", object, mark)
}
