package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
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

// covered returns the objects of set that a definition covers, and counts the others as skipped, unless they are among
// those of OLD, which were counted before. old is nil for OLD itself.
func (c *checker) covered(set, old *manifest.Set) []*manifest.Object {
	before := map[manifest.ID]bool{}
	if old != nil {
		for _, o := range old.Objects {
			before[o.ID] = true
		}
	}
	var list []*manifest.Object
	for _, o := range set.Objects {
		switch {
		case len(c.kinds.of(o)) == 0 && before[o.ID]:
		case len(c.kinds.of(o)) == 0:
			c.skip(o)
		case o.Invalid != nil:
			c.failInvalid(o, old)
		default:
			list = append(list, o)
		}
	}
	return list
}

// failInvalid adds the error of an object that cannot be identified: in NEW, unless OLD has the very object. kubectl refuses
// it, so in a directory of OLD it is not what a cluster has, and a change may repair it.
func (c *checker) failInvalid(o *manifest.Object, old *manifest.Set) {
	switch {
	case old == nil && o.Path != "":
	case old != nil && slices.ContainsFunc(old.Objects, func(was *manifest.Object) bool {
		return was.Invalid != nil && jsonvalue.Equal(was.Value(), o.Value())
	}):
	default:
		c.fail(o.Invalid)
	}
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
