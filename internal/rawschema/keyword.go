package rawschema

import (
	"math"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

func toString(value any) (string, *Error) {
	text, ok := value.(string)
	if !ok {
		return "", wrong(value, "a string")
	}
	return text, nil
}

func toBool(value any) (bool, *Error) {
	b, ok := value.(bool)
	if !ok {
		return false, wrong(value, "true or false, unquoted")
	}
	return b, nil
}

func toInt(value any) (*int64, *Error) {
	switch value := value.(type) {
	case int64:
		return &value, nil
	case float64:
		if i := int64(value); float64(i) == value && math.Abs(value) < 1<<53 {
			return &i, nil
		}
	}
	return nil, wrong(value, "an integer")
}

func toFloat(value any) (*float64, *Error) {
	switch value := value.(type) {
	case int64:
		f := float64(value) // the keyword is a float64 in every API type
		return &f, nil
	case float64:
		return &value, nil
	}
	return nil, wrong(value, "a number")
}

func toList(value any) ([]any, *Error) {
	list, ok := value.([]any)
	if !ok {
		return nil, wrong(value, "a list")
	}
	return list, nil
}

func toStrings(value any) ([]string, *Error) {
	list, err := toList(value)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], err = toString(item); err != nil {
			err.Steps = append(err.Steps, i)
			return nil, err
		}
	}
	return texts, nil
}

func toType(value any) (spec.StringOrArray, *Error) {
	text, ok := value.(string)
	if !ok {
		return nil, wrong(value, "one of object, array, string, integer, number, boolean")
	}
	if text == "" {
		return nil, nil
	}
	return spec.StringOrArray{text}, nil
}

func toRef(value any) (spec.Ref, *Error) {
	text, err := toString(value)
	if err != nil {
		return spec.Ref{}, err
	}
	ref, badRef := spec.NewRef(text)
	if badRef != nil {
		return ref, wrong(value, "a URI reference")
	}
	return ref, nil
}

func toExternalDocs(value any) (*spec.ExternalDocumentation, *Error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(value, "an object with description and url")
	}
	description, _ := object["description"].(string)
	url, _ := object["url"].(string)
	return &spec.ExternalDocumentation{Description: description, URL: url}, nil
}
