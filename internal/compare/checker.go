package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// checker is one run of Check.
type checker struct {
	Options
	kinds  *kinds
	report *Report
}

// fail adds errors to the report.
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

// covered returns the objects that a definition covers, and counts the others as skipped, unless they are among those
// of OLD, which were counted before.
func (c *checker) covered(objects, counted []*manifest.Object) []*manifest.Object {
	before := map[manifest.ID]bool{}
	for _, o := range counted {
		before[o.ID] = true
	}
	var list []*manifest.Object
	for _, o := range objects {
		switch {
		case len(c.kinds.of(o)) == 0 && before[o.ID]:
		case len(c.kinds.of(o)) == 0:
			c.skip(o)
		case o.Invalid != nil:
			c.fail(o.Invalid)
		default:
			list = append(list, o)
		}
	}
	return list
}

// skip counts an object whose kind nobody knows.
func (c *checker) skip(o *manifest.Object) {
	c.report.Skipped++
	if c.Strict {
		c.fail(o.Mistake("", "no schema covers kind %s of %s; give its CRD with --schema, or leave out --strict", o.Kind, o.APIVersion))
	}
	i := slices.IndexFunc(c.report.SkippedKinds, func(k SkippedKind) bool { return k.APIVersion == o.APIVersion && k.Kind == o.Kind })
	if i < 0 {
		i = len(c.report.SkippedKinds)
		c.report.SkippedKinds = append(c.report.SkippedKinds, SkippedKind{APIVersion: o.APIVersion, Kind: o.Kind})
	}
	c.report.SkippedKinds[i].Objects++
}
