package document

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Errorf returns a *[parameter.ReadError] at n.
func Errorf(n *yaml.Node, format string, args ...any) error {
	return &parameter.ReadError{Line: n.Line, Message: fmt.Sprintf(format, args...)}
}

// IsNull reports whether n is null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// Describe names what n is, for a message.
func Describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case IsNull(n):
		return "empty"
	}
	return strconv.Quote(n.Value)
}
