// Package flux renders what the controllers of Flux apply from a tree of files.
//
// A Kustomization of Flux names a directory: its controller builds the kustomization there, adds the fields of the object,
// replaces variables, and applies the result on the server side. [ParseKustomization] reads such an object, [Kustomization.Files]
// lists the files that it needs, and [Kustomization.Build] renders it.
//
// A HelmRelease names a chart: its controller renders it with Helm, after merging values from several places, and changes the
// result by post-renderers. [ParseHelmRelease] reads one, [HelmRelease.Files] and [HelmRelease.Build] do as above.
//
// The objects of Flux are read as plain fields, so that any version of their kinds will do.
package flux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// kustomizationGroup is the API group of Flux's Kustomization.
const kustomizationGroup = "kustomize.toolkit.fluxcd.io"

// A Kustomization is what an object of Flux's kind Kustomization asks its controller to apply, from the files of its source.
type Kustomization struct {
	Name, Namespace string
	// Path is the directory below the root of the source, "." for the root itself. Like the controller, it never leaves
	// the root.
	Path string
	// Source refers to the object that tells where the files are.
	Source Reference
	// Force asks for objects to be replaced that cannot be updated. Prune asks for objects to be deleted that are no longer rendered.
	Force, Prune bool
	// NoOrigins, Elsewhere and Lacking are those of [kustomize.Options].
	Elsewhere *[]helm.Dependency
	Lacking   *rendered.Lacking
	NoOrigins bool
	// Ignore is the field of that name of the source: what it leaves out, besides what .sourceignore files say.
	Ignore string

	spec kustomizationSpec
}

// A Reference names an object. Namespace is never empty: it is that of the object with the reference by default.
type Reference struct {
	Kind, Namespace, Name string
}

// A Lookup returns the ConfigMap or Secret with a namespace and a name, as it is in the tree, or false if the tree has none.
type Lookup func(kind, namespace, name string) (object map[string]any, ok bool)

// kustomizationSpec has the fields that decide what is rendered, in all versions of the kind.
type kustomizationSpec struct {
	Path      string
	SourceRef struct{ Kind, Namespace, Name string }
	Force     bool
	Prune     bool

	TargetNamespace         *string
	NamePrefix              *string
	NameSuffix              *string
	Patches                 []patch
	PatchesStrategicMerge   []json.RawMessage
	PatchesJSON6902         []jsonPatch `json:"patchesJson6902"`
	Images                  []image
	Components              []string
	IgnoreMissingComponents bool
	BuildMetadata           []string
	CommonMetadata          *struct{ Labels, Annotations map[string]string }
	PostBuild               *postBuild
}

// ParseKustomization reads an object of Flux's kind Kustomization, of any version. It returns an error if the object is of
// another kind or if a field has a type that the kind does not have.
func ParseKustomization(object map[string]any) (*Kustomization, error) {
	var o struct {
		APIVersion string `json:"apiVersion"`
		Kind       string
		Metadata   struct{ Name, Namespace string }
		Spec       kustomizationSpec
	}
	if err := rendered.Decode(object, &o); err != nil {
		return nil, fmt.Errorf("not a Kustomization of Flux: %w", err)
	}
	if group, _, _ := strings.Cut(o.APIVersion, "/"); group != kustomizationGroup || o.Kind != "Kustomization" {
		return nil, fmt.Errorf("%s of %s is not a Kustomization of Flux", o.Kind, o.APIVersion)
	}
	k := &Kustomization{
		Name: o.Metadata.Name, Namespace: o.Metadata.Namespace,
		Path:   path.Join(".", path.Clean("/"+o.Spec.Path)),
		Source: Reference{Kind: o.Spec.SourceRef.Kind, Namespace: o.Spec.SourceRef.Namespace, Name: o.Spec.SourceRef.Name},
		Force:  o.Spec.Force, Prune: o.Spec.Prune,
		spec: o.Spec,
	}
	if k.Path = strings.TrimPrefix(k.Path, "/"); k.Path == "" {
		k.Path = "."
	}
	if k.Source.Namespace == "" {
		k.Source.Namespace = k.Namespace
	}
	return k, nil
}

// Variables returns the ConfigMaps and Secrets that variables come from, in order.
func (k *Kustomization) Variables() []Reference {
	if k.spec.PostBuild == nil {
		return nil
	}
	var all []Reference
	for _, from := range k.spec.PostBuild.SubstituteFrom {
		all = append(all, Reference{Kind: from.Kind, Namespace: k.Namespace, Name: from.Name})
	}
	return all
}

// Files returns the names of the files that rendering reads, sorted. Where the directory has no kustomization file, these
// are all manifests below it, and the .sourceignore files that exclude some. Errors are those of [kustomize.Files].
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

// Build renders what the controller applies, in its order: the kustomization of the path, or one made of all manifests there;
// then the fields of the object, its variables, and its common metadata. The labels that the controller adds to all
// objects, which name the Kustomization, are left out. Values encrypted by SOPS are left as they are, without the key "sops".
//
// The files are those that Files lists, or any tree that has them; a directory without manifests, which Files lists nothing of,
// renders nothing. The function lookup gives the objects that variables come
// from; nil has none. A variable that no object and no field sets is empty, as in Flux. If its value is not in the tree,
// because a Secret is encrypted, or because an object that is not optional is missing, then the places that it decides are
// listed in the object's Unknown, and its text there is the variable in braces, ${NAME}.
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
	options.NoOrigins, options.Lacking = k.NoOrigins, k.Lacking
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

// invalid is the error of a mistake in the object itself. Its file is known to who read the object.
func (k *Kustomization) invalid(err error) error {
	return &rendered.Invalid{File: k.Path, Err: fmt.Errorf("Kustomization %s/%s: %w", k.Namespace, k.Name, err)}
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
		if err := dropSops(o); err != nil {
			return err
		}
	}
	if vars != nil && meta.Metadata.Labels[substituteKey] != disabled && meta.Metadata.Annotations[substituteKey] != disabled {
		if err := vars.substitute(o); err != nil {
			return fmt.Errorf("%s %s: %w", meta.Kind, meta.Metadata.Name, err)
		}
	}
	if common := k.spec.CommonMetadata; common != nil {
		return setMetadata(o, common.Labels, common.Annotations)
	}
	return nil
}

// dropSops drops what SOPS writes beside the values, as the controller does when it decrypts them.
func dropSops(o *rendered.Object) error {
	var object map[string]any
	if err := yaml.Unmarshal(o.YAML, &object); err != nil {
		return err
	}
	delete(object, "sops")
	content, err := yaml.Marshal(object)
	o.YAML = content
	return err
}

// setMetadata adds labels and annotations, and overwrites those of the same name.
func setMetadata(o *rendered.Object, labels, annotations map[string]string) error {
	var object map[string]any
	if err := yaml.Unmarshal(o.YAML, &object); err != nil {
		return err
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return errors.New("an object has no metadata")
	}
	for field, values := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		if len(values) == 0 {
			continue
		}
		all, _ := metadata[field].(map[string]any)
		if all == nil {
			all = map[string]any{}
		}
		for key, value := range values {
			all[key] = value
		}
		metadata[field] = all
	}
	content, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	o.YAML = content
	return nil
}
