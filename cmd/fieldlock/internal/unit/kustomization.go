package unit

import (
	"context"
	"io/fs"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
)

// kustomizations are the kustomization files that no other includes.
func kustomizations() *unitKind {
	k := &unitKind{name: "kustomization"}
	parsed := &kustomize.Parsed{}
	k.find = func(t Tree, o *Options) ([]*Unit, error) {
		found, err := kustomize.Find(t, kustomize.Options{Parsed: parsed})
		if err != nil {
			return nil, err
		}
		var units []*Unit
		for _, f := range found {
			if !f.Unit() || isHidden(f.Dir) {
				continue
			}
			units = append(units, k.kustomization(f.Dir, f.File, o))
		}
		return units, nil
	}
	k.at = func(t Tree, dir string, o *Options) []*Unit {
		if file := kustomize.File(t, dir); file != "" {
			return []*Unit{k.kustomization(dir, file, o)}
		}
		return nil
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		o := kustomize.Options{Parsed: parsed, Outside: &u.outside, Lacking: &u.lacking, Charts: &u.charts}
		if u.fetches {
			o.Elsewhere = &u.elsewhere
		}
		return kustomize.Files(t, u.dir, o)
	}
	k.render = renderer(func(ctx context.Context, files fs.FS, job *worker.Job,
		cluster *rendered.Cluster) ([]rendered.Object, error) {
		o := kustomize.Options{Outside: new(error), Cluster: *cluster, JSON: !job.Texts, Lacking: job.Lacking}
		return kustomize.Build(ctx, files, job.Dir, o)
	})
	return k
}

// kustomization returns the unit of a directory with a kustomization file.
func (k *unitKind) kustomization(dir, file string, o *Options) *Unit {
	u := &Unit{Kind: k.name, Name: dir, File: file, kind: k, dir: dir}
	u.spec = encode(o.Cluster)
	return u
}
