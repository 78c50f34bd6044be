package compare

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/policy"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// The state of one run, and two questions that every chapter above asks: who applies an object, and by what request?

// checker is one run of Check.
type checker struct {
	Options
	given    func(manifest.CRD) bool // as a schema, beside OLD and NEW
	kinds    *kinds
	policies *policy.Set
	live     map[*yamldoc.Document]Live
	report   *Report
	gone     gone
}

// gone is what NEW no longer has of the units of OLD.
type gone struct {
	units     map[string]goneUnit           // by their names
	objects   map[string][]*manifest.Object // of OLD, of all units
	uncovered []*manifest.Object            // the definers that no schema covers
	applied   map[string]bool               // the units of which NEW has an object
}

// goneUnit is a unit that goes with the object that defines it.
type goneUnit struct {
	tool.Definer
	object *manifest.Object
}

// applierOf returns what is known about who applies an object. A flag beats the unit, and the unit beats the settings,
// where the applier beats the method of the tool.
func (c *checker) applierOf(o *manifest.Object) tool.Applier {
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

// requestOf returns what is known about the request that updates an object of NEW.
func (c *checker) requestOf(p pair) request {
	r := request{pair: p, applier: c.applierOf(p.new), advice: &c.Advice}
	r.applier.Forced = r.applier.Forced && p.old != nil && c.applierOf(p.old).Forced // a change cannot excuse itself
	if l, ok := c.live[p.new.Document]; ok && l.Old != nil {
		r.live = &l
	}
	return r
}
