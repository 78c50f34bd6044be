package immutability

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/normalize"
)

// analysis is a schema read once, for compiling, listing and lint.
type analysis struct {
	reader     *reader
	root       *location
	config     *config
	normalizer *normalize.Normalizer
	locked     map[*location]bool // a lock stands on it or below it
}

// analyse reads s; the error is a *SchemaError.
func analyse(s *spec.Schema, opts []Option) (*analysis, error) {
	if s == nil {
		s = &spec.Schema{}
	}
	c := configure(s, opts)
	r := &reader{resolve: c.resolve, bodies: map[string]*body{}}
	a := &analysis{reader: r, root: r.read(s), config: c}
	a.locked = closure(r.all, func(l *location) bool { return l.marks.Locked() })
	findings := schemaErrors(a.root)
	findings = append(findings, a.unknownRedacted()...)
	var err error
	if a.normalizer, err = normalize.Compile(s, c.resolve); err != nil {
		findings = append(findings, normalizeErrors(err, findings)...)
	}
	if len(findings) == 0 {
		return a, nil
	}
	sortFindings(findings)
	return a, &SchemaError{findings}
}

// unknownRedacted are the paths of WithRedacted that lead nowhere: what they mean to hide would be shown.
func (a *analysis) unknownRedacted() []Finding {
	unknown := maps.Clone(a.config.redacted)
	if len(unknown) > 0 {
		for _, l := range a.reader.all {
			delete(unknown, l.path.pointer())
		}
	}
	var findings []Finding
	for _, path := range slices.Sorted(maps.Keys(unknown)) {
		findings = append(findings, Finding{
			Path: readable(path), SchemaPath: path, Severity: Error, Rule: rule.RedactedPath,
			Message: fmt.Sprintf("the schema has no %q to redact: paths are JSON pointers such as /properties/spec/properties/token", path),
		})
	}
	return findings
}

// normalizeErrors are the errors of package normalize that known, which covers what both read, does not hold.
func normalizeErrors(err error, known []Finding) []Finding {
	var problems *normalize.SchemaError
	if !errors.As(err, &problems) {
		return []Finding{{Severity: Error, Rule: rule.NormalizeValue, Message: err.Error()}}
	}
	var findings []Finding
	for _, p := range problems.Problems {
		if p.Rule == rule.UnresolvableRef || slices.ContainsFunc(known, func(f Finding) bool { return f.SchemaPath == p.SchemaPath && f.Rule == p.Rule }) {
			continue
		}
		findings = append(findings, Finding{
			Path: readable(p.SchemaPath), SchemaPath: p.SchemaPath, Severity: Error, Rule: p.Rule, Message: p.Message,
		})
	}
	return findings
}

// readable turns a schema path into a path for people.
func readable(schemaPath string) string {
	var path *trail
	steps := pointer.Names(schemaPath)
	for i := 0; i < len(steps); i++ {
		switch {
		case steps[i] == "properties" && i+1 < len(steps):
			i++
			path = path.to(steps[i])
		case steps[i] == "additionalProperties" || steps[i] == "items":
			path = path.to("[*]")
		}
	}
	return path.readable()
}

// validator compiles what was read.
func (a *analysis) validator() *Validator {
	c := newCompiler(a)
	return &Validator{root: c.node(a.root), locks: a.locks()}
}
