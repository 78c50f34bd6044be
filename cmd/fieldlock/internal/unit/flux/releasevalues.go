package flux

import (
	"encoding/base64"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// markers stand for a value that the tree does not tell. What is the same with all of them does not depend on it, as far as
// can be seen: two texts that have nothing in common, and the empty one.
var markers = []string{"unknown-7f3a", "another-29c4", ""}

// values merges the values of a release: those of ConfigMaps and Secrets in order, and its own over them. The marker is used
// for unknown values of a targetPath, and unknown reports whether there are any.
//
// The rules are those of ChartValuesFromReferences in github.com/fluxcd/pkg/chartutil v1.27.0. A targetPath there sets a
// value in a table that can be shared with the release's own values, which then keep it; otherwise they overwrite it.
func (h *HelmRelease) values(lookup Lookup, marker string) (values map[string]any, unknown bool, err error) {
	result, own := map[string]any{}, copied(h.spec.Values).(map[string]any)
	for _, from := range h.spec.ValuesFrom {
		text, ok, err := h.valuesText(from, lookup)
		switch {
		case err != nil:
			return nil, false, err
		case !ok && from.Optional:
			continue
		case !ok && from.TargetPath == "":
			return nil, false, &rendered.NotCovered{
				Reason: fmt.Sprintf("its values are in the %s %s/%s, which the tree does not tell", from.Kind, h.Namespace, from.Name),
			}
		case !ok:
			text, unknown = marker, true
		}
		if from.TargetPath == "" {
			read := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &read); err != nil {
				return nil, false, fmt.Errorf("the values in the %s %s/%s: %w", from.Kind, h.Namespace, from.Name, err)
			}
			result = helm.Merged(result, read)
			continue
		}
		result = helm.Merged(result, own)
		if err := setPath(result, from, text); err != nil {
			return nil, false, fmt.Errorf("the targetPath %s: %w", from.TargetPath, err)
		}
	}
	return helm.Merged(result, own), unknown, nil
}

// setPath sets a value as `helm --set` does, a quoted one as a text, or as it is written.
func setPath(values map[string]any, from valuesReference, text string) error {
	quoted := strings.HasPrefix(text, "'") && strings.HasSuffix(text, "'") ||
		strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`)
	switch {
	case from.Literal:
		escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)
		return strvals.ParseIntoString(from.TargetPath+"="+escape.Replace(text), values)
	case quoted:
		return strvals.ParseIntoString(from.TargetPath+"="+strings.Trim(text, `'"`), values)
	}
	return strvals.ParseInto(from.TargetPath+"="+text, values)
}

// copied returns a copy of a value that shares no table or list with it.
func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for name, below := range value {
			result[name] = copied(below)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, below := range value {
			result[i] = copied(below)
		}
		return result
	}
	return value
}

// valuesText returns the values that a ConfigMap or Secret has, or false if the tree does not tell.
func (h *HelmRelease) valuesText(from valuesReference, lookup Lookup) (string, bool, error) {
	if from.Kind != "ConfigMap" && from.Kind != "Secret" {
		return "", false, fmt.Errorf("values come from a ConfigMap or Secret, not from a %s", from.Kind)
	}
	if lookup == nil {
		return "", false, nil
	}
	object, ok := lookup(from.Kind, h.Namespace, from.Name)
	if !ok {
		return "", false, nil
	}
	key := from.ValuesKey
	if key == "" {
		key = "values.yaml"
	}
	clear, _ := object["stringData"].(map[string]any)
	if text, ok := clear[key].(string); ok && from.Kind == "Secret" {
		return text, !strings.Contains(text, encrypted), nil
	}
	data, _ := object["data"].(map[string]any)
	text, ok := data[key].(string)
	if !ok {
		if from.Optional {
			return "", false, nil
		}
		return "", false, fmt.Errorf("the %s %s/%s has no %s", from.Kind, h.Namespace, from.Name, key)
	}
	if from.Kind == "Secret" && !strings.HasPrefix(text, encrypted) {
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return "", false, fmt.Errorf("the Secret %s/%s: %s is not in base64", h.Namespace, from.Name, key)
		}
		text = string(decoded)
	}
	return text, !strings.Contains(text, encrypted), nil
}
