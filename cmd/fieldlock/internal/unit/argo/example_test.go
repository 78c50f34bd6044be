package argo_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/argo"
)

var repository = fstest.MapFS{
	"apps/web/config.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n")},
}

func ExampleApplication_Render() {
	app, err := argo.ParseApplication(map[string]any{
		"metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"source":      map[string]any{"repoURL": "https://example.com/repo", "path": "apps/web"},
			"destination": map[string]any{"namespace": "prod"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	app.Sources[0].InTree = true
	objects, err := app.Render(context.Background(), repository, 0, argo.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	clusterwide := func(_, kind string) bool { return kind == "Namespace" }
	objects, err = argo.Namespaced(objects, app.Destination.Namespace, clusterwide)
	for _, o := range objects {
		fmt.Printf("# %s\n%s", o.File, o.YAML)
	}
	fmt.Println(err)
	// Output:
	// # apps/web/config.yaml
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: web
	//   namespace: prod
	// <nil>
}

func ExampleGenerate() {
	directories := map[string]any{"repoURL": "https://example.com/repo", "directories": []any{map[string]any{"path": "apps/*"}}}
	applications, err := argo.Generate(map[string]any{
		"metadata": map[string]any{"name": "all"},
		"spec": map[string]any{
			"generators": []any{map[string]any{"git": directories}},
			"template":   map[string]any{"metadata": map[string]any{"name": "{{path.basename}}"}},
		},
	}, func(_, _ string) (fs.FS, error) { return repository, nil })
	for _, a := range applications {
		fmt.Println(a["kind"], a["metadata"].(map[string]any)["name"])
	}
	fmt.Println(err)
	// Output:
	// Application web
	// <nil>
}
