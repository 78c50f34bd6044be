// Package locktest tests which updates of an object are refused, and attacks the locks that refuse them. It needs neither
// a cluster nor a binary: package immutability checks the locks, and the API server's own validators, linked into the
// test, check the schema and run the CEL rules.
//
// A first test of a CRD:
//
//	func TestLocks(t *testing.T) {
//		databases := locktest.CRD(t, "../config/crd/example.com_databases.yaml")
//		databases.Run(t, []locktest.Update{
//			{Name: "engine", Old: `spec: {engine: postgres}`, Patch: `spec: {engine: mysql}`, Refused: []string{"spec.engine"}},
//			{Name: "replicas", Old: `spec: {engine: postgres}`, Patch: `spec: {replicas: 3}`},
//		})
//		databases.Attack(t, `spec: {engine: postgres}`)
//	}
//
// Both objects of an update have to be valid, as an API server runs no rules otherwise. What the schema does not know is
// a mistake of the test, and fails it.
package locktest
