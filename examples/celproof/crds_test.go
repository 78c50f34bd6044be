package celproof

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
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
func versions(t *testing.T, files fs.FS, dir string) []*crd.Version {
	t.Helper()
	var all []*crd.Version
	err := fs.WalkDir(files, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if !strings.Contains(string(data), "CustomResourceDefinition") {
			return nil
		}
		crds, err := crd.Read(name, data)
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
		for _, v := range versions(t, os.DirFS(realCRDs), ".") {
			prove(t, v)
		}
	})
	for module, folders := range modules {
		t.Run(module, func(t *testing.T) {
			files, err := modulefs.Open(module)
			if err != nil {
				t.Skip(err)
			}
			defer files.Close()
			for _, folder := range folders {
				for _, v := range versions(t, files, folder) {
					prove(t, v)
				}
			}
		})
	}
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
