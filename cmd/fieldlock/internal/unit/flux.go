package unit

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// sources returns what decides about the content of a source, and of its own source.
func (d *definer) sources(r flux.Reference) []map[string]any {
	source, ok := d.lookup(r)
	if !ok {
		return nil
	}
	spec := fieldpath.Object(source, "spec")
	all := []map[string]any{deciding(spec)}
	if r.Kind == "HelmChart" {
		of := flux.Reference{Namespace: r.Namespace}
		of.Kind = fieldpath.Text(source, "spec", "sourceRef", "kind")
		of.Name = fieldpath.Text(source, "spec", "sourceRef", "name")
		all = append(all, d.sources(of)...)
	}
	return all
}

// fluxKustomizations are Flux's Kustomizations.
func fluxKustomizations() *unitKind {
	k := &unitKind{name: "Flux Kustomization", group: "kustomize.toolkit.fluxcd.io", object: "Kustomization"}
	k.from = func(d *definer, o Object) *Unit {
		f, err := flux.ParseKustomization(o.Object)
		if err != nil || f.Source.Kind == "" { // a patch of one: no API server stores it
			return k.unread(d, o, err)
		}
		u := &Unit{Kind: k.name, Name: nameOf(o.Object), File: o.File, kind: k, dir: f.Path}
		u.Prune, u.Force, u.Applier = f.Prune, f.Force, "server-side"
		spec := d.defines(o, f.Variables())
		source := f.Source
		if source.Kind == "ExternalArtifact" {
			artifact, _ := d.lookup(source)
			if part, ok := flux.Origin(artifact, f.Path); ok {
				spec.Part, source, u.dir = part, part.Source, part.Dir
			}
		}
		if source.Kind == "GitRepository" {
			repository, _ := d.lookup(source)
			spec.Ignore = fieldpath.Text(repository, "spec", "ignore")
			for _, of := range included(repository, source.Namespace) {
				spec.Included = append(spec.Included, of.Name)
				spec.Sources = slices.Concat(spec.Sources, d.sources(source), d.sources(of))
			}
		}
		if u.tree, err = d.fluxSource(source); err != nil {
			u.missing = at(o.File, err)
			spec.Sources = append(spec.Sources, d.sources(f.Source)...)
		}
		u.spec = encode(spec)
		return u
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		if u.missing != nil {
			return nil, u.missing
		}
		if !isDir(t, u.dir) {
			return nil, &rendered.NotCovered{File: u.File, Reason: "the tree has no directory " + u.dir}
		}
		spec := decode[definedSpec](u.spec)
		f, err := spec.kustomization()
		if err != nil {
			return nil, err
		}
		f.Lacking = &u.lacking
		spec.lackIncluded(&u.lacking)
		if u.fetches {
			f.Elsewhere = &u.elsewhere
		}
		files, err := f.Files(t)
		if i := slices.IndexFunc(files, spec.leftOut); err == nil && i >= 0 {
			err = &rendered.NotCovered{File: u.File,
				Reason: "it reads " + files[i] + ", which its ExternalArtifact does not hold"}
		}
		return files, err
	}
	k.render = renderer(func(ctx context.Context, files fs.FS, job *worker.Job,
		s *definedSpec) ([]rendered.Object, error) {
		f, err := s.kustomization()
		if err != nil {
			return nil, err
		}
		f.Lacking = job.Lacking
		s.lackIncluded(job.Lacking)
		return f.Build(ctx, files, s.referenced)
	})
	return k
}

// included returns the repositories of which a GitRepository has files among its own.
func included(repository map[string]any, namespace string) (all []flux.Reference) {
	list, _ := fieldpath.Value(repository, "spec", "include").([]any)
	for _, include := range list {
		name := fieldpath.Text(include, "repository", "name")
		all = append(all, flux.Reference{Kind: "GitRepository", Namespace: namespace, Name: name})
	}
	return all
}

// lackIncluded notes that the files of other repositories, which the source includes, are not in the tree.
func (s *definedSpec) lackIncluded(lacking *rendered.Lacking) {
	if len(s.Included) > 0 {
		lacking.Lacks(&rendered.NotCovered{Reason: "its source includes the GitRepository " +
			strings.Join(s.Included, ", ")})
	}
}

// kustomization parses a Kustomization. If its source is an ExternalArtifact, the path becomes the directory that the
// artifact is copied from.
func (s *definedSpec) kustomization() (*flux.Kustomization, error) {
	f, err := flux.ParseKustomization(s.Object)
	if err != nil {
		return nil, err
	}
	f.Ignore = s.Ignore
	if s.Part != nil {
		f.Path = s.Part.Dir
	}
	return f, nil
}

// leftOut reports whether an ExternalArtifact does not hold a file of its source. A .sourceignore file counts where the
// source is made.
func (s *definedSpec) leftOut(name string) bool {
	return s.Part != nil && !s.Part.Holds(name) && path.Base(name) != ".sourceignore"
}

// fluxSource returns the tree of a source of Flux, nil for the tree under check, and a *rendered.NotCovered for a
// source that is not here.
func (d *definer) fluxSource(r flux.Reference) (Tree, error) {
	switch r.Kind {
	case "GitRepository":
		source, ok := d.lookup(r)
		url := fieldpath.Text(source, "spec", "url")
		if ok && url != "" && !d.isOwnURL(url) {
			return nil, &rendered.NotCovered{Reason: "its source is the repository " + url}
		}
		return d.fluxRevision(source)
	case "":
		return nil, nil
	}
	return nil, &rendered.NotCovered{Reason: "its source is the " + r.Kind + " " + r.Name}
}

// isOwnURL reports whether the tree is a repository of that URL.
func (o *Options) isOwnURL(url string) bool {
	return !strings.HasPrefix(url, "oci://") && (o.InTree == nil || o.InTree(url))
}
