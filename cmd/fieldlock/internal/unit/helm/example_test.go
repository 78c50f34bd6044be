package helm_test

import (
	"bytes"
	"fmt"
	"testing/fstest"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
)

var shop = fstest.MapFS{
	"deploy/shop/Chart.yaml":         {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")},
	"deploy/shop/values.yaml":        {Data: []byte("color: blue\n")},
	"deploy/shop/templates/all.yaml": {Data: []byte("kind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-{{ .Values.color }}}\n")},
}

func ExampleCharts() {
	charts, err := helm.Charts(shop)
	fmt.Println(charts, err)
	// Output: [{deploy/shop []}] <nil>
}

func ExampleFiles() {
	files, err := helm.Files(shop, "deploy/shop")
	fmt.Println(files, err)
	// Output: [deploy/shop/Chart.yaml deploy/shop/templates/all.yaml deploy/shop/values.yaml] <nil>
}

func ExampleRender() {
	objects, err := helm.Render(shop, "deploy/shop", helm.Release{Name: "live", Values: map[string]any{"color": "red"}})
	for _, o := range objects {
		fmt.Printf("# %s\n%s", o.File, bytes.TrimSuffix(o.YAML, []byte("\n")))
	}
	fmt.Println(err)
	// Output:
	// # deploy/shop/templates/all.yaml
	// kind: ConfigMap
	// metadata: {name: live-red}
	// <nil>
}
