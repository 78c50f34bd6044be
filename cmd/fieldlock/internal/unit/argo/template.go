package argo

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// templating replaces parameters in texts: as a Go template, or else each "{{name}}" by a parameter that is a text.
type templating struct {
	goTemplate bool
	options    []string
}

// maxText is how long a text may become.
const maxText = 10 << 20

var (
	templated   = regexp.MustCompile(".*{{.*}}.*")
	invalidName = regexp.MustCompile("[^-a-z0-9.]")
	dashes      = regexp.MustCompile("-+")
)

// all replaces parameters in all texts of a value, and in the names of its fields.
func (t templating) all(value any, parameters map[string]any) (any, error) {
	switch value := value.(type) {
	case string:
		return t.text(value, parameters)
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			replaced, err := t.all(item, parameters)
			if err != nil {
				return nil, err
			}
			result[i] = replaced
		}
		return result, nil
	case map[string]any:
		result := make(map[string]any, len(value))
		for name, below := range value {
			replaced, err := t.all(below, parameters)
			if err != nil {
				return nil, err
			}
			if name, err = t.text(name, parameters); err != nil {
				return nil, err
			}
			result[name] = replaced
		}
		return result, nil
	}
	return value, nil
}

// known replaces parameters in the values of a generator, and leaves those as they are that name others.
func (t templating) known(values, parameters map[string]any) map[string]any {
	strict := t
	strict.options = append([]string{"missingkey=error"}, t.options...)
	result := maps.Clone(values)
	for name, value := range values {
		if replaced, err := strict.all(value, parameters); err == nil {
			result[name] = replaced
		}
	}
	return result
}

// text replaces parameters in one text.
func (t templating) text(text string, parameters map[string]any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if t.goTemplate {
		return t.execute(text, parameters)
	}
	if !templated.MatchString(text) {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{{")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return "", fmt.Errorf("%q has a {{ without }}", text)
		}
		if value, ok := parameters[strings.TrimSpace(name)].(string); ok && strings.TrimSpace(name) != "" {
			b.WriteString(value)
		} else {
			b.WriteString("{{" + name + "}}")
		}
		text = after
	}
}

// execute runs a Go template with the functions that Argo CD has: those of sprig without the environment and the
// network.
func (t templating) execute(text string, parameters map[string]any) (string, error) {
	parsed := template.New("base").Funcs(functions())
	for _, option := range t.options {
		if err := checkOption(option); err != nil {
			return "", err
		}
		parsed = parsed.Option(option)
	}
	parsed, err := parsed.Parse(text)
	if err != nil {
		return "", err
	}
	var b bounded
	if err := parsed.Execute(&b, parameters); err != nil {
		return "", err
	}
	return b.String(), nil
}

// checkOption returns an error for an option of goTemplateOptions at which text/template would panic.
func checkOption(option string) error {
	switch option {
	case "missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error":
		return nil
	}
	return fmt.Errorf("the option %q of Go templates is unknown", option)
}

// bounded is the output of a template.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, errors.New("the text is too long")
	}
	return b.Buffer.Write(p)
}

func functions() template.FuncMap {
	all := template.FuncMap(sprig.GenericFuncMap())
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	all["normalize"] = sanitized
	all["slugify"] = slug
	all["toYaml"] = func(value any) (string, error) {
		content, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(content), "\n"), err
	}
	all["fromYaml"] = func(text string) (result map[string]any, err error) {
		result = map[string]any{}
		err = yaml.Unmarshal([]byte(text), &result)
		return result, err
	}
	all["fromYamlArray"] = func(text string) (result []any, err error) {
		result = []any{}
		err = yaml.Unmarshal([]byte(text), &result)
		return result, err
	}
	return all
}

// sanitized makes a text a name of Kubernetes.
func sanitized(name string) string {
	name = invalidName.ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(253, len(name))], "-.")
}

// slug makes a text a part of a URL: slugify, slugify MAX, or slugify MAX SMART, of a text. Smart cuts at a dash.
func slug(arguments ...any) (string, error) {
	limit, smart, name := 50, true, ""
	for i, argument := range arguments {
		ok := true
		switch i {
		case len(arguments) - 1:
			name, ok = argument.(string)
		case 0:
			limit, ok = argument.(int)
		case 1:
			smart, ok = argument.(bool)
		}
		if !ok {
			return "", fmt.Errorf("slugify: argument %d is a %T", i+1, argument)
		}
	}
	text := strings.ReplaceAll(sanitized(name), ".", "-")
	text = strings.Trim(dashes.ReplaceAllString(text, "-"), "-_")
	if limit < 0 || len(text) <= limit {
		return text, nil
	}
	if i := strings.LastIndexByte(text[:limit+1], '-'); smart && i >= 0 {
		return text[:i], nil
	}
	return text[:limit], nil
}
