package celproof

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// modules are projects whose CRDs stand in Go modules, and the folders they are in.
var modules = map[string][]string{
	"sigs.k8s.io/gateway-api@v1.7.0":               {"config/crd"},
	"sigs.k8s.io/cluster-api@v1.14.2":              {"core/config/crd/bases", "bootstrap/kubeadm/config/crd/bases", "controlplane/kubeadm/config/crd/bases"},
	"sigs.k8s.io/karpenter@v1.15.0":                {"pkg/apis/crds"},
	"github.com/cert-manager/cert-manager@v1.21.2": {"deploy/crds"},
}

// realCRDs is where CRDs of other projects are, when they are there.
const realCRDs = "../../../shared/crds"

// versions returns the versions of the CRDs in the files below dir.
func versions(t *testing.T, dir string) []*crd.Version {
	t.Helper()
	var all []*crd.Version
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.Contains(string(data), "CustomResourceDefinition") {
			return nil
		}
		crds, err := crd.Read(path, data)
		for _, c := range crds {
			all = append(all, c.Versions...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// everyVersion calls prove for the CRDs of realCRDs and of every module, each as a subtest.
func everyVersion(t *testing.T, prove func(t *testing.T, v *crd.Version)) {
	t.Run("shared", func(t *testing.T) {
		if _, err := os.Stat(realCRDs); errors.Is(err, os.ErrNotExist) {
			t.Skip("the CRDs of other projects are not there")
		}
		for _, v := range versions(t, realCRDs) {
			prove(t, v)
		}
	})
	for module, folders := range modules {
		t.Run(module, func(t *testing.T) {
			dir := download(t, module)
			for _, folder := range folders {
				for _, v := range versions(t, filepath.Join(dir, folder)) {
					prove(t, v)
				}
			}
		})
	}
}

// download returns the folder of a Go module; it skips the test when the module cannot be had, as one that asks for a
// newer Go than this.
func download(t *testing.T, module string) string {
	t.Helper()
	out, _ := exec.Command("go", "mod", "download", "-json", module).Output()
	var got struct{ Dir, Error string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Skipf("go mod download %s: %v", module, err)
	}
	if got.Error != "" || got.Dir == "" {
		t.Skipf("go mod download %s: %s", module, got.Error)
	}
	return got.Dir
}

// nameOf is the version for messages.
func nameOf(v *crd.Version) string { return v.CRD().Name + " " + v.Name }

// encode is the JSON of v.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
