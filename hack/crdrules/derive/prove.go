package derive

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// How many updates are compared for one version: some, and more for each rule. After a row was withdrawn, it starts
// again.
const (
	fewUpdates     = 200
	updatesForRule = 80
	manyUpdates    = 3000
	rounds         = 6
)

// prove compares the rows with the API server's validator, and withdraws those that do not agree. The counts are those
// of the last round, in which nothing was withdrawn.
func (d *deriver) prove() Proof {
	kind := witness.FromCRD(d.version.CRD(), nil)
	i := slices.IndexFunc(kind.Versions, func(v *witness.Version) bool { return v.Name == d.version.Name })
	targets := d.targets()
	if _, ok := kind.Valid(kind.Versions[i]); !ok || len(targets) == 0 {
		d.withdrawAll()
		return Proof{Unproved: []string{d.version.CRD().Name + " " + d.version.Name}}
	}
	for seed := range uint64(rounds) {
		p, agreed := d.compare(kind, kind.Versions[i], targets, seed)
		if !agreed {
			continue
		}
		for _, row := range d.kind().Rows {
			if !row.Unknown && !d.proved[row.Path] {
				p.Unproved = append(p.Unproved, d.version.CRD().Name+" "+d.version.Name+" "+row.Path)
				d.withdraw(row.Path)
			}
		}
		return p
	}
	d.withdrawAll()
	return Proof{Unproved: []string{d.version.CRD().Name + " " + d.version.Name}}
}

// withdrawAll makes every row unknown.
func (d *deriver) withdrawAll() {
	for _, r := range d.rules {
		d.open(r)
	}
	maps.DeleteFunc(d.rows, func(_ string, r *crdfacts.Row) bool { return !r.Unknown })
}

// targets lists the schema paths of the fields that rules read.
func (d *deriver) targets() []string {
	var targets []string
	for _, r := range d.rules {
		for _, l := range append(r.Reads(), r.Location()) {
			path := pathOf(l)
			if len(path) > 0 && !d.ofStatus(path) && path[0] != "metadata" &&
				!slices.Contains(targets, l.Path.Pointer()) {
				targets = append(targets, l.Path.Pointer())
			}
		}
	}
	return targets
}

// compare compares the rows with the validator of a version on random updates, and withdraws the rows that disagree.
// agreed reports whether there are none.
func (d *deriver) compare(kind *witness.Kind, v *witness.Version, targets []string,
	seed uint64) (p Proof, agreed bool) {
	random := rand.New(rand.NewPCG(seed, 2))
	wild := randomupdates.New(v.Schema, targets, seed)
	facts := d.kind()
	agreed = true
	for range min(fewUpdates+updatesForRule*len(d.rules), manyUpdates) {
		newObj, oldObj, _ := kind.RandomUpdate(random, v, targets)
		if random.IntN(4) == 0 {
			newObj = wild.Change(newObj)
		}
		refusals, mistakes, err := kind.Update(newObj, oldObj)
		if err != nil || len(mistakes) > 0 {
			continue
		}
		if same, _, err := kind.Update(oldObj, oldObj); err != nil || len(same) > 0 {
			continue // an object that lacks what a rule reads: the CRD refuses every update of it, whatever changes
		}
		p.Updates++
		said, err := facts.Check(newObj, oldObj, "")
		if err != nil {
			d.withdrawAll()
			return p, false
		}
		refused := len(refusals) > 0
		if len(said.Violations) > 0 {
			p.Refusals++
			for _, found := range said.Violations {
				path := facts.Rows[found.Row-1].Path
				d.proved[path] = d.proved[path] || refused
			}
			if !refused {
				p.False++
				agreed = false
				for _, found := range said.Violations {
					d.withdraw(facts.Rows[found.Row-1].Path)
				}
			}
		}
		if refused {
			p.Refused++
			if len(said.Violations)+len(said.Unknown) > 0 {
				p.Found++
				continue
			}
			for _, r := range refusals {
				agreed = d.add(r.Rule) && agreed
			}
		}
	}
	return p, agreed
}

// withdraw makes a row unknown that refuses what the CRD accepts.
func (d *deriver) withdraw(path string) {
	row := d.rows[path]
	if row == nil {
		return
	}
	delete(d.rows, path)
	at := fieldpath.Parse(path)
	for _, r := range d.rules {
		if slices.ContainsFunc(r.Reads(),
			func(l *schema.Location) bool { return pathOf(l).Within(at) || at.Within(pathOf(l)) }) {
			d.open(r)
		}
	}
	d.openAt(at, row.Says)
}

// add makes the fields unknown that a rule reads which refuses what the rows accept. It reports whether they were so
// already.
func (d *deriver) add(text string) bool {
	before := len(d.rows)
	for _, r := range d.rules {
		if strings.TrimSpace(r.Text) == strings.TrimSpace(text) {
			d.open(r)
		}
	}
	return len(d.rows) == before
}
