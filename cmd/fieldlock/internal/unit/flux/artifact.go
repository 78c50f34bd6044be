package flux

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// An ArtifactGenerator copies directories of sources into ExternalArtifacts, which a Kustomization can have as its
// source. With
//
//	sources:
//	- {alias: repo, kind: GitRepository, name: home}
//	artifacts:
//	- name: apps
//	  copy:
//	  - {from: "@repo/deploy/base/**", to: "@artifact/base/"}
//	  - {from: "@repo/deploy/apps/**", to: "@artifact/apps/"}
//
// a Kustomization of the artifact apps with the path ./apps/shop applies deploy/apps/shop of the GitRepository home,
// and may read what is in deploy/base as ../../base: both copies leave the files where they are in relation to each
// other. [Origin] finds such directories. It does not find what is selected, merged, extracted, put together from
// several sources, or made for each directory of a pattern.
//
// The rules are those of internal/builder/builder.go in github.com/fluxcd/source-watcher, of October 2025.

// generatorGroup is the API group of the kind ArtifactGenerator.
const generatorGroup = "source.extensions.fluxcd.io/"

// Artifacts returns the objects of the kind ExternalArtifact that an ArtifactGenerator makes, named as its controller
// names them, with the sources and the copies in their spec. Any other object makes none.
func Artifacts(generator map[string]any) []map[string]any {
	apiVersion, _ := generator["apiVersion"].(string)
	if generator["kind"] != "ArtifactGenerator" || !strings.HasPrefix(apiVersion, generatorGroup) {
		return nil
	}
	made, _ := fieldpath.Value(generator, "spec", "artifacts").([]any)
	var all []map[string]any
	for _, of := range made {
		metadata := map[string]any{"name": fieldpath.Value(of, "name")}
		if namespace := fieldpath.Value(generator, "metadata", "namespace"); namespace != nil {
			metadata["namespace"] = namespace
		}
		all = append(all, map[string]any{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact", "metadata": metadata,
			"spec": map[string]any{"sources": fieldpath.Value(generator, "spec", "sources"),
				"copy": fieldpath.Value(of, "copy")},
		})
	}
	return all
}

// artifact is an ExternalArtifact as Artifacts returns it.
type artifact struct {
	Metadata struct{ Namespace string }
	Spec     struct {
		Sources []struct{ Alias, Kind, Namespace, Name string }
		Copy    []copied
	}
}

// copied is one copy into an artifact.
type copied struct {
	From, To, Strategy string
	Exclude            []string
}

// A Part is what a Kustomization applies of an artifact: a directory of another source.
type Part struct {
	Source Reference
	Dir    string
	// Within are the directories of the source that the artifact holds in the same places to each other. Dir is in one
	// of them.
	Within []string
}

// Holds reports whether a file of the source is in the artifact.
func (p *Part) Holds(name string) bool {
	return slices.ContainsFunc(p.Within, func(dir string) bool { return rendered.Below(name, dir) })
}

// Origin returns the part of an ExternalArtifact, made by Artifacts, that has the directory dir of it; false if that is
// not simply a directory of one source.
func Origin(object map[string]any, dir string) (*Part, bool) {
	var a artifact
	if rendered.Decode(object, &a) != nil {
		return nil, false
	}
	var all []placement
	for _, c := range a.Spec.Copy {
		all = append(all, c.placement())
	}
	i := slices.IndexFunc(all, func(p placement) bool { return p.whole && rendered.Below(dir, p.to) })
	if i < 0 {
		return nil, false
	}
	of := all[i]
	part := &Part{Dir: path.Join(of.from, dir)}
	for _, s := range a.Spec.Sources {
		if s.Alias == of.alias {
			part.Source = Reference{Kind: s.Kind, Namespace: cmp.Or(s.Namespace, a.Metadata.Namespace), Name: s.Name}
		}
	}
	if of.to != "." {
		part.Dir = path.Join(of.from, strings.TrimPrefix(dir, of.to))
	}
	for _, p := range all {
		switch {
		case p.whole && p.moved() == of.moved():
			part.Within = append(part.Within, p.from)
		case rendered.Below(p.to, of.to) || rendered.Below(of.to, p.to): // it changes what the copy has brought
			return nil, false
		}
	}
	return part, part.Source.Kind != ""
}

// placement is where a copy puts a directory of a source. Of a copy that is not whole, only the place below which it
// changes something is known.
type placement struct {
	alias, from, to string
	whole           bool
}

// placement follows the rules of cp: DIR/** copies what is in DIR, and DIR copies the directory itself.
func (c *copied) placement() placement {
	alias, from, _ := strings.Cut(strings.TrimPrefix(c.From, "@"), "/")
	p := placement{alias: alias, to: path.Clean(strings.TrimPrefix(c.To, "@artifact/"))}
	dir, contents := strings.CutSuffix("/"+from, "/**")
	p.from = path.Join(".", strings.TrimPrefix(dir, "/"))
	overwrites := c.Strategy == "" || c.Strategy == "Overwrite"
	if !overwrites || len(c.Exclude) > 0 || strings.ContainsAny(p.from, "*?[]") || leaves(p.from) || leaves(p.to) {
		return p
	}
	p.whole = true
	if !contents && p.from != "." {
		p.to = path.Join(p.to, path.Base(p.from))
	}
	return p
}

// moved identifies what a placement does to paths: the source, and what it takes from the front of a path and puts
// there instead. Placements with the same answer leave files where they are in relation to each other.
func (p placement) moved() [3]string {
	from, to := p.from, p.to
	for from != "." && to != "." && path.Base(from) == path.Base(to) {
		from, to = path.Dir(from), path.Dir(to)
	}
	return [3]string{p.alias, from, to}
}

// leaves reports whether a clean path leads out of its root.
func leaves(name string) bool {
	return name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name)
}
