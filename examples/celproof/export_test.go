package celproof

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
)

// TestExport puts random locks into the schemas of real CRDs and compares them with the rules that export makes of
// them, on random updates. Locks that export names as not exported are taken out on both sides. The locks that import
// makes of all these rules are compared with the rules, too.
func TestExport(t *testing.T) {
	var tally, back tally
	exported, rest, exportedOnce, lifted := 0, 0, 0, 0
	everyVersion(t, func(t *testing.T, v *crd.Version) {
		var err error
		bare := strip(v.Schema)
		for seed := range uint64(3) {
			locked, paths := lockAtRandom(bare, seed, 6)
			if len(paths) == 0 {
				return
			}
			rules, locked := exportable(t, locked)
			rest += len(paths) - len(rules.Rules)
			exported += len(rules.Rules)
			if len(rules.Rules) == 0 {
				continue
			}
			ruled := celrule.Apply(locked, rules.Changes)
			enforced := celrun.New(ruled, nil)
			tally.compare(t, nameOf(v), enforced, locked, randomupdates.New(bare, paths, seed), 100)
			if seed > 0 {
				continue
			}
			exportedOnce += len(rules.Rules)
			im := celrule.Import(ruled)
			lifted += len(im.Recognized)
			if len(im.Left) == 0 {
				if back.object, err = newObjectSchema(encode(t, bare)); err != nil {
					t.Fatal(err)
				}
				back.compare(t, nameOf(v)+", imported", enforced, celrule.Apply(ruled, im.Changes), randomupdates.New(bare, paths, seed+100), 50)
			}
		}
	})
	t.Logf("%d rules; %d locks have none or more than one; import reads %d of %d rules", exported, rest, lifted, exportedOnce)
	if lifted*100 < exportedOnce*90 {
		t.Errorf("import reads %d of %d exported rules, want at least 90 %%", lifted, exportedOnce)
	}
	tally.check(t)
	back.check(t)
}

// exportable exports s without the locks that cannot be exported, and returns what is left of s too.
func exportable(t *testing.T, s *spec.Schema) (celrule.Exported, *spec.Schema) {
	t.Helper()
	for {
		exported, err := celrule.Export(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(exported.Rest) == 0 {
			return exported, s
		}
		var drop []celrule.Change
		for _, r := range exported.Rest {
			drop = append(drop, celrule.Change{SchemaPath: r.SchemaPath, DropKeys: schema.OwnKeys()})
		}
		s = celrule.Apply(s, drop)
	}
}

// strip returns s without any rule.
func strip(s *spec.Schema) *spec.Schema {
	var changes []celrule.Change
	walk(s, "", func(path string, s *spec.Schema) {
		if s.Extensions[schema.KeyValidations] != nil {
			changes = append(changes, celrule.Change{SchemaPath: path, DropKeys: []string{schema.KeyValidations}})
		}
	})
	return celrule.Apply(s, changes)
}

// walk calls visit for s and what is below it, by schema path.
func walk(s *spec.Schema, path string, visit func(string, *spec.Schema)) {
	visit(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		walk(&property, path+"/properties/"+pointer.Escape(name), visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, path+"/additionalProperties", visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(s.Items.Schema, path+"/items", visit)
	}
}

// locks are what lockAtRandom chooses from.
var locks = []map[string]any{
	{schema.KeyImmutable: true},
	{schema.KeyImmutable: true, schema.KeyMapListOrder: schema.OrderIgnored},
	{schema.KeyImmutableKeys: true},
	{schema.KeyAdditionOnly: true},
	{schema.KeyDeletionOnly: true},
	{schema.KeyUpdate: []any{string(schema.NoSet)}},
	{schema.KeyUpdate: []any{string(schema.NoUnset)}},
	{schema.KeyUpdate: []any{string(schema.NoModify)}},
	{schema.KeyUpdate: []any{string(schema.NoUnset), string(schema.NoModify)}},
	{schema.KeyUpdate: []any{string(schema.NoSet), string(schema.NoUnset), string(schema.NoModify)}},
	{schema.KeyUpdate: []any{string(schema.NoAddItem), string(schema.NoRemoveItem)}},
	{schema.KeyUpdate: []any{string(schema.NoUnset), string(schema.NoRemoveItem)}},
	{schema.KeyDeletionOnly: true, schema.KeyUpdate: []any{string(schema.NoSet)}},
	{schema.KeyImmutable: true, schema.KeyNormalize: schema.NormalizeUndefined},
	{schema.KeyImmutable: true, schema.KeyNormalize: schema.NormalizeZero},
	{schema.KeyUpdate: []any{string(schema.NoUnset), string(schema.NoModify)}, schema.KeyNormalize: schema.NormalizeZero},
	{schema.KeyUpdate: []any{string(schema.NoSet)}, schema.KeyNormalize: schema.NormalizeUndefined},
	{schema.KeyNormalize: schema.NormalizeUndefined},
}

// lockAtRandom puts up to n locks into s, such as compile, and returns where they are.
func lockAtRandom(s *spec.Schema, seed uint64, n int) (*spec.Schema, []string) {
	random := rand.New(rand.NewPCG(seed, 2))
	var paths, shallow []string
	walk(s, "", func(path string, s *spec.Schema) {
		if path != "" && !strings.HasPrefix(path, "/properties/metadata") && path != "/properties/kind" && path != "/properties/apiVersion" {
			paths = append(paths, path)
			if strings.Count(path, "/") <= 6 || !s.Type.Contains("string") && !s.Type.Contains("boolean") {
				shallow = append(shallow, path)
			}
		}
	})
	var placed []string
	for tries := 0; tries < 12*n && len(placed) < n && len(paths) > 0; tries++ {
		path := paths[random.IntN(len(paths))]
		if len(shallow) > 0 && tries%4 != 0 {
			path = shallow[random.IntN(len(shallow))]
		}
		if slices.Contains(placed, path) || len(placed) > 0 && strings.Count(path, "/") > 14 {
			continue
		}
		next := celrule.Apply(s, []celrule.Change{{SchemaPath: path, SetKeys: locks[random.IntN(len(locks))]}})
		if _, err := immutability.Compile(next); err == nil {
			s, placed = next, append(placed, path)
		}
	}
	return s, placed
}
