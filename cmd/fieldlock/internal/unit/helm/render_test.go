package helm_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

var update = flag.Bool("update", false, "write what is rendered into the cases of testdata")

// TestRender renders the chart of each case. A case is a tree and, in files that are not part of it: release.yaml, what
// to render ("dir", "." without it) and with what; want, the objects with their files and roles, or the error; and
// files, what rendering reads.
func TestRender(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases:", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree, special := caseTree(archive)
			var release struct {
				Dir string
				helm.Release
			}
			if err := yaml.UnmarshalStrict(special["release.yaml"], &release); err != nil {
				t.Fatal(err)
			}
			if release.Dir == "" {
				release.Dir = "."
			}
			if release.KubeVersion == "" {
				release.KubeVersion = "1.36"
			}
			objects, err := helm.Render(tree, release.Dir, release.Release)
			got := map[string]string{"want": written(objects, err)}
			if _, ok := special["files"]; ok {
				files, err := helm.Files(tree, release.Dir)
				if err != nil {
					t.Fatal(err)
				}
				got["files"] = strings.Join(files, "\n") + "\n"
			}
			for i, f := range archive.Files {
				if text, ok := got[f.Name]; ok && text != string(f.Data) {
					archive.Files[i].Data = []byte(text)
					if !*update {
						t.Errorf("%s:\n%s\nwant:\n%s", f.Name, text, f.Data)
					}
				}
			}
			if _, ok := special["want"]; !ok {
				t.Errorf("the case has no want; rendered:\n%s", got["want"])
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// caseTree separates the tree of a case from what the test is told.
func caseTree(archive *txtar.Archive) (tree fstest.MapFS, special map[string][]byte) {
	tree, special = fstest.MapFS{}, map[string][]byte{}
	for _, f := range archive.Files {
		switch f.Name {
		case "release.yaml", "want", "files":
			special[f.Name] = f.Data
		default:
			name, target, link := strings.Cut(f.Name, " -> ")
			if link {
				tree[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
				continue
			}
			tree[name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return tree, special
}

// written is what the cases hold of a rendered chart.
func written(objects []rendered.Object, err error) string {
	var b strings.Builder
	if missing, ok := errors.AsType[*rendered.NotCovered](err); ok {
		return fmt.Sprintf("not covered: %v\n", missing)
	}
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	for _, o := range objects {
		fmt.Fprintf(&b, "--- %s %s\n%s\n", o.File, o.Role, strings.TrimSpace(string(o.YAML)))
	}
	return b.String()
}

// TestEndOfManifest: Helm writes a line break behind each manifest, which is part of a value where the manifest ends
// with a block of text.
func TestEndOfManifest(t *testing.T) {
	manifest := func(block string) []byte { return []byte("kind: ConfigMap\ndata:\n  text: " + block + "\n    end") }
	for block, want := range map[string]string{"|": "end\n", "|-": "end", "|+": "end\n"} {
		tree := fstest.MapFS{"shop/Chart.yaml": {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")}}
		tree["shop/templates/a.yaml"] = &fstest.MapFile{Data: manifest(block)}
		tree["shop/templates/hook.yaml"] = &fstest.MapFile{Data: append([]byte("metadata: {annotations: {helm.sh/hook: test}}\n"), manifest(block)...)}
		tree["shop/crds/crd.yaml"] = &fstest.MapFile{Data: manifest(block)}
		objects, err := helm.Render(tree, "shop", helm.Release{})
		if err != nil || len(objects) != 3 {
			t.Fatal(len(objects), err)
		}
		for _, o := range objects {
			var object struct{ Data struct{ Text string } }
			if err := yaml.Unmarshal(o.YAML, &object); err != nil || object.Data.Text != want {
				t.Errorf("%s in %s: %q, want %q (%v)", block, o.File, object.Data.Text, want, err)
			}
		}
	}
}
