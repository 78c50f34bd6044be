package helm_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
)

// TestLargeCRDs: CRDs come out as they are written, although Helm splits and sorts their text.
func TestLargeCRDs(t *testing.T) {
	crd := func(name, end string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s\nspec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n", name)
		for i := range 100 {
			fmt.Fprintf(&b, "        field%d:\n          description: |\n            a\n\n            ---b\n            openAPIV3Schema:\n              c: \"%s\"\n", i, name)
		}
		return b.String() + end
	}
	quoted := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: quoted\ndata:\n  a: \"b\n    openAPIV3Schema:\n" + strings.Repeat("      c: d\n", 300) + "    e\"\n"
	for _, c := range []struct{ name, why, text string }{
		{"one", "the usual case", crd("a", "")},
		{"a rest", "the schema is not the end", crd("a", "    served: true\n")},
		{"several", "each gets its own", crd("a", "") + "---\n" + crd("b", "  x: y\n") + "\n---\n" + crd("c", "\n\n")},
		{"white space at the end", "Helm cuts it off", crd("a", "\n   \n") + "---\n" + crd("b", "")},
		{"line ends of Windows", "they are kept", strings.ReplaceAll(crd("a", ""), "\n", "\r\n")},
		{"quotes over lines", "what looks like a key is text", quoted + "---\n" + crd("a", "")},
	} {
		want := map[string]string{}
		for part := range strings.SplitSeq(c.text, "\n---\n") {
			want[strings.TrimSpace(part)] = c.name
		}
		for _, dir := range []string{"templates", "crds"} {
			tree := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")}, dir + "/a.yaml": {Data: []byte(c.text)}}
			objects, err := helm.Render(tree, ".", helm.Release{})
			if err != nil || len(objects) != len(want) {
				t.Fatalf("%s in %s: %d objects, want %d; %v", c.name, dir, len(objects), len(want), err)
			}
			for _, o := range objects {
				if want[strings.TrimSpace(string(o.YAML))] == "" {
					t.Errorf("%s in %s (%s): an object is not as it was written:\n%.2000s", c.name, dir, c.why, o.YAML)
				}
			}
		}
	}
}
