package celrule

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkImport reads the rules of a CRD with four of them.
func BenchmarkImport(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("../../../shared/crds", "karpenter", "nodepools.karpenter.sh.yaml"))
	if err != nil {
		b.Skip("the CRDs of other projects are not there")
	}
	v := crdVersions(b, "nodepools", data)[0]
	b.ReportAllocs()
	for b.Loop() {
		Import(v.schema)
	}
}
