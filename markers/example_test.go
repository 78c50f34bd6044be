package markers_test

import (
	"context"
	"fmt"

	"github.com/fieldlock/fieldlock/markers"
)

// The package in testdata has one type, with +immutable on its name.
func ExampleLoad() {
	source, err := markers.Load(context.Background(), ".", []string{"./testdata/api/model"})
	if err != nil {
		fmt.Println(err) // every problem with its file and line
		return
	}
	files, err := source.WriteCRDs([]markers.File{{Name: "crd.yaml", Data: []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: model.fieldlock.dev
  names: {kind: Thing}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          name:
            type: string # up to the user
`)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(files[0].Data))
	// Output:
	// apiVersion: apiextensions.k8s.io/v1
	// kind: CustomResourceDefinition
	// spec:
	//   group: model.fieldlock.dev
	//   names: {kind: Thing}
	//   versions:
	//   - name: v1
	//     schema:
	//       openAPIV3Schema:
	//         properties:
	//           name:
	//             type: string # up to the user
	//             x-kubernetes-immutable: true
}
