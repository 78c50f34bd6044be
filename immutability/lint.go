package immutability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Severity says what a finding means for whoever uses the schema.
type Severity string

const (
	// SeverityError makes a schema unusable: Compile refuses it.
	SeverityError = Severity(rule.Error)
	// SeverityWarning names a way around a lock, or a lock that does nothing.
	SeverityWarning = Severity(rule.Warning)
	// SeverityNote names a way around a lock that is possible but could not be shown with objects.
	SeverityNote = Severity(rule.Note)
)

// Finding is one thing that Lint found in a schema.
type Finding struct {
	// Path is the field for people, such as "spec.nodes[*].zone"; SchemaPath is its JSON pointer in the schema.
	Path, SchemaPath string
	Severity         Severity
	// Rule is the rule's name in kebab case, such as "optional-parent": what to filter by, as Message may be reworded.
	Rule string
	// Message says what was found and what would be right.
	Message string
	// Fields are the locked fields behind a hole, as paths for people, sorted.
	Fields []string
	// Fix is a change of the schema that closes a hole, nil if none is known.
	Fix *Fix
}

// Fix is a change of a schema that makes a finding go away.
type Fix struct {
	// Text is the change as YAML, to be added at SchemaPath; its first line is a comment that names the field.
	Text string
	// Version is the version of the CRD whose schema changes; "" means the version of the finding.
	Version string
	// SchemaPath is the JSON pointer of the node that changes, and AddRules what is appended to its
	// x-kubernetes-validations. A change of locks has no AddRules.
	SchemaPath string
	AddRules   []map[string]any
	// Markers are the change as lines of Go for the type that the CRD is made from: for AddRules markers of controller-gen,
	// for locks those of package markers.
	Markers []string
	// Refuses says what will be refused from now on: "an update that removes spec.backup, such as from … to …". It is ""
	// for a change of locks.
	Refuses string
	// Safe reports whether a tool may add the rules without asking the author: every object that is valid today stays
	// valid, and nothing in the schema hints that the updates that will be refused are meant. It is false for a change of
	// locks.
	Safe bool
}

// SchemaError says why a schema does not compile.
type SchemaError struct {
	Findings []Finding // all its errors, sorted by path
}

// Error returns one line for each finding.
func (e *SchemaError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s: %s", cmp.Or(f.Path, "the root"), f.Message)
	}
	return strings.Join(lines, "\n")
}

// analysis is a schema that was read once, for Compile and Lint.
type analysis struct {
	config     *config
	schema     *spec.Schema // with aliases translated and external locks added
	tree       *schema.Tree
	normalizer *normalizer.Normalizer
	redacted   []*schema.Location
	findings   []Finding // mistakes and unknown keys
}

func analyse(s *spec.Schema, opts []Option) *analysis {
	c := configure(opts)
	a := &analysis{config: c}
	a.read(s)
	a.unknownKeys()
	a.redactedPaths()
	a.normalize()
	return a
}

// read reads the schema with its aliases translated and the external locks added, and finds the mistakes in it.
func (a *analysis) read(s *spec.Schema) {
	resolve := schema.Resolver(a.config.resolve)
	if resolve == nil {
		resolve = schema.Definitions(cmp.Or(s, &spec.Schema{}))
	}
	resolve = a.config.aliases.Resolver(resolve)
	s, misread := a.config.aliases.Translate(s)
	a.schema = s
	a.tree = schema.Read(s, resolve)
	a.findings = mistakesIn(a.tree)
	for _, m := range misread {
		a.mistake(m.SchemaPath, rule.AliasValue, m.Message)
	}
	if err := a.config.aliases.Check(); err != nil {
		a.mistake("", rule.AliasValue, err.Error())
	}
	if s, found := a.config.externalLocks(s, resolve); found != nil || s != nil {
		a.schema = s
		a.tree = schema.Read(s, resolve)
		for _, f := range mistakesIn(a.tree) {
			if !slices.ContainsFunc(a.findings, func(g Finding) bool { return g.SchemaPath == f.SchemaPath && g.Message == f.Message }) {
				a.findings = append(a.findings, f)
			}
		}
		a.findings = append(a.findings, found...)
	}
}

// unknownKeys adds the unknown keys. If they are allowed, none of them is an error.
func (a *analysis) unknownKeys() {
	for _, f := range unknownKeys(a.tree) {
		if a.config.unknownKeys {
			f.Severity = SeverityWarning
		}
		a.findings = append(a.findings, f)
	}
}

// redactedPaths resolves the paths of WithRedacted. One that leads nowhere is an error, because what it was meant to hide
// would be shown.
func (a *analysis) redactedPaths() {
	for _, path := range slices.Sorted(maps.Keys(a.config.redacted)) {
		l := a.tree.Find(path)
		if l == nil {
			a.mistake(path, rule.RedactedPath,
				fmt.Sprintf("the schema has no %q to redact: paths are JSON pointers such as /properties/spec/properties/token", path))
			continue
		}
		a.redacted = append(a.redacted, l)
	}
}

// normalize compiles the normalizer. Of its problems it adds those that lint does not find.
func (a *analysis) normalize() {
	var problems []normalizer.Problem
	a.normalizer, problems = normalizer.Compile(a.tree)
	for _, p := range problems {
		if p.Rule == rule.NormalizeType {
			a.mistake(p.SchemaPath, p.Rule, p.Message)
		}
	}
}

// mistake adds an error at a schema path.
func (a *analysis) mistake(schemaPath, id, message string) {
	a.findings = append(a.findings, Finding{
		Path: schema.Readable(schemaPath), SchemaPath: schemaPath, Severity: SeverityError, Rule: id, Message: message,
	})
}

// err returns the errors among the findings as a *SchemaError, nil for none.
func (a *analysis) err() error {
	failed := slices.DeleteFunc(slices.Clone(a.findings), func(f Finding) bool { return f.Severity != SeverityError })
	if len(failed) == 0 {
		return nil
	}
	return &SchemaError{sorted(failed)}
}

// Lint returns the errors and warnings about the locks of s: errors first, then by path. An error is what fails Compile. A
// warning is a hole through which a locked value can still change, one for each hole with the fields behind it, or a lock
// without effect. Package crd finds what concerns a CRD as a whole, such as a lock that one served version lacks. Lint
// returns nil if there is nothing to say. Cost: linear in the schema and in what it returns; it stops when the paths of
// the findings have a million steps together, and the last message says so.
func Lint(s *spec.Schema, opts ...Option) []Finding {
	a := analyse(s, opts)
	return sorted(append(a.findings, warnings(a.tree)...))
}
