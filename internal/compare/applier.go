package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// Deployment tools send different requests for the same manifests, and the API server refuses some of them only. What
// is known about who applies decides which requests are predicted; where several are possible and their verdicts
// differ, the verdict is unknown and names them. testdata/appliers has what a real server answered to each.

// requestType is a request that a tool can send for an update.
type requestType struct {
	by   builtin.Applier
	name string
}

// requestTypes returns the types of request that are possible for a pair, server-side applies first.
func (c *checker) requestTypes(p request) []requestType {
	methods := p.applier.For(p.new.Document.Object, p.old.Value())
	if c.Applier != "" {
		methods = []tool.Method{c.Applier}
	}
	if !slices.ContainsFunc(methods, func(m tool.Method) bool { return slices.Contains(tool.Methods(), m) }) {
		methods = tool.Methods()
	}
	var list []requestType
	for _, method := range tool.Methods() {
		if !slices.Contains(methods, method) {
			continue
		}
		switch method {
		case tool.ServerSide:
			if p.applier.Tool != tool.Flux {
				list = append(list, requestType{builtin.ApplierServerSide, "server-side apply"})
			}
			if p.applier.Tool == tool.Flux || p.applier.Tool == "" {
				list = append(list, requestType{fluxApply, "the server-side apply of Flux"})
			}
		case tool.ClientSide:
			list = append(list, requestType{builtin.ApplierClientSide, "client-side apply"})
		case tool.ThreeWay:
			list = append(list, requestType{threeWay, "the three-way merge of Helm"})
		case tool.Replace:
			list = append(list, requestType{builtin.ApplierReplace, "a PUT"})
		}
	}
	return list
}

// prediction is the verdict on one type of request.
type prediction struct {
	requestType
	verdict
}

// sameRequest reports whether the verdict of o is the verdict on a request of type w, too. For custom resources, it is
// not if only a server-side apply is refused, or if the types store different objects for the manifest (mayDiffer). For
// built-in kinds, it is not if o is refused, if a manifest has null, and for Deployments; for Flux, also not if there
// is anything that Flux normalizes.
func (c *checker) sameRequest(p request, o prediction, w requestType) bool {
	if o.by == w.by {
		return true
	}
	clientSide := func(by builtin.Applier) bool {
		return by == builtin.ApplierClientSide || by == threeWay
	}
	of := c.kinds.builtinOf(p.new)
	switch {
	case of != nil && clientSide(o.by) && clientSide(w.by):
		return true
	case of == nil:
		ownRefusal := slices.ContainsFunc(o.Violations, func(v result.Violation) bool { return v.Lock == lockServer })
		return isServerSide(o.by) && isServerSide(w.by) ||
			!ownRefusal && !slices.ContainsFunc(c.kinds.byKind[groupKind{p.new.Group, p.new.Kind}],
				func(d *customKind) bool { return d.mayDiffer(p) })
	case w.by == builtin.ApplierReplace || o.by == builtin.ApplierReplace:
		return false
	case o.by == fluxApply || w.by == fluxApply:
		return len(o.Violations) == 0 && apply.IsNormal(p.new.Value()) && apply.IsNormal(p.old.Value()) &&
			of.Kind != "Deployment"
	}
	return len(o.Violations) == 0 && !jsonvalue.HasScalar(p.new.Value(), nil) && of.Kind != "Deployment"
}

// expires reports whether the cluster deletes a Job when it is done.
func expires(o *manifest.Object) bool {
	if o.Group != "batch" || o.Kind != "Job" {
		return false
	}
	return kind.Child(kind.Child(o.Value(), "spec").Data, "ttlSecondsAfterFinished").Data != nil
}

// agree combines the verdicts on all types of request into one. Where some refuse and others accept, it is unknown.
func agree(predictions []prediction, whoApplies string) verdict {
	var refusing, accepting []prediction
	for _, o := range predictions {
		if o.Refused() {
			refusing = append(refusing, o)
		} else {
			accepting = append(accepting, o)
		}
	}
	if len(accepting) == 0 && len(refusing) > 0 {
		all := refusing[0].verdict
		for _, o := range refusing[1:] {
			all.merge(o.Violations) // every type of request is refused
			all.addRemarks(o.Unknown, nil)
		}
		slices.SortStableFunc(all.Violations, func(a, b result.Violation) int {
			return celrun.ComparePaths(a.Path, b.Path)
		})
		return all
	}
	var all verdict
	for _, o := range accepting {
		all.addRemarks(o.Unknown, o.Notes)
	}
	if len(refusing) == 0 {
		return all
	}
	const shown = 3 // the others follow from the same request
	for _, o := range refusing {
		for _, v := range o.Violations[:min(len(o.Violations), shown)] {
			var same []prediction
			for _, other := range refusing {
				if slices.ContainsFunc(other.Violations,
					func(w result.Violation) bool { return w.Path == v.Path && w.Message == v.Message }) {
					same = append(same, other)
				}
			}
			message := fmt.Sprintf("refused by %s: %s; accepted by %s; %s", requestNames(same), v.Message,
				requestNames(accepting), whoApplies)
			all.addRemarks([]result.Remark{{Path: v.Path, Message: message}}, nil)
		}
	}
	all.Notes = nil // nothing is accepted for sure
	return all
}

// requestNames lists the names of the requests as "a, b and c". Flux is named where it differs from other server-side
// applies.
func requestNames(predictions []prediction) string {
	var list []string
	for _, o := range predictions {
		if o.by != fluxApply || len(list) == 0 {
			list = append(list, o.name)
		}
	}
	list = slices.Compact(list)
	if n := len(list) - 1; n > 0 {
		return strings.Join(list[:n], ", ") + " and " + list[n]
	}
	return list[0]
}

// leftAlone says why a tool does not update an object.
func leftAlone(object, mark string) string {
	if mark == tool.InCRDs {
		return "Helm creates the objects of a chart's crds directory once and does not update them"
	}
	return fmt.Sprintf("the %s has %s, with which its tool does not update it", object, mark)
}
