package compare

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// The third step of a check: the verdicts become entries of the report. The verdict on a pair lacks what is only needed
// in print: the file and line of the field on both sides, and values without the passwords in them.
//
//	verdict   spec.class: immutable, "a" to "b"
//	recorded  dev/app.yaml:7: Widget dev/a: spec.class: immutable, "a" to "b"; OLD: dev/app.yaml:7

// addVerdicts adds the verdicts on pairs to the report.
func (c *checker) addVerdicts(pairs []pair, verdicts []verdict, errs []error) {
	r := &printer{}
	succeeded := map[*group]int{}
	for i, p := range pairs {
		switch {
		case p.new == nil:
			c.report.Deleted++
			c.addDeletion(p.old, false)
			continue
		case p.old != nil:
			c.report.Updated++
			if c.leavesUnit(p) {
				c.addDeletion(p.old, true)
			}
		case p.group != nil && p.group.relation == successors && succeeded[p.group] < p.group.count:
			succeeded[p.group]++
			c.report.Updated++
		default:
			c.report.Created++
		}
		c.fail(errs[i])
		c.countUnchecked(p)
		c.add(r, p, &verdicts[i])
	}
	c.report.Checked = c.report.Created + c.report.Updated + c.report.Deleted
}

// add adds a verdict to the report.
func (c *checker) add(r *printer, p pair, v *verdict) {
	var re *result.Replacement
	if v.replacement != nil {
		re = c.replacementOf(p, v)
	}
	replaced := re != nil && re.Requested && harmless(re)
	for i := range v.Violations {
		violation := &v.Violations[i]
		if violation.Change == "" {
			violation.Change = changeOf(violation, p.new, v.old)
		}
		r.complete(violation, p.new)
		addOld(violation, p.new, v.old)
		violation.Replaced = replaced
		c.report.Violations = append(c.report.Violations, *violation)
	}
	c.report.MoreViolations += v.MoreViolations
	if v.MoreViolations > 0 {
		c.report.Warnings = append(c.report.Warnings,
			fmt.Sprintf("%s %s has %d more violations than are listed", p.new.Kind, p.new, v.MoreViolations))
	}
	for _, u := range v.Unknown {
		c.report.Unknown = append(c.report.Unknown, about(u, p.new))
	}
	for _, n := range v.Notes {
		c.report.Notes = append(c.report.Notes, about(n, p.new))
	}
	if re != nil {
		c.report.Replacements = append(c.report.Replacements, *re)
	}
}

// fail adds errors to the report; nil is none.
func (c *checker) fail(errs ...error) {
	for _, err := range errs {
		if err == nil {
			continue
		}
		e := Error{Message: err.Error(), Text: err.Error()}
		var at *yamldoc.Error
		if errors.As(err, &at) {
			e.File, e.Line = at.File, at.Line
			e.Message = strings.TrimPrefix(strings.TrimPrefix(e.Message, e.File), fmt.Sprintf(":%d", e.Line))
			e.Message = strings.TrimPrefix(e.Message, ": ")
		}
		c.report.Errors = append(c.report.Errors, e)
	}
}

// printer makes the parts of a report of what the definitions found.
type printer struct {
	repeated int // bytes of containers that the report has so far for keys that they lost
}

// maxRepeated is how many bytes of containers are printed: each of the keys that one has lost would print it once more.
const maxRepeated = 16 << 20

// complete adds the object of a violation, and hides or drops values that are not printed.
func (r *printer) complete(v *result.Violation, o *manifest.Object) {
	at := v.Steps
	// several files may have made the value; the one that changed it counts
	if o.Document.Place != nil && len(v.Differences) > 0 {
		at = fieldpath.Resolve(v.Differences[0].Path, o.Value())
	}
	v.Subject = subject(o, at)
	if v.OnlyOld {
		what := "lock"
		if v.Policy != "" {
			what = "policy"
		}
		v.Message += fmt.Sprintf("; only OLD has this %s: the change drops it and breaks it at once, so keep the %s, "+
			"or accept the change in %s",
			what, what, manifest.AcceptFile)
	}
	if isSecret(o) {
		hideSecret(v)
		return
	}
	if !v.Key.OK {
		return
	}
	if v.ValuesLeftOut = r.repeated > maxRepeated; v.ValuesLeftOut {
		v.Old, v.New = value{}, value{}
	}
	r.repeated += len(v.Old.String()) + len(v.New.String())
}

// addOld adds where the violation's field is in OLD. An object of a cluster has no file.
func addOld(v *result.Violation, newObj, oldObj *manifest.Object) {
	if oldObj == nil || oldObj.Document.File == manifest.Cluster {
		return
	}
	if oldObj.Document.Place != nil {
		place := oldObj.Document.Place(v.Steps)
		v.OldFile, v.OldLine = place.File, place.Line
		return
	}
	v.OldFile, v.OldLine = oldObj.Document.File, oldObj.LocateAs(newObj.Value(), v.Steps).Line
	v.Moved = newObj.Path != oldObj.Path
}
