package argo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// applicationSet are the fields of an ApplicationSet. The template stays as written.
type applicationSet struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		GoTemplate        bool
		GoTemplateOptions []string
		Generators        []map[string]any
		Template          map[string]any
		TemplatePatch     *string
		SyncPolicy        struct{ PreserveResourcesOnDeletion bool }
	}
}

// Generate returns the Applications of an ApplicationSet, in the order of its generators.
//
// It returns a *rendered.NotCovered for a generator that asks a cluster or a service, and an error for what Argo CD
// refuses and for more than 10,000 Applications. Its templates can run for any time.
func Generate(object map[string]any, trees Trees) ([]map[string]any, error) {
	var set applicationSet
	if err := rendered.Decode(object, &set); err != nil {
		return nil, fmt.Errorf("not an ApplicationSet of Argo CD: %w", err)
	}
	g := &generation{template: templating{set.Spec.GoTemplate, set.Spec.GoTemplateOptions}, trees: trees}
	var applications []map[string]any
	for _, written := range slices.Concat(apart(set.Spec.Generators)...) {
		sets, template, err := g.parameters(written, nil)
		if err != nil {
			return nil, fmt.Errorf("the ApplicationSet %s: %w", set.Metadata.Name, err)
		}
		template = filled(template, set.Spec.Template)
		for _, parameters := range sets {
			application, err := set.application(g.template, template, parameters)
			if err != nil {
				return nil, fmt.Errorf("the ApplicationSet %s: %w", set.Metadata.Name, err)
			}
			applications = append(applications, application)
		}
	}
	return applications, nil
}

// generatorKinds are the kinds of generators in the order in which Argo CD runs those that are written as one.
var generatorKinds = []string{
	"list", "clusters", "git", "scmProvider", "clusterDecisionResource", "pullRequest", "matrix", "merge", "plugin",
}

// apart splits generators of several kinds. One without a kind generates nothing.
func apart(generators []map[string]any) [][]map[string]any {
	var result [][]map[string]any
	for _, written := range generators {
		var single []map[string]any
		for _, kind := range generatorKinds {
			if written[kind] != nil {
				single = append(single, map[string]any{kind: written[kind], "selector": written["selector"]})
			}
		}
		result = append(result, single)
	}
	return result
}

// application makes one Application of a template and parameters.
func (set *applicationSet) application(t templating, template, parameters map[string]any) (map[string]any, error) {
	application := map[string]any{}
	if spec, ok := template["spec"]; ok {
		application["spec"] = spec
	}
	metadata, _ := template["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, field := range []string{"name", "annotations", "labels", "finalizers"} {
		if value, ok := metadata[field]; ok {
			kept[field] = value
		}
	}
	application["metadata"] = kept
	if len(parameters) > 0 {
		replaced, err := t.all(application, parameters)
		if err != nil {
			return nil, err
		}
		application, _ = replaced.(map[string]any)
		kept, _ = application["metadata"].(map[string]any)
		if finalizers, _ := kept["finalizers"].([]any); len(finalizers) == 0 &&
			!set.Spec.SyncPolicy.PreserveResourcesOnDeletion {
			kept["finalizers"] = []any{resourcesFinalizer}
		}
	}
	if set.Spec.TemplatePatch != nil {
		patch, err := t.text(*set.Spec.TemplatePatch, parameters)
		if err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
		if application, err = patched(application, patch); err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
	}
	application["apiVersion"], application["kind"] = "argoproj.io/v1alpha1", "Application"
	if metadata, ok := application["metadata"].(map[string]any); ok && set.Metadata.Namespace != "" {
		metadata["namespace"] = set.Metadata.Namespace
	}
	return application, nil
}

// resourcesFinalizer begins the finalizers with which Argo CD deletes the objects of a deleted Application.
const resourcesFinalizer = "resources-finalizer.argocd.argoproj.io"

// patched merges a patch into an Application. It cannot change the project. Argo CD merges strategically, which differs
// from a merge of JSON only for finalizers: those of the patch are added.
func patched(application map[string]any, patch string) (map[string]any, error) {
	converted, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(bytes.TrimSpace(converted), []byte("null")) {
		return application, nil
	}
	var added struct{ Metadata struct{ Finalizers []any } }
	if err := json.Unmarshal(converted, &added); err != nil {
		return nil, err
	}
	before, err := json.Marshal(application)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, converted)
	if err != nil {
		return nil, err
	}
	var result map[string]any
	if err := json.Unmarshal(after, &result); err != nil {
		return nil, err
	}
	if finalizers := fieldpath.Value(application, "metadata", "finalizers"); finalizers != nil &&
		len(added.Metadata.Finalizers) > 0 {
		list, _ := finalizers.([]any)
		list = slices.DeleteFunc(slices.Clone(list), func(f any) bool {
			return slices.Contains(added.Metadata.Finalizers, f)
		})
		metadata, _ := result["metadata"].(map[string]any)
		metadata["finalizers"] = append(added.Metadata.Finalizers, list...)
	}
	if spec, ok := result["spec"].(map[string]any); ok {
		delete(spec, "project")
		if project := fieldpath.Value(application, "spec", "project"); project != nil {
			spec["project"] = project
		}
	}
	return result, nil
}

// filled returns a template of a generator with what only the base has.
func filled(template, base map[string]any) map[string]any {
	result := maps.Clone(template)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range base {
		own, isTable := result[name].(map[string]any)
		below, ok := value.(map[string]any)
		switch {
		case isTable && ok:
			result[name] = filled(own, below)
		case isEmpty(result[name]):
			result[name] = value
		}
	}
	return result
}

// isEmpty reports whether a value is the zero value of its type in Argo CD.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}
