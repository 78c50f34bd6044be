package unit

import (
	"context"
	"io/fs"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// kustomizations are the kustomization files that no other includes.
func kustomizations() *kind {
	k := &kind{name: "kustomization"}
	k.find = func(t Tree, _ *Options) ([]*Unit, error) {
		found, err := kustomize.Find(t)
		if err != nil {
			return nil, err
		}
		var units []*Unit
		for _, f := range found {
			if !f.Unit() || isHidden(f.Dir) {
				continue
			}
			units = append(units, k.unit(f.Dir, f.File))
		}
		return units, nil
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) { return kustomize.Files(t, u.dir, kustomize.Options{}) }
	k.render = renderer(func(ctx context.Context, files fs.FS, dir string, _ *struct{}) ([]rendered.Object, error) {
		return kustomize.Build(ctx, files, dir, kustomize.Options{})
	})
	return k
}

// unit returns the kustomization in a directory.
func (k *kind) unit(dir, file string) *Unit {
	return &Unit{Kind: k.name, Name: dir, File: file, kind: k, dir: dir, spec: encode(struct{}{})}
}
