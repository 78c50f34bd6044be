package crd

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Finding is one thing that lint found in a CRD, with its place in the file.
type Finding struct {
	immutability.Finding

	File    string // as in CRD.File
	CRD     string // name of the CustomResourceDefinition
	Version string // of the schema that SchemaPath leads through; "" where the CRD as a whole is meant
	Position
}

// linter collects the findings of one CRD.
type linter struct {
	crd      *CRD
	versions []*index
	findings []Finding
}

// add keeps a finding of v, or with nil of the whole CRD.
func (l *linter) add(v *Version, f immutability.Finding) {
	finding := Finding{Finding: f, File: l.crd.File, CRD: l.crd.Name}
	if v == nil {
		finding.Position = l.crd.Position()
	} else {
		finding.Version = v.Name
		finding.Position = v.Position(f.SchemaPath)
	}
	l.findings = append(l.findings, finding)
}

// report adds a finding about the nodes of v at schemaPaths, at the node that they have in common.
func (l *linter) report(v *Version, severity immutability.Severity, rule string, schemaPaths []string, format string, args ...any) {
	at := common(schemaPaths)
	l.add(v, immutability.Finding{
		Path: schema.Readable(at), SchemaPath: at, Severity: severity, Rule: rule, Message: fmt.Sprintf(format, args...), Fields: fieldsOf(schemaPaths),
	})
}

// fieldsOf returns the paths for people, sorted.
func fieldsOf(schemaPaths []string) []string {
	fields := make([]string, len(schemaPaths))
	for i, path := range schemaPaths {
		fields[i] = schema.Readable(path)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}
