package flux

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestOrigin compares with what the controller copies: cp's rules for directories, and copies that overlap.
func TestOrigin(t *testing.T) {
	for _, test := range []struct{ name, copies, dir, want string }{
		{"the content of a directory", "{from: '@a/deploy/**', to: '@artifact/'}", "shop", "deploy/shop within deploy"},
		{"the whole source", "{from: '@a/**', to: '@artifact/'}", "shop", "shop within ."},
		{"the whole source as a directory", "{from: '@a/', to: '@artifact/src/'}", "src/shop", "shop within ."},
		{"a directory itself", "{from: '@a/deploy/', to: '@artifact/'}", "deploy/shop", "deploy/shop within deploy"},
		{"above a directory itself", "{from: '@a/deploy', to: '@artifact/deploy'}", "deploy", ""},
		{"elsewhere", "{from: '@a/deploy/**', to: '@artifact/x/'}", "shop", ""},
		{"two in the same places", "{from: '@a/k/base/**', to: '@artifact/base'}, {from: '@a/k/apps', to: '@artifact/'}", "apps/shop", "k/apps/shop within k/base k/apps"},
		{"two in other places", "{from: '@a/k/base/**', to: '@artifact/lib'}, {from: '@a/k/apps', to: '@artifact/'}", "apps/shop", "k/apps/shop within k/apps"},
		{"two sources in one place", "{from: '@a/deploy/**', to: '@artifact/'}, {from: '@b/patches/**', to: '@artifact/shop/'}", "shop", ""},
		{"a file on top", "{from: '@a/deploy/**', to: '@artifact/'}, {from: '@b/c.yaml', to: '@artifact/shop/c.yaml'}", "shop", ""},
		{"a file on top, merged", "{from: '@a/deploy/**', to: '@artifact/'}, {from: '@a/deploy/c.yaml', to: '@artifact/c.yaml', strategy: Merge}", "shop", ""},
		{"some files", "{from: '@a/deploy/*.yaml', to: '@artifact/'}", ".", ""},
		{"some directories", "{from: '@a/*/shop/**', to: '@artifact/'}", ".", ""},
		{"with exceptions", "{from: '@a/deploy/**', to: '@artifact/', exclude: ['*.md']}", ".", ""},
		{"archives", "{from: '@a/deploy/**', to: '@artifact/', strategy: Extract}", ".", ""},
		{"out of the source", "{from: '@a/../**', to: '@artifact/'}", ".", ""},
		{"out of the artifact", "{from: '@a/deploy/**', to: '@artifact/../'}", ".", ""},
		{"an unknown alias", "{from: '@c/deploy/**', to: '@artifact/'}", ".", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var generator map[string]any
			err := yaml.Unmarshal([]byte("apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: g, namespace: flux-system}\n"+
				"spec:\n  sources: [{alias: a, kind: GitRepository, name: one}, {alias: b, kind: OCIRepository, name: two, namespace: x}]\n"+
				"  artifacts: [{name: n, copy: ["+test.copies+"]}]\n"), &generator)
			if err != nil {
				t.Fatal(err)
			}
			artifacts := Artifacts(generator)
			if len(artifacts) != 1 {
				t.Fatalf("got %d artifacts", len(artifacts))
			}
			got := ""
			if part, ok := Origin(artifacts[0], test.dir); ok {
				got = part.Dir + " within " + strings.Join(part.Within, " ")
				if want := (Reference{"GitRepository", "flux-system", "one"}); part.Source != want {
					t.Errorf("its source is %v", part.Source)
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
