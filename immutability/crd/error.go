package crd

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is a mistake in a file, with its place.
type Error struct {
	File     string // "" for objects that come from no file
	Line     int    // from 1; 0 when unknown
	Document int    // number of the document in the file, from 1; 0 when the file as a whole is meant
	Object   string // kind and name of the object, as far as it has them
	Path     string // "spec.versions[0].schema"; "" for the object as a whole
	Message  string // what was found and what would be right

	cause error
}

// Unwrap returns the error that lies behind this one, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Error returns the mistake as one sentence: "crds.yaml:12: document 2, CustomResourceDefinition widgets.example.com:
// spec.versions: …".
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	}
	var subject []string
	if e.Document > 0 {
		subject = append(subject, "document "+strconv.Itoa(e.Document))
	}
	if e.Object != "" {
		subject = append(subject, e.Object)
	}
	if len(subject) > 0 {
		b.WriteString(strings.Join(subject, ", ") + ": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// objectName returns kind and name of an object for messages, as far as it has them.
func objectName(object map[string]any) string {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if namespace, _ := metadata["namespace"].(string); namespace != "" && name != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(kind + " " + name)
}

// pathString prints steps as field.Path does; a member name that would not read back stands in quotes.
func pathString(steps []any) string {
	var b strings.Builder
	for _, step := range steps {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			switch {
			case step == "" || strings.ContainsAny(step, ".[]\"/ \n"):
				fmt.Fprintf(&b, "[%q]", step)
			case b.Len() > 0:
				b.WriteString("." + step)
			default:
				b.WriteString(step)
			}
		}
	}
	return b.String()
}

// describe names the kind of a value for messages, with the value where it is short.
func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", value)
	case string:
		if len(value) > 40 {
			return "a string"
		}
		return fmt.Sprintf("the string %q", value)
	case int64, float64:
		return fmt.Sprintf("the number %v", value)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a Go value of type %T", value)
}
