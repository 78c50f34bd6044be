package locktest_test

import (
	"fmt"

	"github.com/fieldlock/fieldlock/immutability/locktest"
)

// printer prints what a test would report, for the output of the examples. In a test, pass its *testing.T.
type printer struct{}

func (printer) Helper()                           {}
func (printer) Errorf(format string, args ...any) { fmt.Printf("FAIL: "+format+"\n", args...) }
func (printer) Fatalf(format string, args ...any) { fmt.Printf("FATAL: "+format+"\n", args...) }

var t printer

func ExampleKind_Run() {
	databases := locktest.CRD(t, "testdata/databases.yaml")
	databases.Run(t, []locktest.Update{
		{Name: "engine", Old: `spec: {engine: postgres}`, Patch: `spec: {engine: mysql}`, Refused: []string{"spec.engine"}},
		{Name: "replicas", Old: `spec: {engine: postgres}`, Patch: `spec: {replicas: 3}`},
		{Name: "shrink", Old: `spec: {engine: postgres, size: 2}`, Patch: `spec: {size: 1}`}, // a mistake
		{Name: "grow", Old: `spec: {engine: postgres, size: 2}`, Patch: `spec: {sise: 3}`},   // another one
	})
	// Output:
	// FAIL: shrink: want the update allowed, got it refused at spec.size
	//     spec.size: a volume cannot shrink (rule: self >= oldSelf)
	// FAIL: grow: Old with Patch: the schema of example.com/v1 does not know spec.sise
}

func ExampleKind_Attack() {
	databases := locktest.CRD(t, "testdata/databases.yaml")
	databases.Attack(t, `spec: {engine: postgres}`, locktest.WithAccepted("spec.size"))
	// Output:
	// FAIL: updates get around what guards spec.storage.class, through spec.storage (accept it with locktest.WithAccepted("spec.storage")):
	// # first
	// apiVersion: example.com/v1
	// kind: Database
	// metadata:
	//   name: example
	// spec:
	//   engine: postgres
	//   storage:
	//     class: a
	// ---
	// # second
	// apiVersion: example.com/v1
	// kind: Database
	// metadata:
	//   name: example
	// spec:
	//   engine: postgres
	// ---
	// # third
	// apiVersion: example.com/v1
	// kind: Database
	// metadata:
	//   name: example
	// spec:
	//   engine: postgres
	//   storage:
	//     class: b
	// # from the first to the third directly is refused: spec.storage.class: field is immutable
}
