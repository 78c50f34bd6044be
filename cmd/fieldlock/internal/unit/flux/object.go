package flux

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// kustomizationGroup is the API group of Flux's Kustomization.
const kustomizationGroup = "kustomize.toolkit.fluxcd.io"

// A Kustomization is what an object of Flux's kind Kustomization asks its controller to apply, from the files of its
// source.
type Kustomization struct {
	Name, Namespace string
	// Path is the directory below the root of the source, "." for the root itself. Like the controller, it never leaves
	// the root.
	Path string
	// Source refers to the object that tells where the files are.
	Source Reference
	// Force replaces objects that cannot be updated. Prune deletes objects that are no longer rendered.
	Force, Prune bool
	// Elsewhere and Lacking are those of [kustomize.Options].
	Elsewhere *[]helm.Dependency
	Lacking   *rendered.Lacking
	// Ignore is the field of that name of the source: what it leaves out, besides what .sourceignore files say.
	Ignore string

	spec kustomizationSpec
}

// kustomizationSpec has the fields that decide what is rendered, in all versions of the kind.
type kustomizationSpec struct {
	Path      string
	SourceRef Reference
	Force     bool
	Prune     bool

	TargetNamespace         *string
	NamePrefix              *string
	NameSuffix              *string
	Patches                 []patch
	PatchesStrategicMerge   []json.RawMessage
	PatchesJSON6902         []jsonPatch `json:"patchesJson6902"`
	Images                  []types.Image
	Components              []string
	IgnoreMissingComponents bool
	BuildMetadata           []string
	CommonMetadata          *struct{ Labels, Annotations map[string]string }
	PostBuild               *postBuild
}

// A patch is a strategic merge patch or a JSON patch of some objects.
type patch struct {
	Patch  string
	Target *types.Selector
}

// A jsonPatch is a JSON patch as old versions of the kind write it.
type jsonPatch struct {
	Patch  json.RawMessage
	Target *types.Selector
}

// postBuild is the field of that name.
type postBuild struct {
	Substitute     map[string]string
	SubstituteFrom []struct {
		Kind, Name string
		Optional   bool
	}
	SubstituteStrategy string
}

// parsed is an object of Flux with a specification of type S.
type parsed[S any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string
	Metadata   struct{ Name, Namespace string }
	Spec       S
}

// read reads an object of a kind, of any version. It returns an error for another kind and for fields of the wrong
// type.
func read[S any](object map[string]any, group, kind string) (*parsed[S], error) {
	o := &parsed[S]{}
	if err := rendered.Decode(object, o); err != nil {
		return nil, fmt.Errorf("not a %s of Flux: %w", kind, err)
	}
	if of, _, _ := strings.Cut(o.APIVersion, "/"); of != group || o.Kind != kind {
		return nil, fmt.Errorf("%s of %s is not a %s of Flux", o.Kind, o.APIVersion, kind)
	}
	return o, nil
}

// ParseKustomization reads an object of Flux's kind Kustomization, of any version. It returns an error if the object is
// of another kind or if a field has a type that the kind does not have.
func ParseKustomization(object map[string]any) (*Kustomization, error) {
	o, err := read[kustomizationSpec](object, kustomizationGroup, "Kustomization")
	if err != nil {
		return nil, err
	}
	return &Kustomization{
		Name: o.Metadata.Name, Namespace: o.Metadata.Namespace,
		Path: inside(o.Spec.Path), Source: o.Spec.SourceRef.from(o.Metadata.Namespace),
		Force: o.Spec.Force, Prune: o.Spec.Prune,
		spec: o.Spec,
	}, nil
}

// inside cleans a path, which never leaves the root.
func inside(written string) string {
	if cleaned := strings.TrimPrefix(path.Clean("/"+written), "/"); cleaned != "" {
		return cleaned
	}
	return "."
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

// invalid is the error of a mistake in the object itself. Its file is known to who read the object.
func (k *Kustomization) invalid(err error) error {
	return &rendered.Invalid{File: k.Path, Err: fmt.Errorf("Kustomization %s/%s: %w", k.Namespace, k.Name, err)}
}

// encrypted begins each value that SOPS has encrypted.
const encrypted = "ENC["

// helmReleaseGroup is the API group of HelmRelease.
const helmReleaseGroup = "helm.toolkit.fluxcd.io"

// HelmRelease is a HelmRelease of Flux: its controller renders a chart and applies it with Helm. The rules are those of
// helm-controller v1.6 and, for the chart, source-controller v1.7.
type HelmRelease struct {
	Name, Namespace string
	// Release is the name of Helm's release, ReleaseNamespace where its objects go, and StorageNamespace where Helm
	// keeps it.
	Release, ReleaseNamespace, StorageNamespace string
	// Chart is the directory of the chart below the root of a source of files, or the name of the chart in another
	// source.
	Chart string
	// Source refers to the object that tells where the chart is: a GitRepository, HelmRepository or Bucket, or, where
	// the release has no chart of its own, an OCIRepository, ExternalArtifact or HelmChart. For a HelmChart, see
	// UseChart.
	Source Reference
	// InTree is for the caller to set: the tree that Files and Build are given is the source.
	InTree bool
	// Fetched is set by UseFetched.
	Fetched bool
	// Force asks Helm to replace objects instead of updating them (upgrade.force): a PUT.
	Force bool
	// Upgrading is for the caller to set: Build renders what an upgrade applies.
	Upgrading bool
	// Lacking has the meaning of the field of the same name in helm.Release.
	Lacking *rendered.Lacking
	// InstallCRDs and UpgradeCRDs are what is done with the objects in crds directories: Skip, Create or CreateReplace.
	InstallCRDs, UpgradeCRDs string

	spec helmReleaseSpec
}

// helmReleaseSpec has the fields that decide what is rendered, in all versions of the kind.
type helmReleaseSpec struct {
	Chart                                          *struct{ Spec chartSpec }
	ChartRef                                       *Reference
	ReleaseName, TargetNamespace, StorageNamespace string
	Values                                         map[string]any
	ValuesFrom                                     []valuesReference
	PostRenderers                                  []postRenderer
	PostRenderStrategy                             string
	CommonMetadata                                 *struct{ Labels, Annotations map[string]string }
	Install                                        struct {
		CRDs                    string `json:"crds"`
		SkipCRDs                bool   `json:"skipCRDs"`
		DisableSchemaValidation bool
	}
	Upgrade struct {
		CRDs                    string `json:"crds"`
		Force                   bool
		ChartNameChangeStrategy string
	}
}

// chartSpec are the fields of a chart, in a HelmRelease or in a HelmChart.
type chartSpec struct {
	Chart, Version           string
	SourceRef                Reference
	ValuesFile               string
	ValuesFiles              []string
	IgnoreMissingValuesFiles bool
}

// valuesReference names a ConfigMap or Secret with values.
type valuesReference struct {
	Kind, Name, ValuesKey, TargetPath string
	Optional, Literal                 bool
}

// postRenderer changes what a chart printed. The fields with patches of their own kind are those of older versions.
type postRenderer struct {
	Kustomize *struct {
		Patches               []patch
		Images                []types.Image
		PatchesStrategicMerge []any
		PatchesJSON6902       []struct {
			Patch  any
			Target *types.Selector
		} `json:"patchesJson6902"`
	}
}

// A Reference names an object.
type Reference struct {
	Kind, Namespace, Name string
}

// from returns a reference of an object in a namespace, which it means if it names none.
func (r Reference) from(namespace string) Reference {
	r.Namespace = cmp.Or(r.Namespace, namespace)
	return r
}

// A Lookup returns the ConfigMap or Secret with a namespace and a name, as it is in the tree, or false if the tree has
// none.
type Lookup func(kind, namespace, name string) (object map[string]any, ok bool)

// textsOf returns the texts of a ConfigMap or Secret by their keys. Of a text that the tree does not tell, such as one
// that SOPS has encrypted, it returns nil.
func textsOf(object map[string]any) map[string]*string {
	texts := map[string]*string{}
	add := func(field string, read func(text string) (string, bool)) {
		members, _ := object[field].(map[string]any)
		for key, value := range members {
			texts[key] = nil
			text, ok := value.(string)
			if ok && !strings.HasPrefix(text, encrypted) {
				text, ok = read(text)
			}
			if ok && !strings.Contains(text, encrypted) {
				texts[key] = &text
			}
		}
	}
	asWritten := func(text string) (string, bool) { return text, true }
	if object["kind"] != "Secret" {
		add("data", asWritten)
		return texts
	}
	add("data", func(text string) (string, bool) {
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		return string(decoded), err == nil
	})
	add("stringData", asWritten)
	return texts
}

// edit changes an object.
func edit(o *rendered.Object, change func(object map[string]any) error) error {
	var object map[string]any
	if err := yaml.Unmarshal(o.YAML, &object); err != nil {
		return err
	}
	if err := change(object); err != nil {
		return err
	}
	content, err := yaml.Marshal(object)
	o.YAML = content
	return err
}

// setMetadata adds labels and annotations, and overwrites those of the same name.
func setMetadata(o *rendered.Object, labels, annotations map[string]string) error {
	return edit(o, func(object map[string]any) error {
		metadata, ok := object["metadata"].(map[string]any)
		if !ok {
			return errors.New("an object has no metadata")
		}
		for field, values := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
			all, _ := metadata[field].(map[string]any)
			if all == nil {
				all = map[string]any{}
			}
			for key, value := range values {
				all[key] = value
			}
			if len(values) > 0 {
				metadata[field] = all
			}
		}
		return nil
	})
}
