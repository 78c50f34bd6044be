package flux

import (
	"context"
	"fmt"
	"slices"
	"testing/fstest"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// postRender runs the post-renderers of a release over the objects that Helm applies, which are not those of crds. The
// strategy nohooks leaves out hooks and tests; separate runs them apart.
func (h *HelmRelease) postRender(ctx context.Context, objects []rendered.Object) ([]rendered.Object, error) {
	var crds, ordinary, hooks []rendered.Object
	for _, o := range objects {
		switch {
		case o.Role == rendered.CRD:
			crds = append(crds, o)
		case o.Role != "" && h.spec.PostRenderStrategy != "" && h.spec.PostRenderStrategy != "combined":
			hooks = append(hooks, o)
		default:
			ordinary = append(ordinary, o)
		}
	}
	ordinary, err := h.postRenderGroup(ctx, ordinary)
	if err != nil {
		return nil, err
	}
	if h.spec.PostRenderStrategy == "separate" {
		if hooks, err = h.postRenderGroup(ctx, hooks); err != nil {
			return nil, err
		}
	}
	return slices.Concat(crds, ordinary, hooks), nil
}

func (h *HelmRelease) postRenderGroup(ctx context.Context, objects []rendered.Object) (_ []rendered.Object, err error) {
	for _, r := range h.spec.PostRenderers {
		if r.Kustomize == nil || len(objects) == 0 {
			continue
		}
		if objects, err = r.run(ctx, objects); err != nil {
			return nil, fmt.Errorf("the HelmRelease %s/%s: a post-renderer: %w", h.Namespace, h.Name, err)
		}
	}
	if common := h.spec.CommonMetadata; common != nil {
		for i := range objects {
			if err := setMetadata(&objects[i], common.Labels, common.Annotations); err != nil {
				return nil, err
			}
		}
	}
	return objects, nil
}

// run builds a kustomization of the objects and the renderer's patches and images.
func (r *postRenderer) run(ctx context.Context, objects []rendered.Object) ([]rendered.Object, error) {
	files := fstest.MapFS{}
	spec := types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.KustomizationVersion,
		Kind: types.KustomizationKind}}
	for i, o := range objects {
		name := fmt.Sprintf("object-%06d.yaml", i)
		files[name] = &fstest.MapFile{Data: o.YAML}
		spec.Resources = append(spec.Resources, name)
	}
	add := func(value any, target *types.Selector) error {
		text, err := yaml.Marshal(value)
		spec.Patches = append(spec.Patches, types.Patch{Patch: string(text), Target: target})
		return err
	}
	for _, p := range r.Kustomize.Patches {
		spec.Patches = append(spec.Patches, types.Patch{Patch: p.Patch, Target: p.Target})
	}
	for _, p := range r.Kustomize.PatchesStrategicMerge {
		if err := add(p, nil); err != nil {
			return nil, err
		}
	}
	for _, p := range r.Kustomize.PatchesJSON6902 {
		if err := add(p.Patch, p.Target); err != nil {
			return nil, err
		}
	}
	spec.Images = r.Kustomize.Images
	kustomization, err := yaml.Marshal(spec)
	if err != nil {
		return nil, err
	}
	files["kustomization.yaml"] = &fstest.MapFile{Data: kustomization}
	built, err := kustomize.Build(ctx, files, ".", kustomize.Options{})
	if err != nil {
		return nil, err
	}
	return built, keepOrigins(built, objects)
}

// keepOrigins gives the objects that a kustomization printed the files and roles that they had before. An object that a
// patch renamed has neither.
func keepOrigins(built, before []rendered.Object) error {
	type id struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
	}
	known := map[id]rendered.Object{}
	for _, o := range before {
		var as id
		if err := yaml.Unmarshal(o.YAML, &as); err != nil {
			return err
		}
		known[as] = o
	}
	for i := range built {
		var as id
		if err := yaml.Unmarshal(built[i].YAML, &as); err != nil {
			return err
		}
		built[i].File, built[i].Role = known[as].File, known[as].Role
	}
	return nil
}
