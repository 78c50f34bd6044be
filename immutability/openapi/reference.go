package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// rootAnchor stands for the document as a whole in the schemas that Resolve returns: spec.Ref does not tell a reference to
// "#" from none. No anchor begins with a colon.
const rootAnchor = ":root"

// path returns the JSON pointer that a reference means.
func (d *Document) path(ref string) (string, error) {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" && base != d.id {
		return "", fmt.Errorf("$ref %q: %w", ref, errOtherDocument)
	}
	text, err := url.PathUnescape(fragment)
	if err != nil {
		return "", fmt.Errorf("$ref %q: %w", ref, err)
	}
	if text == rootAnchor {
		return "", nil
	}
	if text == "" || text[0] == '/' {
		return text, nil
	}
	path, ok := d.anchors[text]
	if !ok {
		return "", fmt.Errorf("$ref %q: the document has no anchor %q", ref, text)
	}
	return path, nil
}

// at returns the value at a JSON pointer, and the steps that lead to it. If there is none, the steps are those of the
// last value on the way.
func (d *Document) at(path string) (value any, steps []any, err error) {
	value = d.document.Object
	for _, name := range pointer.Names(path) {
		var below any
		var step any = name
		found := false
		switch container := value.(type) {
		case map[string]any:
			below, found = container[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(container) {
				below, step, found = container[i], i, true
			}
		}
		if !found {
			return nil, steps, fmt.Errorf("the document has no schema at %q", path)
		}
		value, steps = below, append(steps, step)
	}
	return value, steps, nil
}

var errOtherDocument = errors.New("it leads to another document; references within the document are followed")
