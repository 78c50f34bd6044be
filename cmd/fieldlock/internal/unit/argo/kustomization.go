package argo

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
)

// fields are those of a kustomization file, by name.
type fields map[string]any

// kustomization returns the kustomization file of a source with what the source changes in it; nil if it changes
// nothing.
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
	k := fields{}
	if err := yaml.Unmarshal(content, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := k.edit(spec, environment); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	k.components(tree, s.Path, spec)
	return yaml.Marshal(k)
}

// edit makes the changes that need nothing but the file.
func (k fields) edit(spec *kustomizeSpec, environment func(string) string) error {
	set := map[string]string{"namePrefix": spec.NamePrefix, "nameSuffix": spec.NameSuffix, "namespace": spec.Namespace}
	for field, value := range set {
		if value != "" {
			k[field] = value
		}
	}
	if err := k.images(spec.Images, environment); err != nil {
		return err
	}
	if err := k.replicas(spec.Replicas); err != nil {
		return err
	}
	labels := substituted(spec.CommonLabels, environment)
	annotations := spec.CommonAnnotations
	if spec.CommonAnnotationsEnvsubst {
		annotations = substituted(annotations, environment)
	}
	if spec.LabelWithoutSelector {
		if err := k.labels(labels, spec); err != nil {
			return err
		}
	} else if spec.LabelIncludeTemplates && len(labels) > 0 {
		return errors.New("labelIncludeTemplates needs labelWithoutSelector")
	} else if err := k.add("commonLabels", labels, spec.ForceCommonLabels); err != nil {
		return err
	}
	if err := k.add("commonAnnotations", annotations, spec.ForceCommonAnnotations); err != nil {
		return err
	}
	if len(spec.Patches) > 0 {
		k["patches"] = append(k.list("patches"), spec.Patches...)
	}
	return nil
}

func (k fields) list(field string) []any {
	list, _ := k[field].([]any)
	return slices.Clone(list)
}

func substituted(values map[string]string, environment func(string) string) map[string]string {
	result := make(map[string]string, len(values))
	for name, value := range values {
		result[name] = environment(value)
	}
	return result
}

// add adds labels or annotations to a field, which must not have them unless force is true.
func (k fields) add(field string, values map[string]string, force bool) error {
	if len(values) == 0 {
		return nil
	}
	merged, _ := k[field].(map[string]any)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range values {
		if _, exists := merged[name]; exists && !force {
			return fmt.Errorf("%s of the kustomization already has %s", field, name)
		}
		merged[name] = value
	}
	k[field] = merged
	return nil
}

// labels adds labels that are not part of selectors.
func (k fields) labels(values map[string]string, spec *kustomizeSpec) error {
	if len(values) == 0 {
		return nil
	}
	list := k.list("labels")
	for _, item := range list {
		entry, _ := item.(map[string]any)
		templates := entry["includeTemplates"] == true
		if entry["includeSelectors"] == true || templates != spec.LabelIncludeTemplates {
			continue
		}
		return fields(entry).add("pairs", values, spec.ForceCommonLabels)
	}
	entry := fields{"includeTemplates": spec.LabelIncludeTemplates}
	if err := entry.add("pairs", values, true); err != nil {
		return err
	}
	k["labels"] = append(list, map[string]any(entry))
	return nil
}

// replicas replaces the entries of the same names.
func (k fields) replicas(replicas []replica) error {
	list := k.list("replicas")
	for _, r := range replicas {
		count, err := intstr.GetScaledValueFromIntOrPercent(&r.Count, 0, false)
		if r.Count.Type == intstr.String {
			_, err = fmt.Sscanf(r.Count.StrVal, "%d", &count)
		}
		if err != nil {
			return fmt.Errorf("the replicas of %s are %q, not a number", r.Name, r.Count.String())
		}
		list = append(withoutName(list, r.Name), map[string]any{"name": r.Name, "count": count})
	}
	if len(list) > 0 {
		k["replicas"] = list
	}
	return nil
}

func withoutName(list []any, name string) []any {
	return slices.DeleteFunc(list, func(item any) bool {
		entry, _ := item.(map[string]any)
		return entry["name"] == name
	})
}

// images sets images as `kustomize edit set image` does: NAME=NEW:TAG@DIGEST, NAME:TAG and the like. A "*" keeps that
// part of the entry that the kustomization has.
func (k fields) images(images []string, environment func(string) string) error {
	if len(images) == 0 {
		return nil
	}
	set := map[string]map[string]any{} // of several for one name, the last one counts
	for _, written := range images {
		entry, err := parseImage(environment(written))
		if err != nil {
			return err
		}
		set[entry["name"].(string)] = entry
	}
	list := k.list("images")
	for _, item := range list {
		before, _ := item.(map[string]any)
		name, _ := before["name"].(string)
		for field, value := range set[name] {
			if value == "*" {
				set[name][field] = before[field]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		maps.DeleteFunc(set[name], func(_ string, value any) bool { return value == "*" || value == nil })
		list = append(withoutName(list, name), set[name])
	}
	slices.SortStableFunc(list, func(a, b any) int {
		first, _ := a.(map[string]any)
		second, _ := b.(map[string]any)
		return strings.Compare(fmt.Sprint(first["name"]), fmt.Sprint(second["name"]))
	})
	k["images"] = list
	return nil
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

func parseImage(written string) (map[string]any, error) {
	name, image, overwrite := strings.Cut(written, "=")
	if !overwrite {
		image = written
	}
	entry := map[string]any{}
	image, tag, digest := splitImage(image)
	if digest != "" {
		entry["digest"] = digest
	}
	if tag != "" {
		entry["newTag"] = tag
	}
	if image == written {
		return nil, fmt.Errorf("the image %q has no tag, digest or new name", written)
	}
	if !overwrite {
		name = image
	} else if image != "" {
		entry["newName"] = image
	}
	if name == "" {
		return nil, errors.New("an image without a name")
	}
	entry["name"] = name
	return entry, nil
}

// components adds components, without those that are there and, if asked for, without those that do not exist.
func (k fields) components(tree fs.FS, dir string, spec *kustomizeSpec) {
	list := k.list("components")
	for _, component := range spec.Components {
		if _, err := fs.Stat(tree, path.Join(dir, component)); err != nil && spec.IgnoreMissingComponents {
			continue
		}
		if !slices.Contains(list, any(component)) {
			list = append(list, component)
		}
	}
	if len(list) > 0 {
		k["components"] = list
	}
}
