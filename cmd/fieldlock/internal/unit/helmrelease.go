package unit

import (
	"context"
	"io/fs"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
)

// helmReleases are Flux's HelmReleases.
func helmReleases() *unitKind {
	k := &unitKind{name: "HelmRelease", group: "helm.toolkit.fluxcd.io", object: "HelmRelease"}
	k.from = func(d *definer, o Object) *Unit {
		h, err := flux.ParseHelmRelease(o.Object)
		if err != nil || h.Source.Kind == "" { // a patch of one: no API server stores it
			return k.unread(d, o, err)
		}
		u := &Unit{Kind: k.name, Name: nameOf(o.Object), File: o.File, kind: k, random: true,
			Force: h.Force, Prune: true}
		spec := d.defines(o, h.ValuesFrom())
		if h.Source.Kind == "HelmChart" {
			if chart, ok := d.lookup(h.Source); ok {
				spec.Chart = chart
			}
		}
		h, err = releaseOf(spec)
		if err != nil {
			return k.unread(d, o, err)
		}
		u.dir, u.Namespace = h.Chart, h.ReleaseNamespace
		inGit := h.Source.Kind == "GitRepository"
		if inGit {
			u.tree, err = d.fluxSource(h.Source)
		} else {
			err = &rendered.NotCovered{Reason: "its chart is in the " + h.Source.Kind + " " + h.Source.Name}
		}
		if err != nil {
			spec.Sources = d.sources(h.Source)
		}
		spec.InTree = []bool{err == nil}
		switch {
		case err == nil:
		case inGit || d.Fetch == nil:
			u.missing = at(o.File, err)
		default:
			chart, reason := d.fluxChart(h)
			if reason != "" {
				u.missing = &rendered.NotCovered{File: o.File, Reason: reason}
				break
			}
			u.dir = u.chartDir(chart)
			spec.Fetched = []string{u.dir}
		}
		u.spec = encode(spec)
		return u
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		spec := decode[definedSpec](u.spec)
		h, err := releaseOf(&spec)
		if err != nil {
			return nil, err
		}
		if !h.Fetched && !exists(t, h.Chart+"/Chart.yaml") {
			return nil, &rendered.NotCovered{File: u.File, Reason: "the tree has no chart " + h.Chart}
		}
		files, err := h.Files(t)
		u.lacking.Decides = helm.Decides(h.Chart, files)
		return slices.Clone(files), at(u.File, err)
	}
	k.render = renderer(func(ctx context.Context, files fs.FS, job *worker.Job,
		s *definedSpec) ([]rendered.Object, error) {
		h, err := releaseOf(s)
		if err != nil {
			return nil, err
		}
		h.Upgrading, h.Lacking = s.Upgrade, job.Lacking
		return h.Build(ctx, files, s.referenced, s.Cluster)
	})
	return k
}

// releaseOf reads the HelmRelease of a specification.
func releaseOf(s *definedSpec) (*flux.HelmRelease, error) {
	h, err := flux.ParseHelmRelease(s.Object)
	if err != nil {
		return nil, err
	}
	if s.Chart != nil {
		if err := h.UseChart(s.Chart); err != nil {
			return nil, err
		}
	}
	h.InTree = len(s.InTree) > 0 && s.InTree[0]
	if len(s.Fetched) > 0 {
		h.UseFetched(s.Fetched[0])
	}
	return h, nil
}
