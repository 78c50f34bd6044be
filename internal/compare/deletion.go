package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Deletion is an object of OLD that NEW no longer has.
type Deletion struct {
	Subject        // where OLD has the object
	Cost    string `json:"cost"` // what is lost with it: one of the costs above
	Kept    bool   `json:"kept"` // its tool does not delete it
	Message string `json:"message"`
}

// LockDeletion is the lock of a deletion that Options.RefuseDeletions refuses.
const LockDeletion = "deletion"

// addDeletion adds an object that NEW no longer has, and its violation if its cost is among those that are refused.
func (c *checker) addDeletion(o *manifest.Object) {
	if o.Kind == "" {
		return // a document of values
	}
	by := c.applier(o)
	d := Deletion{Subject: subject(o, "")}
	d.Cost, d.Message = c.loss(o)
	switch mark := by.Kept(o.Value()); {
	case mark != "":
		d.Kept, d.Message = true, "the object has "+mark+", so its tool keeps it; if it is deleted nevertheless: "+d.Message
	case by.Keeps:
		d.Kept, d.Message = true, "its tool does not prune; if you delete the object: "+d.Message
	case by.Tool == "":
		d.Message = "if you delete it: " + d.Message
	}
	c.report.Deletions = append(c.report.Deletions, d)
	if d.Kept || !slices.Contains(c.RefuseDeletions, d.Cost) {
		return
	}
	c.report.Violations = append(c.report.Violations, Violation{
		Subject: d.Subject, Lock: LockDeletion, Change: digest(value{o.Value(), true}, value{}),
		Message: fmt.Sprintf("deletions of cost %s are refused: %s", d.Cost, d.Message),
	})
}

// loss returns the cost of deleting an object, and what it means. Of several definitions the worst counts.
func (c *checker) loss(o *manifest.Object) (cost, message string) {
	worst := &Replacement{Cost: CostNone, Message: "nothing is lost with it"}
	for _, d := range c.kinds.of(o) {
		if r := lossBy(d, o); r.worse(worst) {
			worst = r
		}
	}
	return worst.Cost, worst.Message
}

func lossBy(d definition, o *manifest.Object) *Replacement {
	r := d.replacement(pair{new: o, old: o})
	_, known := d.(builtinDefinition)
	retention := child(child(o.Value(), "spec").v, "persistentVolumeClaimRetentionPolicy").v
	switch {
	case known && o.Kind == "StatefulSet" && child(retention, "whenDeleted").v == "Delete":
		r.Cost, r.Message = CostData, "its persistentVolumeClaimRetentionPolicy deletes its claims with it, and their data"
	case !known || r.Cost != CostData && r.Cost != CostCascade:
		r.Message = lossMessages[r.Cost]
	}
	return r
}

// lossMessages say what a deletion costs.
var lossMessages = map[string]string{
	CostNone:     "nothing is lost with it",
	CostRestart:  "its work ends, and its pods are deleted with it",
	CostDowntime: "what it runs, serves or allows ends",
	CostData:     "data can be lost with it",
	CostCascade:  "other objects are deleted with it",
	CostUnknown:  "what is lost with it depends on its controller",
}
