package kustomize_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
)

// tree is a base and an overlay.
func tree() fstest.MapFS {
	return fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [service.yaml]\n")},
		"base/service.yaml":       {Data: []byte("apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n")},
		"live/kustomization.yaml": {Data: []byte("resources: [../base]\nnamePrefix: live-\n")},
	}
}

func ExampleFiles() {
	files, err := kustomize.Files(tree(), "live", kustomize.Options{})
	fmt.Println(files, err)
	// Output: [base/kustomization.yaml base/service.yaml live/kustomization.yaml] <nil>
}

func ExampleBuild() {
	objects, err := kustomize.Build(context.Background(), tree(), "live", kustomize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Printf("%s", object.YAML)
	}
	// Output:
	// apiVersion: v1
	// kind: Service
	// metadata:
	//   name: live-web
}

func ExampleFind() {
	found, err := kustomize.Find(tree(), kustomize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, k := range found {
		fmt.Println(k.Dir, k.Unit(), k.Included)
	}
	// Output:
	// base false true
	// live true false
}
