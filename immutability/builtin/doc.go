// Package builtin knows which updates of Kubernetes' own kinds an API server refuses.
//
//	kinds, err := builtin.For("1.36")
//	...
//	kind, _ := kinds.Find("apps/v1", "Deployment") // nil: not a built-in kind
//	verdict := kind.Check(newObj, oldObj)       // the objects as their manifests have them
//	if len(verdict.Violations) > 0 {
//		replacement := kind.Replacement(newObj, oldObj, verdict)
//		...
//	}
//
// Check predicts an apply: it stores the old manifest as the API server would, merges the new one into it, stores the
// result, and compares both. A field that the new manifest leaves out and that only the server has set is not a change.
//
// The knowledge is data: one YAML file for each API group in the folder data, with the fields that a comparison needs
// to know (defaults, list keys), the locks, and the server's words. A lock is one of the words of package immutability,
// or a CEL rule that the API server's own validator runs. What only the cluster can decide is in Verdict.Unknown.
package builtin
