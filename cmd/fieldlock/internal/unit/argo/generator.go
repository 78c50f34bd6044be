package argo

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// maxGenerated is how many sets of parameters an ApplicationSet may generate.
const maxGenerated = 10_000

// generation is one run over the generators of an ApplicationSet.
type generation struct {
	template templating
	trees    Trees
	// generated counts sets of parameters, also those of generators in others.
	generated int
	depth     int
}

// parameters returns the sets of parameters of a generator that its selector lets through, and its own template. Outer
// are the parameters of the first generator of a matrix, for the second one.
func (g *generation) parameters(written,
	outer map[string]any) (sets []map[string]any, template map[string]any, err error) {
	if g.depth++; g.depth > 8 {
		return nil, nil, errors.New("more than 8 generators in each other")
	}
	defer func() { g.depth-- }()
	if len(outer) > 0 {
		if written, err = g.interpolated(written, outer); err != nil {
			return nil, nil, err
		}
	}
	name, spec, err := generatorOf(written)
	if err != nil {
		return nil, nil, err
	}
	template, _ = spec["template"].(map[string]any)
	switch name {
	case "list":
		sets, err = g.list(spec)
	case "git":
		sets, err = g.template.git(spec, g.trees)
	case "matrix":
		sets, err = g.matrix(spec)
	case "merge":
		sets, err = g.merge(spec)
	default:
		return nil, nil, notCovered("the generator %s asks a cluster or a service", name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the generator %s: %w", name, err)
	}
	if g.generated += len(sets); g.generated > maxGenerated {
		return nil, nil, fmt.Errorf("more than %d sets of parameters", maxGenerated)
	}
	sets, err = selected(written["selector"], sets)
	return sets, template, err
}

// generatorOf returns the name and the fields of a generator.
func generatorOf(written map[string]any) (string, map[string]any, error) {
	var names []string
	for name, value := range written {
		if name != "selector" && value != nil {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return "", nil, fmt.Errorf("a generator has one kind, this has %d", len(names))
	}
	spec, ok := written[names[0]].(map[string]any)
	if !ok {
		return "", nil, fmt.Errorf("the generator %s is not an object", names[0])
	}
	return names[0], spec, nil
}

// interpolated replaces the parameters of an outer generator in all of a generator. In its values, those that are
// unknown yet stay: they may be its own.
func (g *generation) interpolated(written, outer map[string]any) (map[string]any, error) {
	result := map[string]any{}
	for name, value := range written {
		spec, ok := value.(map[string]any)
		values, hasValues := spec["values"].(map[string]any)
		if ok && hasValues && name != "selector" {
			spec = maps.Clone(spec)
			delete(spec, "values")
		}
		if ok {
			value = spec
		}
		replaced, err := g.template.all(value, outer)
		if err != nil {
			return nil, err
		}
		if spec, ok := replaced.(map[string]any); ok && hasValues && name != "selector" {
			spec["values"] = g.template.known(values, outer)
		}
		result[name] = replaced
	}
	return result, nil
}

// selected returns the sets of parameters that a label selector matches.
func selected(written any, sets []map[string]any) ([]map[string]any, error) {
	if written == nil {
		return sets, nil
	}
	var selector metav1.LabelSelector
	if err := rendered.Decode(written, &selector); err != nil {
		return nil, fmt.Errorf("the selector: %w", err)
	}
	var matched []map[string]any
	for _, parameters := range sets {
		ok, err := matches(&selector, flattened(parameters))
		if err != nil {
			return nil, err
		}
		if ok {
			matched = append(matched, parameters)
		}
	}
	return matched, nil
}

// matches is the rule of label selectors for any values: those of parameters need not be values of labels.
func matches(selector *metav1.LabelSelector, labels map[string]string) (bool, error) {
	for name, want := range selector.MatchLabels {
		if value, ok := labels[name]; !ok || value != want {
			return false, nil
		}
	}
	for _, e := range selector.MatchExpressions {
		value, ok := labels[e.Key]
		matched := false
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			matched = ok && slices.Contains(e.Values, value)
		case metav1.LabelSelectorOpNotIn:
			matched = !ok || !slices.Contains(e.Values, value)
		case metav1.LabelSelectorOpExists:
			matched = ok
		case metav1.LabelSelectorOpDoesNotExist:
			matched = !ok
		default:
			return false, fmt.Errorf("the selector's operator %q is unknown", e.Operator)
		}
		if !matched {
			return false, nil
		}
	}
	return true, nil
}

// list returns the elements of a list generator.
func (g *generation) list(spec map[string]any) ([]map[string]any, error) {
	var sets []map[string]any
	elements, _ := spec["elements"].([]any)
	for _, item := range elements {
		element, ok := item.(map[string]any)
		if !ok {
			return nil, errors.New("an element is not an object")
		}
		if !g.template.goTemplate {
			var err error
			if element, err = texts(element); err != nil {
				return nil, err
			}
		}
		sets = append(sets, element)
	}
	if text, _ := spec["elementsYaml"].(string); text != "" {
		var more []map[string]any
		if err := yaml.Unmarshal([]byte(text), &more); err != nil {
			return nil, fmt.Errorf("elementsYaml: %w", err)
		}
		sets = append(sets, more...)
	}
	return sets, nil
}

// texts returns an element for templates that are not Go's: its fields are texts, those of values "values.NAME".
func texts(element map[string]any) (map[string]any, error) {
	result := map[string]any{}
	for name, value := range element {
		if values, ok := value.(map[string]any); ok && name == "values" {
			for name, value := range values {
				text, ok := value.(string)
				if !ok {
					return nil, fmt.Errorf("values.%s is not a text", name)
				}
				result["values."+name] = text
			}
			continue
		}
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%s is not a text", name)
		}
		result[name] = text
	}
	return result, nil
}

// children returns the generators in another one.
func children(spec map[string]any) ([]map[string]any, error) {
	list, _ := spec["generators"].([]any)
	var generators []map[string]any
	for _, item := range list {
		generator, ok := item.(map[string]any)
		if !ok {
			return nil, errors.New("a generator is not an object")
		}
		generators = append(generators, generator)
	}
	return generators, nil
}

// matrix returns each set of the first generator with each of the second, which can name parameters of the first.
func (g *generation) matrix(spec map[string]any) ([]map[string]any, error) {
	generators, err := children(spec)
	if err != nil {
		return nil, err
	}
	if len(generators) != 2 {
		return nil, fmt.Errorf("it combines 2 generators, these are %d", len(generators))
	}
	first, _, err := g.parameters(generators[0], nil)
	if err != nil {
		return nil, err
	}
	var sets []map[string]any
	for _, a := range first {
		second, _, err := g.parameters(generators[1], a)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			if g.template.goTemplate {
				sets = append(sets, overridden(b, a))
				continue
			}
			combined := map[string]any{}
			for name, value := range a {
				combined[name] = fmt.Sprint(value)
			}
			for name, value := range b {
				text := fmt.Sprint(value)
				if before, ok := combined[name]; ok && before != text {
					return nil, fmt.Errorf("the parameter %s is %q and %q", name, before, text)
				}
				combined[name] = text
			}
			sets = append(sets, combined)
		}
	}
	return sets, nil
}

// merge returns the sets of the first generator, with those of the others over them that have the same merge keys. Argo
// CD returns them in any order, this function in that of the first generator.
func (g *generation) merge(spec map[string]any) ([]map[string]any, error) {
	generators, err := children(spec)
	if err != nil {
		return nil, err
	}
	keys, _ := spec["mergeKeys"].([]any)
	if len(generators) < 2 || len(keys) == 0 {
		return nil, errors.New("it needs two generators and a merge key")
	}
	var order []string
	var base map[string]map[string]any
	for i, generator := range generators {
		sets, _, err := g.parameters(generator, nil)
		if err != nil {
			return nil, err
		}
		byKey := map[string]map[string]any{}
		for _, parameters := range sets {
			key, err := mergeKey(keys, parameters)
			if err != nil {
				return nil, err
			}
			if byKey[key] != nil {
				return nil, fmt.Errorf("two sets of parameters have the merge keys %s", key)
			}
			byKey[key] = parameters
			if i == 0 {
				order = append(order, key)
			}
		}
		if i == 0 {
			base = byKey
			continue
		}
		for _, key := range order {
			over := byKey[key]
			switch {
			case over == nil:
			case g.template.goTemplate:
				base[key] = overridden(base[key], over)
			default:
				base[key] = maps.Clone(base[key])
				maps.Copy(base[key], over)
			}
		}
	}
	var sets []map[string]any
	for _, key := range order {
		sets = append(sets, base[key])
	}
	return sets, nil
}

func mergeKey(keys []any, parameters map[string]any) (string, error) {
	values := map[string]any{}
	for _, key := range keys {
		name := fmt.Sprint(key)
		values[name] = parameters[name]
	}
	content, err := json.Marshal(values)
	return string(content), err
}

// overridden returns parameters with those of another set over them; tables are merged.
func overridden(parameters, over map[string]any) map[string]any {
	result := maps.Clone(parameters)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range over {
		before, isTable := result[name].(map[string]any)
		after, ok := value.(map[string]any)
		if isTable && ok && len(before) > 0 {
			result[name] = overridden(before, after)
		} else {
			result[name] = value
		}
	}
	return result
}
