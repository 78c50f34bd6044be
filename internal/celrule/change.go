package celrule

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Change is what Import and Export do to one node of a schema.
type Change struct {
	SchemaPath string
	DropRules  []int            // indices in x-kubernetes-validations to remove
	AddRules   []map[string]any // rules to append, in the form of the schema
	DropKeys   []string         // extension keys to remove
	SetKeys    map[string]any   // extension keys to set
}

// Make makes the change in node, the JSON form of a node of a schema or its extensions.
func (c *Change) Make(node map[string]any) {
	for _, key := range c.DropKeys {
		delete(node, key)
	}
	maps.Copy(node, c.SetKeys)
	if len(c.DropRules)+len(c.AddRules) == 0 {
		return
	}
	rules, _ := node[schema.KeyValidations].([]any)
	var kept []any
	for i, rule := range rules {
		if !slices.Contains(c.DropRules, i) {
			kept = append(kept, rule)
		}
	}
	for _, rule := range c.AddRules {
		kept = append(kept, rule)
	}
	delete(node, schema.KeyValidations)
	if len(kept) > 0 {
		node[schema.KeyValidations] = kept
	}
}

// Apply returns s with changes made. It copies only the nodes on the way to a change and leaves s as it is. Changes at
// schema paths that s does not have are ignored.
func Apply(s *spec.Schema, changes []Change) *spec.Schema {
	byPath := map[string]func(spec.Extensions) error{}
	for _, c := range changes {
		byPath[c.SchemaPath] = func(extensions spec.Extensions) error {
			c.Make(extensions)
			return nil
		}
	}
	out, _ := schema.Edit(s, byPath)
	return out
}

// changes collects the changes of a schema by schema path.
type changes map[string]*Change

// at returns the change at l, which the caller may add to.
func (c changes) at(l *schema.Location) *Change {
	path := l.Path.Pointer()
	if c[path] == nil {
		c[path] = &Change{SchemaPath: path}
	}
	return c[path]
}

func (c changes) sorted() []Change {
	var all []Change
	for _, path := range slices.Sorted(maps.Keys(c)) {
		all = append(all, *c[path])
	}
	return all
}

// LockAt is a lock and the field that has it. The lock is "immutable" and the like, or a word of x-fieldlock-update.
type LockAt struct {
	Path, SchemaPath string
	Lock             string
}

func lockAt(l *schema.Location, lock schema.Lock) LockAt {
	return LockAt{l.Path.String(), l.Path.Pointer(), string(lock)}
}
