package main

import (
	"strings"
	"testing"
)

// TestMovedToAPath: an object that moves into a path that is named is compared with what OLD had elsewhere, and nothing
// outside of the paths is judged. This is what pre-commit needs, which names only the new file of one that moved.
func TestMovedToAPath(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const refused = "spec.storageClassName"
	fast, slow := claim("data", "fast"), claim("data", "slow")
	other := claim("other", "fast")
	in := func(namespace, text string) string {
		return strings.Replace(text, "{name: ", "{namespace: "+namespace+", name: ", 1)
	}
	overlay := func(dir, text string) map[string]string {
		return map[string]string{dir + "/kustomization.yaml": "resources: [claim.yaml]\nnamePrefix: x-\n", dir + "/claim.yaml": text}
	}
	chart := map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/templates/claim.yaml": claim("{{ .Chart.Name }}", "fast")}
	crd := map[string]string{"crd.yaml": classLocked, "a/w.yaml": widget("v1", "", "x", "{class: a}")}
	for _, c := range []struct {
		name     string
		old, new map[string]string
		paths    string
		status   int
		says     string
	}{
		{"a file", map[string]string{"a/r.yaml": fast}, map[string]string{"b/r.yaml": slow}, "b/r.yaml", exitRefused, refused},
		{"a file, its directory is named", map[string]string{"a/r.yaml": fast}, map[string]string{"b/r.yaml": slow}, "b", exitRefused, refused},
		{"a file that does not change", map[string]string{"a/r.yaml": fast}, map[string]string{"b/r.yaml": fast}, "b", exitClean, "1 update"},
		{"from a file with others", map[string]string{"a/r.yaml": fast + "---\n" + other}, map[string]string{"a/r.yaml": other, "b/r.yaml": slow}, "b", exitRefused, "1 object checked (1 update)"},
		{"what changes outside is not judged", map[string]string{"a/r.yaml": fast + "---\n" + other}, map[string]string{"a/r.yaml": claim("other", "slow"), "b/r.yaml": fast}, "b", exitClean, "1 object checked (1 update)"},
		{"what goes outside is not judged", map[string]string{"a/r.yaml": fast, "a/o.yaml": other}, map[string]string{"b/r.yaml": fast}, "b --refuse-deletions data", exitClean, "1 object checked (1 update)"},
		{"a copy of a file that changes", map[string]string{"a/r.yaml": fast + "---\n" + other}, map[string]string{"a/r.yaml": fast, "b/r.yaml": slow}, "b", exitClean, "? PersistentVolumeClaim data"},
		{"another namespace", map[string]string{"a/r.yaml": in("one", fast)}, map[string]string{"b/r.yaml": in("two", slow)}, "b", exitClean, "1 create"},
		{"one of two namespaces", map[string]string{"a/r.yaml": in("one", fast), "b/r.yaml": in("two", fast)}, map[string]string{"b/r.yaml": in("two", fast), "b/s.yaml": in("one", slow)}, "b", exitRefused, "one/data"},
		{"the namespace is left to the tool", map[string]string{"a/r.yaml": in("one", fast)}, map[string]string{"b/r.yaml": slow}, "b", exitRefused, refused},
		{"a new object", map[string]string{"a/r.yaml": fast}, map[string]string{"a/r.yaml": fast, "b/r.yaml": other}, "b", exitClean, "1 create"},
		{"an overlay", overlay("a", fast), overlay("b", slow), "b/claim.yaml", exitRefused, refused},
		{"from an overlay to a file", overlay("a", fast), map[string]string{"b/r.yaml": claim("x-data", "slow")}, "b", exitRefused, refused},
		{"from a file to an overlay", map[string]string{"r.yaml": claim("x-data", "fast")}, overlay("b", slow), "b", exitRefused, refused},
		{"from a chart to a file", chart, map[string]string{"b/r.yaml": claim("shop", "slow")}, "b", exitRefused, refused},
		{"from a chart that stays", with(chart, "shop/templates/b.yaml", other), with(chart, "shop/templates/b.yaml", "# gone\n", "b/r.yaml", claim("other", "slow")), "b", exitRefused, refused},
		{"a copy of what a chart has", chart, with(chart, "shop/values.yaml", "a: b\n", "b/r.yaml", claim("shop", "slow")), "b", exitClean, "? PersistentVolumeClaim shop"},
		{"from a file that OLD excludes", map[string]string{"a/r.yaml": fast, ".fieldlock.yaml": "exclude: [a]\n"}, map[string]string{"b/r.yaml": slow, ".fieldlock.yaml": "exclude: [a]\n"}, "b", exitClean, "1 create"},
		{"--plain", map[string]string{"a/r.yaml": fast}, map[string]string{"b/r.yaml": slow}, "b --plain", exitRefused, refused},
		{"a custom resource", crd, with(crd, "a/w.yaml", "", "b/w.yaml", widget("v1", "", "x", "{class: b}")), "b --schema crd.yaml", exitRefused, "spec.class"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, c.old, nil)
			change(t, c.old, c.new)
			got := runCommand("", append([]string{"check", "--git", "HEAD"}, strings.Fields(c.paths)...)...)
			if got.status != c.status || !strings.Contains(got.out, c.says) {
				t.Errorf("status %d, want %d with %q\n%s%s", got.status, c.status, c.says, got.out, got.err)
			}
		})
	}
}
