// Package flux renders what the controllers of Flux apply from a tree of files.
//
// A Kustomization of Flux names a directory: its controller builds the kustomization there, adds the fields of the
// object, replaces variables, and applies the result on the server side. [ParseKustomization] reads such an object,
// [Kustomization.Files] lists the files that it needs, and [Kustomization.Build] renders it.
//
// A HelmRelease names a chart: its controller renders it with Helm, after merging values from several places, and
// changes the result by post-renderers. [ParseHelmRelease] reads one, [HelmRelease.Files] and [HelmRelease.Build] do as
// above.
//
// The objects of Flux are read as plain fields, so that any version of their kinds will do.
//
// The chapters, each of which uses only those below it:
//
//	kustomization  what a Kustomization reads and renders
//	generate       the kustomization file that its controller writes
//	helmrelease    what a HelmRelease reads and renders
//	postrender     what changes the objects of a chart
//	substitute     variables in objects
//	artifact       the directories that ExternalArtifacts are copied from
//	object         Flux's objects as they are written
package flux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Files returns the names of the files that rendering reads, sorted. Where the directory has no kustomization file,
// these are all manifests below it, and the .sourceignore files that exclude some. Errors are those of
// [kustomize.Files].
func (k *Kustomization) Files(tree fs.FS) ([]string, error) {
	generated, err := k.generate(tree)
	if err != nil {
		return nil, err
	}
	options := generated.options()
	options.Elsewhere, options.Lacking = k.Elsewhere, k.Lacking
	files, err := kustomize.Files(tree, k.Path, options)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, name := range slices.Concat(files, generated.read) {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// Build renders what the controller applies, in its order: the kustomization of the path, or one made of all manifests
// there; then the fields of the object, its variables, and its common metadata. The labels that the controller adds to
// all objects, which name the Kustomization, are left out. Values encrypted by SOPS are left as they are, without the
// key "sops".
//
// The files are those that Files lists, or any tree that has them; a directory without manifests, which Files lists
// nothing of, renders nothing. The function lookup gives the objects that variables come from; nil has none. A variable
// that no object and no field sets is empty, as in Flux. If its value is not in the tree, because a Secret is
// encrypted, or because an object that is not optional is missing, then the places that it decides are listed in the
// object's Unknown, and its text there is the variable in braces, ${NAME}.
//
// Build has the errors and the limits of [kustomize.Build]: call it in a process that can be killed.
func (k *Kustomization) Build(ctx context.Context, files fs.FS, lookup Lookup) ([]rendered.Object, error) {
	if _, err := fs.Stat(files, k.Path); errors.Is(err, fs.ErrNotExist) && len(k.spec.Components) == 0 {
		return nil, ctx.Err()
	}
	generated, err := k.generate(files)
	if err != nil {
		return nil, err
	}
	options := generated.options()
	options.Lacking = k.Lacking
	objects, err := kustomize.Build(ctx, files, k.Path, options)
	if err != nil {
		return nil, err
	}
	vars, err := k.variables(lookup)
	if err != nil {
		return nil, k.invalid(err)
	}
	for i := range objects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := k.finish(&objects[i], vars); err != nil {
			return nil, k.invalid(err)
		}
	}
	return objects, nil
}

// finish does to one object what the controller does after the build.
func (k *Kustomization) finish(o *rendered.Object, vars *variables) error {
	var meta struct {
		APIVersion, Kind string
		Metadata         struct {
			Name                string
			Labels, Annotations map[string]any
		}
		Sops map[string]any
	}
	if err := yaml.Unmarshal(o.YAML, &meta); err != nil {
		return err
	}
	if meta.APIVersion == "" || meta.Kind == "" || meta.Metadata.Name == "" {
		return errors.New("an object lacks its apiVersion, kind or name")
	}
	if meta.Sops != nil {
		drop := func(object map[string]any) error { // as the controller does when it decrypts the values
			delete(object, "sops")
			return nil
		}
		if err := edit(o, drop); err != nil {
			return err
		}
	}
	if vars != nil && meta.Metadata.Labels[substituteKey] != disabled &&
		meta.Metadata.Annotations[substituteKey] != disabled {
		if err := vars.substitute(o); err != nil {
			return fmt.Errorf("%s %s: %w", meta.Kind, meta.Metadata.Name, err)
		}
	}
	if common := k.spec.CommonMetadata; common != nil {
		return setMetadata(o, common.Labels, common.Annotations)
	}
	return nil
}
