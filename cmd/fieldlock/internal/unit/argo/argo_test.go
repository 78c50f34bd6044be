package argo_test

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

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/argo"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

var update = flag.Bool("update", false, "write what is rendered into the cases of testdata")

// TestCases renders the Applications of each case. A case is a tree and, in files that are not part of it:
// application.yaml or applicationset.yaml; want, the objects, the generated Applications, or the error; and files, what
// rendering reads. The tree is the repository https://example.com/repo, at any revision but "v1".
func TestCases(t *testing.T) {
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
			tree, special := fstest.MapFS{}, map[string][]byte{}
			for _, f := range archive.Files {
				switch f.Name {
				case "application.yaml", "applicationset.yaml", "want", "files":
					special[f.Name] = f.Data
				default:
					tree[f.Name] = &fstest.MapFile{Data: f.Data}
				}
			}
			got := map[string]string{}
			if set, ok := special["applicationset.yaml"]; ok {
				got["want"] = generate(t, tree, set)
			} else {
				got["want"], got["files"] = render(t, tree, special["application.yaml"])
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
				t.Errorf("the case has no want; it is:\n%s", got["want"])
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func inTree(repoURL, revision string) bool {
	return repoURL == "https://example.com/repo" && revision != "v1"
}

func render(t *testing.T, tree fs.FS, application []byte) (want, files string) {
	object := map[string]any{}
	if err := yaml.UnmarshalStrict(application, &object); err != nil {
		t.Fatal(err)
	}
	app, err := argo.ParseApplication(object)
	if err != nil {
		return failure(err), ""
	}
	for i := range app.Sources {
		app.Sources[i].InTree = inTree(app.Sources[i].RepoURL, app.Sources[i].TargetRevision)
	}
	var b strings.Builder
	if app.Prune || app.ServerSideApply || app.Replace {
		fmt.Fprintf(&b, "prune %t, server-side %t, replace %t\n",
			app.Prune, app.ServerSideApply, app.Replace)
	}
	for i := range app.Sources {
		read, err := app.Files(tree, i)
		if err == nil {
			files += strings.Join(append(read, ""), "\n")
		}
		objects, err := app.Render(t.Context(), tree, i, argo.Options{Cluster: rendered.Cluster{KubeVersion: "1.36"}})
		if err == nil {
			objects, err = argo.Namespaced(objects, app.Destination.Namespace, func(_, kind string) bool { return kind == "ClusterRole" })
		}
		if err != nil {
			b.WriteString(failure(err))
		}
		for _, o := range objects {
			fmt.Fprintf(&b, "--- %s %s\n%s\n", o.File, o.Role, strings.TrimSpace(string(o.YAML)))
		}
	}
	return b.String(), files
}

func generate(t *testing.T, tree fs.FS, set []byte) string {
	object := map[string]any{}
	if err := yaml.UnmarshalStrict(set, &object); err != nil {
		t.Fatal(err)
	}
	applications, err := argo.Generate(object, func(repoURL, revision string) (fs.FS, error) {
		if !inTree(repoURL, revision) {
			return nil, &rendered.NotCovered{Reason: "the repository " + repoURL}
		}
		return tree, nil
	})
	if err != nil {
		return failure(err)
	}
	var b strings.Builder
	for _, a := range applications {
		content, err := yaml.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "---\n%s", content)
	}
	return b.String()
}

func failure(err error) string {
	if missing, ok := errors.AsType[*rendered.NotCovered](err); ok {
		return fmt.Sprintf("not covered: %s\n", missing.Reason)
	}
	return fmt.Sprintf("error: %v\n", err)
}
