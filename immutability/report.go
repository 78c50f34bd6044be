package immutability

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of a report. What is beyond them is counted, not listed, so that hostile input cannot make a report that
// does not fit in memory.
const (
	maxViolations      = 10_000
	maxSteps           = 1_000_000 // of the paths of all violations together
	maxDifferenceSteps = 300_000   // of the paths of all differences together
	maxValues          = 1 << 20   // bytes of the values of all errors together
)

// Report is what an update breaks. The zero Report is an update that is allowed.
type Report struct {
	// Violations is every violation, sorted by path with indices as numbers, up to a limit of 10,000.
	Violations []Violation
	// More is how many violations there are beyond the limit.
	More int
}

// Allowed reports whether the update breaks no lock.
func (r Report) Allowed() bool { return len(r.Violations) == 0 && r.More == 0 }

// ErrorList returns the violations as API machinery reports them: for each a field.Invalid with the new value, nil where
// it is absent, a detail that begins with "field is immutable", and the lock as origin. Nil when the update is allowed.
// The container of each of a thousand removed keys is a thousand times the same value: once all values have a megabyte
// together, field.OmitValueType stands for them.
func (r Report) ErrorList() field.ErrorList {
	if r.Allowed() {
		return nil
	}
	errs := make(field.ErrorList, 0, len(r.Violations)+1)
	room := maxValues
	for i := range r.Violations {
		v := &r.Violations[i]
		value := v.New
		if isContainer(value) {
			if size := weight(value, room); size <= room {
				room -= size
			} else {
				room, value = 0, field.OmitValueType{}
			}
		}
		errs = append(errs, field.Invalid(v.Path, value, v.detail()).WithOrigin(string(v.Lock)))
	}
	if r.More > 0 {
		errs = append(errs, field.Forbidden(field.NewPath(""), andMore(r.More, "violation")))
	}
	return errs
}

// reporter makes a report of what was found.
type reporter struct {
	report                 Report
	steps, differenceSteps int
}

func report(f *found) Report {
	var r reporter
	if f != nil {
		r.visit(nil, 0, f)
	}
	return r.report
}

func (r *reporter) visit(path *field.Path, depth int, f *found) {
	for _, b := range f.here {
		if len(r.report.Violations) == maxViolations || r.steps > maxSteps {
			r.report.More++
			continue
		}
		r.steps += depth
		v := b.violation(path)
		r.differences(&v, path, depth, b.differences())
		r.report.Violations = append(r.report.Violations, v)
	}
	for _, g := range f.sorted() {
		r.visit(g.step.below(path), depth+1, g)
	}
}

// differences adds to v what f holds, found below it.
func (r *reporter) differences(v *Violation, path *field.Path, depth int, f *found) {
	if f == nil {
		return
	}
	for _, b := range f.here {
		if r.differenceSteps > maxDifferenceSteps {
			v.MoreDifferences++
			continue
		}
		r.differenceSteps += depth
		v.Differences = append(v.Differences, Difference{
			Path: path, Old: b.place.veil.cover(b.old.value), New: b.place.veil.cover(b.new.value), HasOld: b.old.ok, HasNew: b.new.ok,
		})
	}
	for _, g := range f.sorted() {
		r.differences(v, g.step.below(path), depth+1, g)
	}
}

// below returns the path one step below path.
func (s step) below(path *field.Path) *field.Path {
	switch {
	case s.at == atItems:
		return path.Index(s.index)
	case s.at == atValues:
		return path.Key(s.name)
	case path == nil:
		return field.NewPath(s.name)
	}
	return path.Child(s.name)
}
