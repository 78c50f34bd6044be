package builtin_test

import (
	"fmt"
	"log"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

func Example() {
	kinds, err := builtin.For("1.36")
	if err != nil {
		log.Fatal(err)
	}
	oldObj := decode(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {resources: {requests: {storage: 5Gi}}}
`)
	newObj := decode(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  podManagementPolicy: OrderedReady # the default: no change
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {resources: {requests: {storage: 10Gi}}}
`)
	kind, ok := kinds.Find("apps/v1", "StatefulSet")
	if !ok {
		log.Fatal("StatefulSets are not built in")
	}
	verdict := kind.Check(newObj, oldObj)
	for _, v := range verdict.Violations {
		fmt.Println(v.Path, v.Lock)
		for _, d := range v.Differences {
			fmt.Printf("  %s: %s, was %s\n", d.Path, d.New, d.Old)
		}
	}
	replacement := kind.Replacement(newObj, oldObj, verdict)
	fmt.Println(replacement.Cost)
	command, _, _ := strings.Cut(replacement.How[0], "   # ") // then a sentence
	fmt.Println(command)
	// Output:
	// spec.volumeClaimTemplates immutable
	//   spec.volumeClaimTemplates[0].spec.resources.requests.storage: "10Gi", was "5Gi"
	// downtime
	// kubectl patch pvc/data-db-0 -p '{"spec":{"resources":{"requests":{"storage":"10Gi"}}}}'
}

func decode(text string) map[string]any {
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		log.Fatal(err)
	}
	return object
}

// A Deployment that becomes Recreate keeps a default of RollingUpdate, unless its applier removes it.
func ExampleKind_CheckBy() {
	kinds, err := builtin.For("1.36")
	if err != nil {
		log.Fatal(err)
	}
	kind, _ := kinds.Find("apps/v1", "Deployment")
	oldObj := decode(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}}`)
	newObj := decode(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, strategy: {type: Recreate}}}`)
	for _, by := range []builtin.Applier{builtin.ApplierServerSide, builtin.ApplierClientSide} {
		verdict := kind.CheckBy(by, newObj, oldObj)
		fmt.Println(by, verdict.Allowed())
		for _, v := range verdict.Violations {
			fmt.Println(v.Path + ": " + v.Message)
		}
	}
	// Output:
	// server-side false
	// spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'
	// client-side true
}
