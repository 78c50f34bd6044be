package argo

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
)

// kustomization returns the kustomization file of a source with what the source changes in it. It is nil if the source
// changes nothing, and for a file that kustomize will refuse.
func (s *Source) kustomization(tree fs.FS, environment func(string) string) ([]byte, error) {
	spec := s.spec.Kustomize
	if spec == nil {
		return nil, nil
	}
	name := kustomize.File(tree, s.Path)
	if name == "" {
		return nil, fmt.Errorf("%s: there is no kustomization file", s.Path)
	}
	content, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	var k types.Kustomization
	if k.Unmarshal(content) != nil {
		return nil, nil
	}
	k.FixKustomization()
	if err := spec.edit(&k, environment); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	for _, component := range spec.Components {
		if _, err := fs.Stat(tree, path.Join(s.Path, component)); err != nil && spec.IgnoreMissingComponents {
			continue
		}
		if !slices.Contains(k.Components, component) {
			k.Components = append(k.Components, component)
		}
	}
	return yaml.Marshal(k)
}

// edit makes the changes that need nothing but the file.
func (spec *kustomizeSpec) edit(k *types.Kustomization, environment func(string) string) error {
	set := map[*string]string{&k.NamePrefix: spec.NamePrefix, &k.NameSuffix: spec.NameSuffix,
		&k.Namespace: spec.Namespace}
	for field, value := range set {
		if value != "" {
			*field = value
		}
	}
	if err := setImages(k, spec.Images, environment); err != nil {
		return err
	}
	for _, r := range spec.Replicas {
		count, err := r.number()
		if err != nil {
			return err
		}
		k.Replicas = slices.DeleteFunc(k.Replicas, func(have types.Replica) bool { return have.Name == r.Name })
		k.Replicas = append(k.Replicas, types.Replica{Name: r.Name, Count: count})
	}
	labels := substituted(spec.CommonLabels, environment)
	annotations := spec.CommonAnnotations
	if spec.CommonAnnotationsEnvsubst {
		annotations = substituted(annotations, environment)
	}
	//lint:ignore SA1019 it is where Argo CD puts them
	into, field := &k.CommonLabels, "commonLabels"
	switch {
	case spec.LabelWithoutSelector && len(labels) > 0:
		into, field = pairs(k, spec.LabelIncludeTemplates), "pairs"
	case spec.LabelIncludeTemplates && len(labels) > 0:
		return errors.New("labelIncludeTemplates needs labelWithoutSelector")
	}
	if err := add(into, field, labels, spec.ForceCommonLabels); err != nil {
		return err
	}
	if err := add(&k.CommonAnnotations, "commonAnnotations", annotations, spec.ForceCommonAnnotations); err != nil {
		return err
	}
	k.Patches = append(k.Patches, spec.Patches...)
	return nil
}

// number returns the count as a number.
func (r *replica) number() (int64, error) {
	count, err := intstr.GetScaledValueFromIntOrPercent(&r.Count, 0, false)
	if r.Count.Type == intstr.String {
		_, err = fmt.Sscanf(r.Count.StrVal, "%d", &count)
	}
	if err != nil {
		return 0, fmt.Errorf("the replicas of %s are %q, not a number", r.Name, r.Count.String())
	}
	return int64(count), nil
}

func substituted(values map[string]string, environment func(string) string) map[string]string {
	result := make(map[string]string, len(values))
	for name, value := range values {
		result[name] = environment(value)
	}
	return result
}

// add adds labels or annotations to a field, which must not have them unless force is true.
func add(into *map[string]string, field string, values map[string]string, force bool) error {
	for name, value := range values {
		if _, exists := (*into)[name]; exists && !force {
			return fmt.Errorf("%s of the kustomization already has %s", field, name)
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[name] = value
	}
	return nil
}

// pairs returns the labels of a kustomization that are not part of selectors.
func pairs(k *types.Kustomization, includeTemplates bool) *map[string]string {
	i := slices.IndexFunc(k.Labels, func(l types.Label) bool {
		return !l.IncludeSelectors && l.IncludeTemplates == includeTemplates
	})
	if i < 0 {
		i = len(k.Labels)
		k.Labels = append(k.Labels, types.Label{IncludeTemplates: includeTemplates})
	}
	return &k.Labels[i].Pairs
}

// setImages sets images as `kustomize edit set image` does: NAME=NEW:TAG@DIGEST, NAME:TAG and the like. A "*" keeps
// that part of the entry that the kustomization has.
func setImages(k *types.Kustomization, images []string, environment func(string) string) error {
	if len(images) == 0 {
		return nil
	}
	set := map[string]types.Image{} // of several for one name, the last one counts
	for _, written := range images {
		image, err := parseImage(environment(written))
		if err != nil {
			return err
		}
		set[image.Name] = image
	}
	var list []types.Image
	for _, before := range k.Images {
		if image, ok := set[before.Name]; ok {
			set[before.Name] = kept(image, before)
		} else {
			list = append(list, before)
		}
	}
	for _, image := range set {
		list = append(list, kept(image, types.Image{}))
	}
	slices.SortStableFunc(list, func(a, b types.Image) int { return strings.Compare(a.Name, b.Name) })
	k.Images = list
	return nil
}

// kept returns an image with what another one has for each "*".
func kept(image, before types.Image) types.Image {
	for field, value := range map[*string]string{&image.NewName: before.NewName, &image.NewTag: before.NewTag,
		&image.Digest: before.Digest} {
		if *field == "*" {
			*field = value
		}
	}
	return image
}

// splitImage splits an image into its name, tag and digest: NAME:TAG@DIGEST. A colon before the first slash is that of
// a port.
func splitImage(image string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(image, "@")
	start := max(strings.IndexByte(name, '/'), 0)
	if i := strings.IndexByte(name[start:], ':'); i >= 0 {
		return name[:start+i], name[start+i+1:], digest
	}
	return name, "", digest
}

func parseImage(written string) (types.Image, error) {
	name, image, overwrite := strings.Cut(written, "=")
	if !overwrite {
		image = written
	}
	var entry types.Image
	image, entry.NewTag, entry.Digest = splitImage(image)
	if image == written {
		return entry, fmt.Errorf("the image %q has no tag, digest or new name", written)
	}
	if entry.Name, entry.NewName = name, image; !overwrite {
		entry.Name, entry.NewName = image, ""
	}
	if entry.Name == "" {
		return entry, errors.New("an image without a name")
	}
	return entry, nil
}
