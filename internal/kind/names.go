package kind

import (
	"errors"
	"slices"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// names are the locks that transition rules equal.
type names struct {
	locks      *immutability.Validator // of the schema with these locks and its own; nil if they cannot be compiled
	rules      map[string][]ruleID     // by the schema path of the lock
	recognized map[ruleID]bool         // also those whose locks other rules have, or the schema itself
}

// ruleID names a rule of a schema.
type ruleID struct {
	schemaPath string
	index      int
}

func idOf(r celrun.Rule) ruleID { return ruleID{r.SchemaPath, r.Index} }

// namesOf returns a function that reads the rules of s as locks, once. What cannot be read has no name, and is reported
// as a rule.
func namesOf(s *spec.Schema) func() *names {
	return sync.OnceValue(func() *names {
		n := &names{rules: map[string][]ruleID{}, recognized: map[ruleID]bool{}}
		imported := celrule.Import(s)
		locks, err := immutability.Compile(celrule.Apply(s, imported.Changes))
		if err != nil {
			return n
		}
		n.locks = locks
		for _, r := range imported.Recognized {
			id := ruleID{r.SchemaPath, r.Index}
			n.recognized[id] = true
			for _, lock := range r.Locks {
				n.rules[lock.SchemaPath] = append(n.rules[lock.SchemaPath], id)
			}
		}
		return n
	})
}

// knows reports whether a rule equals locks.
func (n *names) knows(r celrun.Rule) bool { return n.recognized[idOf(r)] }

// newGuard returns a validator that reports where values at and above the fields at schemaPaths cannot be compared. It
// locks these fields; violations of the locks themselves mean nothing. It is nil if there are no such fields.
func newGuard(s *spec.Schema, schemaPaths []string) *immutability.Validator {
	var changes []celrule.Change
	for _, path := range slices.Compact(schemaPaths) {
		if path != "" {
			noSet := map[string]any{schema.KeyUpdate: []any{string(schema.NoSet)}}
			changes = append(changes, celrule.Change{SchemaPath: path, SetKeys: noSet})
		}
	}
	for len(changes) > 0 {
		guard, err := immutability.Compile(celrule.Apply(s, changes))
		if err == nil {
			return guard
		}
		var mistakes *immutability.SchemaError
		if !errors.As(err, &mistakes) {
			return nil
		}
		before := len(changes)
		changes = slices.DeleteFunc(changes, func(c celrule.Change) bool {
			isAt := func(f immutability.Finding) bool { return f.SchemaPath == c.SchemaPath }
			return slices.ContainsFunc(mistakes.Findings, isAt) // the field takes no lock, such as an item of a set
		})
		if len(changes) == before {
			return nil
		}
	}
	return nil
}
