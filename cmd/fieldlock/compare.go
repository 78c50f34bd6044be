package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// comparer checks pairs of objects.
type comparer struct {
	validators map[*crd.Version]*immutability.Validator
	noDefaults bool
}

// breach is a violation and the version whose schema it was found by.
type breach struct {
	immutability.Violation
	version *crd.Version
}

// result is what the check of one pair found.
type result struct {
	pair
	breaches []breach
	more     int // beyond the limit of a report
}

// compare checks an object that both sides have.
//
// Two versions of one object are compared as an API server would that converts by changing the apiVersion only: each
// side is pruned and defaulted by the version it was written in, then by the other one. The server checks such an
// update by the version of the request. Here it is checked by both versions, so that a lock which only one of them has
// holds too. A webhook's conversion is unknown here: that is an error.
func (c *comparer) compare(p pair) (result, error) {
	r := result{pair: p}
	if p.old.version == p.new.version {
		if p.unchanged() {
			return r, nil
		}
		return r, c.check(&r, p.new.version)
	}
	if p.new.version.CRD().Conversion != "None" {
		return r, mistake(p.new.document, "apiVersion",
			"it is of version %s and the old object (%s:%d) of %s, which only the conversion webhook of the CRD can compare; give both in one version",
			p.new.version.Name, p.old.document.File, p.old.document.Position().Line, p.old.version.Name)
	}
	if err := c.check(&r, p.new.version); err != nil {
		return r, err
	}
	err := c.check(&r, p.old.version)
	slices.SortStableFunc(r.breaches, func(a, b breach) int { return comparePaths(a.Path.String(), b.Path.String()) })
	return r, err
}

// unchanged reports whether the two sides are equal as they are written, metadata apart, as most are: then what the API
// server makes of them is equal too.
func (p pair) unchanged() bool {
	is, was := maps.Clone(p.new.document.Object), maps.Clone(p.old.document.Object)
	delete(is, "metadata")
	delete(was, "metadata")
	return jsonvalue.Equal(is, was)
}

// check adds what the pair breaks by the schema of v.
func (c *comparer) check(r *result, v *crd.Version) error {
	validator := c.validators[v]
	if validator.Empty() {
		return nil
	}
	is, err := c.as(v, r.new)
	if err != nil {
		return err
	}
	was, err := c.as(v, r.old)
	if err != nil {
		return err
	}
	report := validator.Check(is, was)
	for _, violation := range report.Violations {
		known := slices.ContainsFunc(r.breaches, func(b breach) bool {
			return b.version != v && b.Lock == violation.Lock && b.Path.String() == violation.Path.String() && reflect.DeepEqual(b.Key, violation.Key)
		})
		if !known {
			r.breaches = append(r.breaches, breach{violation, v})
		}
	}
	r.more += report.More
	return nil
}

// as returns the object as the API server holds it in version v.
func (c *comparer) as(v *crd.Version, o *object) (map[string]any, error) {
	obj := o.document.Object
	if c.noDefaults {
		return obj, nil
	}
	versions := []*crd.Version{o.version}
	if v != o.version {
		versions = append(versions, v)
	}
	for _, version := range versions {
		var err error
		if obj, err = version.Prepare(obj); err != nil {
			return nil, fmt.Errorf("%w (for %s:%d, %s); --no-defaults compares objects as they are written", err, o.document.File, o.document.Position().Line, nameOf(o.document))
		}
	}
	return obj, nil
}

// comparePaths orders paths by their text, with numbers by their value: nodes[2] is before nodes[10].
func comparePaths(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			if na != nb {
				return na - nb
			}
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits is how many digits text starts with.
func digits(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}
