package builtin

import (
	"os"
	"strings"
	"testing"
)

// TestScopes: the scope of every kind is the one that Kubernetes' own discovery has. testdata/scopes.txt has a line for
// each minor, version, kind and scope, from api/discovery (api__v1.json and aggregated_v2.json) of Kubernetes 1.35.0,
// 1.36.3 and 1.37.0, alpha and beta versions included.
func TestScopes(t *testing.T) {
	data, err := os.ReadFile("testdata/scopes.txt")
	if err != nil {
		t.Fatal(err)
	}
	type groupKind struct{ minor, group, kind string }
	known, seen := map[string]*Kinds{}, map[groupKind]bool{}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		minor, apiVersion, name, scope := words[0], words[1], words[2], words[3]
		if known[minor] == nil {
			if known[minor], err = For(minor); err != nil {
				t.Fatal(err)
			}
		}
		kind, ok := known[minor].Find(apiVersion, name)
		if !ok {
			continue // of the kinds that no client updates, such as TokenReview
		}
		if seen[groupKind{minor, kind.Group, kind.Kind}] = true; kind.Namespaced != (scope == "Namespaced") {
			t.Errorf("%s: %s %s is %s, and the data says that it is namespaced: %t", minor, apiVersion, name, scope, kind.Namespaced)
		}
	}
	for _, minor := range Minors() {
		for _, kind := range known[minor].All() {
			if !seen[groupKind{minor, kind.Group, kind.Kind}] {
				t.Errorf("%s: discovery does not have %s of %s", minor, kind.Kind, kind.Group)
			}
		}
	}
}
