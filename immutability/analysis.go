package immutability

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/lint"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/normalize"
)

// analysis is a schema that was read once, for Compile and Lint.
type analysis struct {
	config     *config
	tree       *schema.Tree
	normalizer *normalize.Normalizer
	redacted   []*schema.Location
	entries    []lint.Entry // mistakes and unknown keys
}

func analyse(s *spec.Schema, opts []Option) *analysis {
	c := configure(opts)
	a := &analysis{config: c, tree: schema.Read(s, c.resolve)}
	a.entries = lint.Mistakes(a.tree)
	a.unknownKeys()
	a.redactedPaths()
	a.normalize(s)
	return a
}

// unknownKeys adds the unknown keys. If they are allowed, none of them is an error.
func (a *analysis) unknownKeys() {
	for _, e := range lint.UnknownKeys(a.tree) {
		if a.config.unknownKeys {
			e.Severity = rule.Warning
		}
		a.entries = append(a.entries, e)
	}
}

// redactedPaths resolves the paths of WithRedacted. One that leads nowhere is an error, because what it was meant to hide
// would be shown.
func (a *analysis) redactedPaths() {
	for _, path := range slices.Sorted(maps.Keys(a.config.redacted)) {
		l := a.tree.Find(path)
		if l == nil {
			a.entries = append(a.entries, lint.Entry{
				Path: schema.Readable(path), SchemaPath: path, Severity: rule.Error, Rule: rule.RedactedPath,
				Message: fmt.Sprintf("the schema has no %q to redact: paths are JSON pointers such as /properties/spec/properties/token", path),
			})
			continue
		}
		a.redacted = append(a.redacted, l)
	}
}

// normalize compiles the normalizer. Of its errors it adds those that lint does not find.
func (a *analysis) normalize(s *spec.Schema) {
	var err error
	a.normalizer, err = normalize.Compile(s, normalize.Resolver(a.config.resolve))
	var problems *normalize.SchemaError
	if !errors.As(err, &problems) {
		return
	}
	for _, p := range problems.Problems {
		if p.Rule == rule.NormalizeType {
			a.entries = append(a.entries, lint.Entry{
				Path: schema.Readable(p.SchemaPath), SchemaPath: p.SchemaPath, Severity: rule.Error, Rule: p.Rule, Message: p.Message,
			})
		}
	}
}

// err returns the errors among the entries as a *SchemaError, nil for none.
func (a *analysis) err() error {
	failed := slices.DeleteFunc(slices.Clone(a.entries), func(e lint.Entry) bool { return e.Severity != rule.Error })
	if len(failed) == 0 {
		return nil
	}
	return &SchemaError{findings(failed)}
}
