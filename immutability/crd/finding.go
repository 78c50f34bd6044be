package crd

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Finding is one thing that lint found in a CRD: a finding about the schema of one version, or about the versions
// together, and its place in the file.
type Finding struct {
	immutability.Finding
	CRD      string         // name of the CustomResourceDefinition
	Version  string         // of the schema that SchemaPath leads through; "" where the CRD as a whole is meant
	Position token.Position // in the file of the CRD; zero for a CRD that comes from no file

	// Fix is a change of the CRD that closes a hole, nil if none is known. It includes the Fix of the embedded finding.
	Fix *Fix
}

// Fix is a change of a CRD that makes a finding go away.
type Fix struct {
	// Text is the change as YAML, to be added at SchemaPath; its first line is a comment that names the field.
	Text string
	// Version is the version whose schema changes; "" means the version of the finding.
	Version string
	// SchemaPath is the JSON pointer of the node that changes, and AddRules what is appended to its
	// x-kubernetes-validations. A change of locks has no AddRules.
	SchemaPath string
	AddRules   []map[string]any
	// Markers are the change as lines of Go for the type that the CRD is made from: for AddRules markers of
	// controller-gen, for locks those of package markers.
	Markers []string
	// Refuses says what will be refused from now on: "an update that removes spec.backup, such as from … to …". It is
	// "" for a change of locks.
	Refuses string
	// Safe reports whether a tool may add the rules without asking the author: every object that is valid today stays
	// valid, and nothing in the schema hints that the updates that will be refused are meant. It is false for a change
	// of locks.
	Safe bool
}

// common returns the deepest schema path that is equal to all of paths or above them; "" for none.
func common(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	prefix := paths[0]
	for _, path := range paths[1:] {
		for path != prefix && !strings.HasPrefix(path, prefix+"/") {
			prefix = parent(prefix)
		}
	}
	// A path that ends in "properties" is the map of properties; the schema is above it.
	if strings.HasSuffix(prefix, "/properties") && !strings.HasSuffix(prefix, "/properties/properties") {
		prefix = parent(prefix)
	}
	return prefix
}

// linter collects the findings of one CRD.
type linter struct {
	crd      *CRD
	versions []*index
	findings []Finding
}

// add keeps a finding of v, or with nil of the whole CRD.
func (l *linter) add(v *Version, f Finding) {
	f.CRD = l.crd.Name
	if v == nil {
		f.Position = l.crd.Position()
	} else {
		f.Version = v.Name
		f.Position = v.Position(f.SchemaPath)
	}
	l.findings = append(l.findings, f)
}

// report adds a finding about the nodes of v at schemaPaths, at the node that they have in common.
func (l *linter) report(v *Version, severity immutability.Severity, rule string, schemaPaths []string,
	format string, args ...any) {
	at := common(schemaPaths)
	l.add(v, Finding{Finding: immutability.Finding{
		Path: schema.Readable(at), SchemaPath: at, Severity: severity, Rule: rule,
		Message: fmt.Sprintf(format, args...), Fields: fieldsOf(schemaPaths),
	}})
}

// about returns a finding about a whole CRD.
func about(severity immutability.Severity, rule, message string) Finding {
	return Finding{Finding: immutability.Finding{Severity: severity, Rule: rule, Message: message}}
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
