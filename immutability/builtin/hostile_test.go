package builtin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// Check neither panics nor changes its inputs, whatever the manifests hold.
func TestHostileManifests(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		kind, _ := kinds.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
		for range 2 {
			newObj, oldObj := spoil(random, c.New).(map[string]any), spoil(random, c.Old).(map[string]any)
			isNew, isOld := encode(t, newObj), encode(t, oldObj)
			first := kind.Check(newObj, oldObj)
			if again := kind.Check(newObj, oldObj); !reflect.DeepEqual(summary(first), summary(again)) {
				t.Errorf("%s: two verdicts on %s → %s", c.Name, isOld, isNew)
			}
			if isNew != encode(t, newObj) || isOld != encode(t, oldObj) {
				t.Errorf("%s: Check changed its input", c.Name)
			}
			kind.Replacement(newObj, oldObj, first)
		}
	}
}

// TestLabelsThatAreObjects: a label of a selector and of a claim template that is an object on both sides, which no
// server accepts, is compared like any other value.
func TestLabelsThatAreObjects(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Find("apps/v1", "StatefulSet")
	object := func(value string) map[string]any {
		labels := map[string]any{"app": map[string]any{"a": value}}
		template := map[string]any{"metadata": map[string]any{"name": "data", "labels": labels}}
		return map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"selector": map[string]any{"matchLabels": labels}, "volumeClaimTemplates": []any{template}}}
	}
	newObj, oldObj := object("2"), object("1")
	verdict := kind.Check(newObj, oldObj)
	if len(verdict.Violations) == 0 || len(kind.Replacement(newObj, oldObj, verdict).How) == 0 {
		t.Errorf("%v, want violations with ways out", summary(verdict))
	}
}

// TestKeysThatLookLikePaths: a key is data. Whatever it looks like, its change is refused, with the values of both
// sides.
func TestKeysThatLookLikePaths(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Find("v1", "ConfigMap")
	for _, key := range []string{"a{b", "{", "{*}", "[*]", "[0]", "a]b", "a.b", ".", "a[b", `"`, `["a"]`, "", "data", strings.Repeat("a.", 100_000)} {
		object := func(value string) map[string]any {
			return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}, "immutable": true,
				"data": map[string]any{key: value}}
		}
		verdict := kind.Check(object("2"), object("1"))
		if len(verdict.Violations) != 1 || verdict.Violations[0].Path != "data" {
			t.Errorf("%.40q: %v, want a violation of data", key, summary(verdict))
			continue
		}
		if d := verdict.Violations[0].Differences; len(d) != 1 || d[0].Old.Data != "1" || d[0].New.Data != "2" {
			t.Errorf("%.40q: differences %v", key, d)
		}
		kind.Replacement(object("2"), object("1"), verdict)
	}
}

// TestVastAmounts: an amount of a billion digits is another value than any other, and is not written out.
func TestVastAmounts(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	pod := func(amount any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "c", "image": "i", "resources": map[string]any{
				"limits": map[string]any{"memory": amount}, "requests": map[string]any{"memory": amount}}}}}}
	}
	kind, _ := kinds.Find("v1", "Pod")
	amounts := []any{"1Gi", "1e999999999", "1e-999999999", "1e9999999999999", "2e999999999"}
	for _, by := range []builtin.Applier{"", builtin.ApplierServerSide, "flux", builtin.ApplierClientSide, builtin.ApplierReplace} {
		for _, is := range amounts {
			for _, was := range amounts {
				if verdict := kind.CheckBy(by, pod(is), pod(was)); (len(verdict.Violations) > 0) != (is != was) {
					t.Errorf("%q: %v → %v: %v", by, was, is, summary(verdict))
				}
			}
		}
	}
}

// TestVastAmountsOfOthers: kinds with pods and claims tell a vast amount from another one, too. A Deployment may have
// it.
func TestVastAmountsOfOthers(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	template := func(amount string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"restartPolicy": "Never", "containers": []any{
			map[string]any{"name": "c", "image": "i", "resources": map[string]any{"limits": map[string]any{"memory": amount}}}}}}
	}
	for _, row := range []struct {
		apiVersion, kind string
		spec             func(amount string) map[string]any
		judged           bool
	}{
		{"batch/v1", "Job", func(amount string) map[string]any { return map[string]any{"template": template(amount)} }, true},
		{"apps/v1", "Deployment", func(amount string) map[string]any {
			return map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": template(amount)}
		}, false},
		{"v1", "PersistentVolumeClaim", func(amount string) map[string]any {
			return map[string]any{"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": amount}}}
		}, true},
	} {
		object := func(amount string) map[string]any {
			return map[string]any{"apiVersion": row.apiVersion, "kind": row.kind, "metadata": map[string]any{"name": "x"}, "spec": row.spec(amount)}
		}
		kind, _ := kinds.Find(row.apiVersion, row.kind)
		for _, vast := range []string{"1e999999999", "1e-999999999"} {
			for _, pair := range [][2]string{{"1Gi", vast}, {vast, "1Gi"}} {
				if verdict := kind.Check(object(pair[1]), object(pair[0])); (len(verdict.Violations)+len(verdict.Unknown) > 0) != row.judged {
					t.Errorf("%s: %v: %v", row.kind, pair, summary(verdict))
				}
			}
		}
	}
}

// TestNilObjects: nil is an object without fields, for every kind.
func TestNilObjects(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds.All() {
		for _, by := range []builtin.Applier{"", builtin.ApplierServerSide, "flux", builtin.ApplierClientSide, builtin.ApplierReplace} {
			got := kind.CheckBy(by, nil, nil)
			if want := kind.CheckBy(by, map[string]any{}, map[string]any{}); !reflect.DeepEqual(summary(got), summary(want)) {
				t.Errorf("%s: %v, want %v", kind.Kind, summary(got), summary(want))
			}
			kind.Replacement(nil, nil, got)
		}
		kind.Missing(nil)
		kind.Typed(nil)
	}
}

// An unchanged manifest is never refused, with one exception: a client-side apply sends null for the empty text that
// null has made.
func TestUnchanged(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		kind, _ := kinds.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
		if v := kind.Check(c.Old, c.Old); len(v.Violations)+len(v.Unknown)+len(v.Notes) > 0 {
			t.Errorf("%s: %v", c.Name, summary(v))
		}
		for _, by := range []builtin.Applier{builtin.ApplierServerSide, "flux", builtin.ApplierClientSide} {
			if kind.CheckBy(by, c.Old, c.Old).Allowed() == (by == builtin.ApplierClientSide && strings.Contains(c.Name, "null text ") && !strings.HasSuffix(c.Name, " set")) {
				t.Errorf("%s: by %s", c.Name, by)
			}
		}
	}
}

func summary(v result.Verdict) []string {
	var all []string
	for _, found := range v.Violations {
		all = append(all, found.Path+": "+found.Message)
	}
	return append(all, fmt.Sprint(v.Unknown, v.Notes))
}

// spoil returns a copy of a value with some parts replaced by values of other types.
func spoil(random *rand.Rand, v any) any {
	var visit func(v any, depth int) any
	visit = func(v any, depth int) any {
		if depth > 0 && random.IntN(12) == 0 {
			others := []any{nil, "", "x", int64(0), 1.5, true, []any{}, []any{"x", map[string]any{}}, map[string]any{"a": nil},
				"1e999999999", "1e-999999999", map[string]any{"a{b": "", "[*]": nil, "a.b]": "1"}}
			return others[random.IntN(len(others))]
		}
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for _, name := range slices.Sorted(maps.Keys(v)) { // the same manifests in each run
				out[name] = visit(v[name], depth+1)
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, item := range v {
				out[i] = visit(item, depth+1)
			}
			return out
		}
		return v
	}
	return visit(v, 0)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
