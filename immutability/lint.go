package immutability

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/lint"
)

// Lint returns the errors and warnings about the locks of s: errors first, then by path. An error is what fails Compile. A
// warning is a hole through which a locked value can still change, one for each hole with the fields behind it, or a lock
// without effect. Package crd finds what concerns a CRD as a whole, such as a lock that one served version lacks. Lint
// returns nil if there is nothing to say. Cost: linear in the schema and in what it returns; it stops when the paths of
// the findings have a million steps together, and the last message says so.
func Lint(s *spec.Schema, opts ...Option) []Finding {
	a := analyse(s, opts)
	return findings(append(a.entries, lint.Warnings(a.tree)...))
}
