package celrule

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/updates"
)

// TestLintOnRealCRDs tries every warning with the API server's CEL validator: two updates in a row, each accepted by all
// transition rules, that together make a change which they refuse at once. And it tries every silence: no two random
// updates get around a rule that no warning names.
func TestLintOnRealCRDs(t *testing.T) {
	warnings := map[string]int{}
	silent := 0
	for _, v := range readRealCRDs(t) {
		findings := Lint(v.schema)
		for _, f := range findings {
			warnings[f.Rule]++
			proveHole(t, v, f)
		}
		silent += proveSilence(t, v, findings, 60)
	}
	for _, rule := range slices.Sorted(maps.Keys(warnings)) {
		t.Logf("%4d %s", warnings[rule], rule)
	}
	t.Logf("%4d rules without a warning", silent)
}

// proveHole looks for updates that go through the hole of f.
func proveHole(t *testing.T, v crdVersion, f immutability.Finding) {
	t.Helper()
	judge := judgeOf(t, v.schema, nil)
	focus := []string{f.SchemaPath}
	for _, l := range readTree(v.schema).All {
		if slices.Contains(f.Fields, displayPath(l)) {
			focus = append(focus, l.Path.Pointer())
		}
	}
	for _, l := range readTree(v.schema).All { // what the detour may have to change besides
		if len(l.Properties) == 0 && strings.Count(l.Path.Pointer(), "/") <= 4 {
			focus = append(focus, l.Path.Pointer())
		}
	}
	random := updates.New(v.schema, focus, 3)
	accepts := func(newObj, oldObj map[string]any) bool {
		ok, _ := judge.accepts(t, newObj, oldObj)
		return ok && judge.valid(newObj)
	}
	for i := range 3000 {
		first := random.Object()
		second, third := throughHole(random, v, f, first)
		if i%2 == 1 && third != nil {
			second = random.Change(second)
			third = random.Change(third)
		}
		switch {
		case third == nil || !accepts(third, second):
		case f.Rule == rule.CELUnknownKeys:
			return // one update will do
		case accepts(first, first) && accepts(second, first) && !accepts(third, first):
			return
		}
	}
	t.Errorf("%s: no updates go through the hole %s at %s: %s", v.name, f.Rule, f.Path, f.Message)
}

// throughHole makes the two updates of first that the finding warns of, nil when first has nothing there.
func throughHole(random *updates.Random, v crdVersion, f immutability.Finding, first map[string]any) (second, third map[string]any) {
	path := f.SchemaPath
	if f.Rule == rule.CELRenamableKey {
		return throughKey(random, v, path, first)
	}
	at := random.Pick(first, path)
	if at == nil {
		return nil, nil
	}
	if f.Rule == rule.CELUnknownKeys {
		object, ok := updates.Get(first, at).(map[string]any)
		if !ok {
			return nil, nil
		}
		had, has := maps.Clone(object), maps.Clone(object)
		had["unknownA"], has["unknownB"] = "x", "x"
		return updates.With(first, at, had), updates.With(first, at, has)
	}
	if updates.At(v.schema, path).Nullable {
		second = updates.With(first, at, nil)
	} else {
		second = updates.Without(first, at)
	}
	return second, updates.With(second, at, random.Value(path))
}

// throughKey removes a key or item and adds it again.
func throughKey(random *updates.Random, v crdVersion, path string, first map[string]any) (second, third map[string]any) {
	at := random.Pick(first, path)
	if at == nil {
		return nil, nil
	}
	switch container := updates.Get(first, at).(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(container)) {
			other := random.Value(path + "/additionalProperties")
			here := append(slices.Clone(at), key)
			return updates.Without(first, here), updates.With(first, here, other)
		}
	case []any:
		if len(container) == 0 {
			return nil, nil
		}
		item, ok := container[0].(map[string]any)
		other, okOther := random.Value(path + "/items").(map[string]any)
		if !ok || !okOther {
			return nil, nil
		}
		keys, _ := updates.At(v.schema, path).Extensions["x-kubernetes-list-map-keys"].([]any)
		for _, key := range keys {
			other[key.(string)] = item[key.(string)]
		}
		rest := slices.Clone(container[1:])
		return updates.With(first, at, rest), updates.With(first, at, append(slices.Clone(rest), any(other)))
	}
	return nil, nil
}

// proveSilence looks for two random updates that get around a rule that no finding names; n for each rule. It returns
// how many rules it tried.
func proveSilence(t *testing.T, v crdVersion, findings []immutability.Finding, n int) int {
	t.Helper()
	named := map[string]bool{}
	for _, f := range findings {
		for _, path := range f.Fields {
			named[path] = true
		}
	}
	silent := map[RuleRef]bool{}
	var focus []string
	for _, r := range Import(v.schema).Recognized {
		quiet := !named[displayPath(r.at)]
		for _, l := range r.Locks {
			quiet = quiet && !named[l.Path]
		}
		if !quiet {
			continue
		}
		silent[RuleRef{r.SchemaPath, r.Index}] = true
		focus = append(focus, r.SchemaPath)
		for _, l := range r.Locks {
			focus = append(focus, l.SchemaPath)
		}
	}
	if len(silent) == 0 {
		return 0
	}
	all := judgeOf(t, v.schema, nil)
	quiet := judgeOf(t, v.schema, func(r RuleRef) bool { return silent[r] })
	random := updates.New(v.schema, focus, 5)
	for range n * len(silent) {
		first := random.Object()
		second := random.Change(first)
		third := random.Change(second)
		if ok, _ := all.accepts(t, second, first); !ok || !all.valid(second) {
			continue
		}
		if ok, _ := all.accepts(t, third, second); !ok || !all.valid(third) {
			continue
		}
		if ok, why := quiet.accepts(t, third, first); !ok {
			t.Errorf("%s: two updates get around a rule without a warning: %v\nfirst  %s\nsecond %s\nthird  %s", v.name, why, asJSON(first), asJSON(second), asJSON(third))
			return len(silent)
		}
	}
	return len(silent)
}

// TestLintVersionsOnRealCRDs tries every warning about a version without a rule: an update that the rules of this version
// accept and those of the other refuse.
func TestLintVersionsOnRealCRDs(t *testing.T) {
	files := map[string]map[string]crdVersion{}
	for _, v := range readRealCRDs(t) {
		file, name, _ := strings.Cut(v.name, " ")
		if files[file] == nil {
			files[file] = map[string]crdVersion{}
		}
		files[file][name] = v
	}
	warnings := 0
	for file, versions := range files {
		schemas := map[string]*spec.Schema{}
		for name, v := range versions {
			schemas[name] = v.schema
		}
		for free, findings := range LintVersions(schemas, CopyFields) {
			for _, f := range findings {
				warnings++
				if !writesAround(t, versions, free, f) {
					t.Errorf("%s: no update through %s: %s", file, free, f.Message)
				}
			}
		}
	}
	t.Logf("%d versions lack rules of another version", warnings)
}

// writesAround looks for an update that version free accepts and the version that the finding names refuses.
func writesAround(t *testing.T, versions map[string]crdVersion, free string, f immutability.Finding) bool {
	t.Helper()
	for name, strict := range versions {
		if !strings.Contains(f.Message, "version "+name+" has") {
			continue
		}
		lax, tight := judgeOf(t, versions[free].schema, nil), judgeOf(t, strict.schema, transitions(strict.schema))
		var focus []string
		for _, l := range readTree(strict.schema).All {
			if slices.Contains(f.Fields, displayPath(l)) {
				focus = append(focus, l.Path.Pointer())
			}
		}
		random := updates.New(strict.schema, focus, 9)
		for range 2000 {
			newObj, oldObj := random.Next()
			accepted, _ := lax.accepts(t, newObj, oldObj)
			refused, _ := tight.accepts(t, newObj, oldObj)
			if accepted && !refused {
				return true
			}
		}
	}
	return false
}
