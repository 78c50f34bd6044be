package unit

import (
	"context"
	"io/fs"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// kustomizationSpec is how a kustomization is rendered.
type kustomizationSpec struct {
	KubeVersion string
	APIVersions []string
	Origins     bool
}

func (s *kustomizationSpec) options() kustomize.Options {
	return kustomize.Options{KubeVersion: s.KubeVersion, APIVersions: s.APIVersions, NoOrigins: !s.Origins}
}

// kustomizations are the kustomization files that no other includes.
func kustomizations() *kind {
	k := &kind{name: "kustomization"}
	k.find = func(t Tree, o *Options) ([]*Unit, error) {
		found, err := kustomize.Find(t)
		if err != nil {
			return nil, err
		}
		var units []*Unit
		for _, f := range found {
			if !f.Unit() || isHidden(f.Dir) {
				continue
			}
			u := &Unit{Kind: k.name, Name: f.Dir, File: f.File, kind: k, dir: f.Dir}
			u.spec = encode(kustomizationSpec{KubeVersion: o.KubeVersion, APIVersions: o.APIVersions})
			units = append(units, u)
		}
		return units, nil
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) { return kustomize.Files(t, u.dir, kustomize.Options{}) }
	k.render = renderer(func(ctx context.Context, files fs.FS, dir string, s *kustomizationSpec) ([]rendered.Object, error) {
		return kustomize.Build(ctx, files, dir, s.options())
	})
	return k
}

