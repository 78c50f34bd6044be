package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// Objects that NEW no longer has. A deletion is a violation only if its cost is among Options.RefuseDeletions; the
// report says what it costs, whether the tool keeps the object, and how to keep it:
//
//	OLD  PersistentVolumeClaim data     NEW  nothing     cost data: data can be lost with it
//	OLD  Application shop               NEW  nothing     the worst cost of what the Application applies
//	OLD  claim data of Kustomization a  NEW  claim data in a file that Kustomization a no longer lists     cost data, too
//	OLD  Kustomization b of apps        NEW  Kustomization b in a directory that apps no longer lists      as if b were gone

// LockDeletion is the lock of a deletion that Options.RefuseDeletions refuses.
const LockDeletion = "deletion"

// findGone finds the units that go.
func (c *checker) findGone(newSet, oldSet *manifest.Set) {
	c.gone = gone{units: map[string]goneUnit{}, objects: map[string][]*manifest.Object{}, applied: map[string]bool{}}
	for _, n := range newSet.Objects {
		c.gone.applied[n.Unit] = true
	}
	for _, o := range oldSet.Objects {
		c.gone.objects[o.Unit] = append(c.gone.objects[o.Unit], o)
		d, ok := tool.Defines(o.Value())
		stays := func(n *manifest.Object) bool { return n.Fits(o.ID) }
		if !ok || slices.ContainsFunc(newSet.Objects, stays) {
			continue
		}
		c.gone.units[d.Unit] = goneUnit{d, o}
		if len(c.kinds.definitionsOf(o)) == 0 {
			c.gone.uncovered = append(c.gone.uncovered, o)
		}
	}
}

// stays reports whether NEW has a unit: an object of it, or still the object that defines it.
func (g *gone) stays(unit string) bool {
	_, goes := g.units[unit]
	return !goes && (g.applied[unit] || tool.DefinedByObject(unit))
}

// keeps returns why an object stays when its manifest goes; "" if its tool deletes it. depth ends circles of units.
func (c *checker) keeps(o *manifest.Object, depth int) string {
	by := c.applierOf(o)
	unit, goes := c.gone.units[o.Unit]
	goes = goes && unit.object != o && depth < 20
	mark := by.Kept(o.Value())
	if goes {
		mark = by.Outlives(o.Value())
	}
	switch {
	case mark == tool.InCRDs:
		return "Helm does not delete the objects of a chart's crds directory"
	case mark != "":
		return "the object has " + mark + ", so its tool keeps it"
	case goes && unit.Stays != "":
		return "the " + unit.Unit + " goes and leaves it, as " + unit.Stays
	case goes && c.keeps(unit.object, depth+1) != "":
		return "the " + unit.Unit + " is kept, but no longer applies the object"
	case !goes && by.Keeps:
		return "its tool does not prune"
	case by.Recreated(o.Value()):
		return "its tool creates it again each time, and does not delete it at the end"
	}
	return ""
}

// leavesUnit reports whether the tool of an object deletes it although NEW has a manifest of it: its unit stays without
// it, as where a kustomization no longer lists the file or its directory, and no other unit deploys the manifest.
func (c *checker) leavesUnit(p pair) bool {
	isDeployed := p.new.Unit != "" && !p.new.AppliedBy.Dropped
	if unit := p.old.Unit; unit == "" || isDeployed || !c.gone.stays(unit) {
		return false
	}
	return c.applierOf(p.old).Deletes() && c.keeps(p.old, 0) == ""
}

// addDeletion adds an object that NEW no longer has, or that its unit no longer lists, and its violation if its cost is
// among those that are refused.
func (c *checker) addDeletion(o *manifest.Object, unlisted bool) {
	if o.Kind == "" {
		return // a document of values
	}
	d := result.Deletion{Subject: subject(o, nil), How: []string{}}
	d.Cost, d.Message = c.loss(o)
	keeps := c.keeps(o, 0)
	definer, _ := tool.Defines(o.Value())
	switch {
	case keeps != "":
		d.Kept, d.Message = true, keeps+"; "+IfDeleted+d.Message
	case definer.Stays != "":
		d.Kept, d.Message = true, "what it has applied stays, as "+definer.Stays+"; if you delete that, too: "+d.Message
	case o.AppliedBy.Uninstalls != "":
		d.Message = o.AppliedBy.Uninstalls + ": " + d.Message
	case !c.applierOf(o).Deletes():
		d.Message = IfDeleted + d.Message
	}
	if d.Loses() {
		d.How = append(d.How, c.waysToKeep(o, unlisted)...)
	}
	d.Refused = !d.Kept && slices.Contains(c.RefuseDeletions, d.Cost)
	c.report.Deletions = append(c.report.Deletions, d)
	if !d.Refused {
		return
	}
	c.report.Violations = append(c.report.Violations, result.Violation{
		Subject: d.Subject, Lock: LockDeletion, Change: kind.Digest(value{Data: o.Value(), OK: true}, value{}),
		Message: fmt.Sprintf("deletions of cost %s are refused: %s", d.Cost, d.Message),
	})
}

// addUnsure adds an unknown verdict for each object that goes unless a part of its unit has it that could not be read, if
// its deletion would lose data or other objects. One that another unit of NEW has stays.
func (c *checker) addUnsure(files []manifest.File, newSet *manifest.Set) {
	for _, o := range manifest.ObjectsWithoutCRDs(files).Objects {
		c.kinds.identify(o)
		stays := func(n *manifest.Object) bool { return n.Unit != "" && n.Fits(o.ID) }
		cost, message := c.loss(o)
		loses := cost == result.CostData || cost == result.CostCascade
		if !loses || !c.applierOf(o).Deletes() || c.keeps(o, 0) != "" || slices.ContainsFunc(newSet.Objects, stays) {
			continue
		}
		c.report.Unknown = append(c.report.Unknown, result.Remark{Subject: subject(o, nil), Message: fmt.Sprintf(
			"deleted (cost: %s), unless the part of its unit that was not checked has it: %s", cost, message)})
	}
}

// IfDeleted begins the message of a deletion that no tool makes.
const IfDeleted = "if you delete it: "

// waysToKeep returns the ways to keep an object, or at least its data.
func (c *checker) waysToKeep(o *manifest.Object, unlisted bool) []string {
	gone := tool.Gone{Object: o.Value(), Unlisted: unlisted}
	if unit, goes := c.gone.units[o.Unit]; goes && unit.object != o {
		gone.WithUnit = unit.Unit
	}
	return append(c.applierOf(o).WaysToKeep(gone), waysToKeepData(o)...)
}

// waysToKeepData returns the ways to keep the data of an object that goes.
func waysToKeepData(o *manifest.Object) []string {
	switch (groupKind{o.Group, o.Kind}) {
	case groupKind{"", "PersistentVolumeClaim"}:
		return []string{`kubectl patch pv "$(kubectl get pvc ` + kubectlName(o) +
			` -o jsonpath={.spec.volumeName})" -p ` +
			`'{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'` + tool.Comment +
			"to keep only the volume with its data, before the claim is deleted"}
	case groupKind{"", "Namespace"}:
		name := shell.Quote(shell.Resolved(o.Name, "NAMESPACE"))
		return []string{`kubectl get pv -o jsonpath='{range .items[?(@.spec.claimRef.namespace=="'` + name +
			`'")]}{.metadata.name}{"\n"}{end}' | ` +
			`xargs -I{} kubectl patch pv {} -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'` + tool.Comment +
			"to keep only the volumes of its claims with their data, before the namespace is deleted"}
	case groupKind{"", "PersistentVolume"}:
		return []string{"to keep only the data, set spec.persistentVolumeReclaimPolicy: Retain with an earlier change"}
	case groupKind{"apps", "StatefulSet"}:
		return []string{"to keep only its claims, set spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Retain " +
			"with an earlier change"}
	}
	return nil
}

// uninstalled reports whether the tool deletes an object of OLD before it applies what NEW has.
func (c *checker) uninstalled(o *manifest.Object) bool {
	by := c.applierOf(o)
	return o.AppliedBy.Uninstalls != "" && by.Outlives(o.Value()) == "" && !by.Recreated(o.Value())
}

// loss returns the cost of deleting an object, and what it means. Of several definitions the worst counts, of a definer
// the worst of the objects that it applies.
func (c *checker) loss(o *manifest.Object) (cost result.Cost, message string) {
	if d, ok := tool.Defines(o.Value()); ok {
		return c.lossOf(d, nil)
	}
	worst := &result.Replacement{Cost: result.CostNone, Message: "nothing is lost with it"}
	for _, d := range c.kinds.definitionsOf(o) {
		if r := lossBy(d, o); worse(r, worst) {
			worst = r
		}
	}
	return worst.Cost, worst.Message
}

// lossOf returns the cost of deleting the objects of a unit and of the units within it; outer are the units around it.
func (c *checker) lossOf(d tool.Definer, outer []string) (cost result.Cost, message string) {
	objects := c.gone.objects[d.Unit]
	if len(objects) == 0 {
		return result.CostUnknown, "the loss depends on the objects that it applies, which the files do not contain"
	}
	worst := &result.Replacement{Cost: result.CostNone, Message: "nothing is lost with what it applies"}
	for _, o := range objects {
		if c.applierOf(o).Outlives(o.Value()) != "" {
			continue
		}
		inner, ok := tool.Defines(o.Value())
		r := &result.Replacement{}
		switch {
		case !ok:
			r.Cost, r.Message = c.loss(o)
		case inner.Stays != "" || slices.Contains(outer, inner.Unit) || inner.Unit == d.Unit:
			continue
		default:
			r.Cost, r.Message = c.lossOf(inner, append(slices.Clone(outer), d.Unit))
		}
		if worse(r, worst) {
			worst = &result.Replacement{Cost: r.Cost,
				Message: "it applies the " + o.Kind + " " + o.String() + ": " + r.Message}
		}
	}
	return worst.Cost, worst.Message
}

func lossBy(d *definition, o *manifest.Object) *result.Replacement {
	r, known := d.replacement(request{pair: pair{new: o, old: o}}), d.isBuiltin
	retention := kind.Child(kind.Child(o.Value(), "spec").Data, "persistentVolumeClaimRetentionPolicy").Data
	switch {
	case known && o.Kind == "StatefulSet" && kind.Child(retention, "whenDeleted").Data == "Delete":
		r.Cost, r.Message = result.CostData, "its persistentVolumeClaimRetentionPolicy deletes its claims with it, "+
			"and their data"
	case !known || r.Cost != result.CostData && r.Cost != result.CostCascade:
		r.Message = lossMessages[r.Cost]
	}
	return r
}

// lossMessages explain the costs of a deletion.
var lossMessages = map[result.Cost]string{
	result.CostNone:     "nothing is lost with it",
	result.CostRestart:  "its work ends, and its pods are deleted with it",
	result.CostDowntime: "what it runs, serves or allows ends",
	result.CostData:     "data can be lost with it",
	result.CostCascade:  "other objects are deleted with it",
	result.CostUnknown:  "its controller decides what is lost with it",
}
