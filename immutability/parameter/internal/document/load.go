// Package document reads the YAML and JSON documents of the parameter packages into trees in which nothing can hide:
// aliases and merge keys are expanded within bounds, no mapping has two values for a key, and every tag is one of
// YAML's core.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
	"github.com/fieldlock/fieldlock/internal/spelling"
)

// What one document may expand to. Without limits a few lines of aliases make billions of values, and the text of a
// deeply nested list is quadratic in its depth.
const (
	maxNodes = 200_000
	maxDepth = 100
)

// Load reads the one YAML or JSON document in data. It returns nil for data without a document, and a
// *[parameter.ReadError] otherwise. Where two readers could take two values from one text, a lock could hide behind
// the value that nobody looks at; Load refuses such a text. It does not read the values of the ignored keys of the
// document, and returns null for them.
func Load(data []byte, ignored ...string) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root *yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxError(err)
		}
		if len(document.Content) != 1 || IsNull(document.Content[0]) {
			continue
		}
		if root != nil {
			return nil, Errorf(document.Content[0], "a second document begins here: the file holds one document")
		}
		root = document.Content[0]
	}
	if root == nil {
		return nil, nil
	}
	l := loader{open: map[*yaml.Node]bool{}, ignored: ignored}
	return l.resolve(root)
}

// loader expands aliases and merge keys.
type loader struct {
	nodes, depth int
	open         map[*yaml.Node]bool // anchors that are being expanded
	ignored      []string            // keys of the document whose values are left out
}

func (l *loader) resolve(n *yaml.Node) (*yaml.Node, error) {
	if l.nodes++; l.nodes > maxNodes {
		return nil, Errorf(n, "the document has more than %d nodes once its aliases are expanded", maxNodes)
	}
	l.depth++
	defer func() { l.depth-- }()
	if l.depth > maxDepth {
		return nil, Errorf(n, "the document is nested deeper than %d levels", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		if l.open[n.Alias] {
			return nil, Errorf(n, "the anchor %q contains itself", n.Value)
		}
		l.open[n.Alias] = true
		defer delete(l.open, n.Alias)
		return l.resolve(n.Alias)
	}
	tag, err := coreTag(n)
	if err != nil {
		return nil, err
	}
	out := &yaml.Node{Kind: n.Kind, Tag: tag, Value: n.Value, Line: n.Line, Style: n.Style &^ yaml.TaggedStyle}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			resolved, err := l.resolve(item)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, resolved)
		}
	case yaml.MappingNode:
		if out.Content, err = l.pairs(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pairs returns the keys and values of the mapping n: its own, then those merged into it that it does not have.
func (l *loader) pairs(n *yaml.Node) ([]*yaml.Node, error) {
	var content, merged []*yaml.Node
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() == "!!merge" {
			sources, err := l.mergeSources(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			merged = append(merged, sources...)
			continue
		}
		key, err := l.resolve(n.Content[i])
		if err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, Errorf(key, "a key is %s: it is a name", Describe(key))
		}
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: key.Line}
		if l.depth > 1 || !slices.Contains(l.ignored, key.Value) {
			if value, err = l.resolve(n.Content[i+1]); err != nil {
				return nil, err
			}
		}
		switch first := seen[key.Value]; {
		case first == nil:
			seen[key.Value] = value
			content = append(content, key, value)
		case !same(first, value):
			return nil, Errorf(key, "the key %q is given a second time, with another value", key.Value)
		}
	}
	for _, source := range merged {
		for i := 0; i+1 < len(source.Content); i += 2 {
			if key := source.Content[i]; seen[key.Value] == nil {
				seen[key.Value] = source.Content[i+1]
				content = append(content, key, source.Content[i+1])
			}
		}
	}
	return content, nil
}

// same reports whether two values without aliases are the same text.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, same)
}

// mergeSources returns the mappings that the value of a merge key brings in, the first one winning.
func (l *loader) mergeSources(n *yaml.Node) ([]*yaml.Node, error) {
	source, err := l.resolve(n)
	if err != nil {
		return nil, err
	}
	sources := []*yaml.Node{source}
	if source.Kind == yaml.SequenceNode {
		sources = source.Content
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			return nil, Errorf(source, "the merge key << has %s: it takes a mapping or a list of mappings",
				Describe(source))
		}
	}
	return sources, nil
}

// coreTag returns the short tag of n, or an error where a written tag changes what the text means.
func coreTag(n *yaml.Node) (string, error) {
	tag := n.ShortTag()
	written := n.Style&yaml.TaggedStyle != 0
	switch tag {
	case "!!str", "!!seq", "!!map":
		return tag, nil
	case "!!int", "!!float", "!!bool", "!!null", "!!timestamp":
		if written {
			plain := (&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}).ShortTag()
			if plain != tag && (tag != "!!float" || plain != "!!int") {
				return "", Errorf(n, "%q is tagged %s, which it is not", n.Value, tag)
			}
		}
		return tag, nil
	case "!!merge":
		return "", Errorf(n, "the merge key << is not a value: quote it")
	}
	return "", Errorf(n, "the tag %s is not supported: write the value as text", n.Tag)
}

var lineInSyntaxError = regexp.MustCompile(`^line (\d+): `)

func syntaxError(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &parameter.ReadError{Message: message}
	if match := lineInSyntaxError.FindStringSubmatch(message); match != nil {
		e.Line, _ = strconv.Atoi(match[1])
		e.Message = message[len(match[0]):]
	}
	return e
}

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

// Misspelling is a key that looks like a known one.
type Misspelling struct {
	Line           int
	Written, Meant string
}

// Attributes returns those attributes of the mapping n whose names are known, and the keys that look like a misspelling
// of one: the same letters in another case, or one edit away, two for names of six letters and more. A reader that
// ignored "imutable" would lose a lock. A key in another case is found as well, since KUDO reads it. Other keys are
// ignored.
func Attributes(n *yaml.Node, known ...string) (found map[string]*yaml.Node, misspelled []Misspelling) {
	found = make(map[string]*yaml.Node, len(known))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(known, key.Value) {
			found[key.Value] = n.Content[i+1]
			continue
		}
		for _, name := range known {
			if !looksLike(key.Value, name) {
				continue
			}
			misspelled = append(misspelled, Misspelling{key.Line, key.Value, name})
			if _, exact := found[name]; !exact && strings.EqualFold(key.Value, name) {
				found[name] = n.Content[i+1]
			}
			break
		}
	}
	return found, misspelled
}

// Strict is [Attributes] with a misspelling as an error.
func Strict(n *yaml.Node, known ...string) (map[string]*yaml.Node, error) {
	found, misspelled := Attributes(n, known...)
	if len(misspelled) > 0 {
		return nil, Errorf(&yaml.Node{Line: misspelled[0].Line}, "%q is spelled %q",
			misspelled[0].Written, misspelled[0].Meant)
	}
	return found, nil
}

// RefuseMisspelled adds a refusal for each misspelled attribute of the parameter name, or with "" of the document.
func RefuseMisspelled(refusals *parameter.Refusals, name string, misspelled []Misspelling) {
	for _, m := range misspelled {
		at := ""
		if m.Line > 0 {
			at = " in line " + strconv.Itoa(m.Line)
		}
		if name == "" {
			refuse.Add(refusals, "", refuse.Definition, "the key %q%s is spelled %q", m.Written, at, m.Meant)
			continue
		}
		refuse.Add(refusals, name, refuse.Definition, "has the attribute %q%s: it is spelled %q",
			m.Written, at, m.Meant)
	}
}

// Items returns the items of an optional attribute that is a list; absent and null have none. The error
// names the items by of.
func Items(n *yaml.Node, name, of string) ([]*yaml.Node, error) {
	switch {
	case n == nil || IsNull(n):
		return nil, nil
	case n.Kind != yaml.SequenceNode:
		return nil, Errorf(n, "%s is %s: it should be a list of %s", name, Describe(n), of)
	}
	return n.Content, nil
}

// Text reads an optional scalar attribute as it is written; absent and null are "".
func Text(n *yaml.Node, name string) (string, error) {
	switch {
	case n == nil || IsNull(n):
		return "", nil
	case n.Kind != yaml.ScalarNode:
		return "", Errorf(n, "%s is %s: it should be a text", name, Describe(n))
	}
	return n.Value, nil
}

// The spellings of a bare boolean, which are those of YAML 1.1: both systems read them.
var booleans = map[string]bool{
	"true": true, "yes": true, "on": true, "y": true,
	"false": false, "no": false, "off": false, "n": false,
}

// Bool reads an optional boolean attribute, bare or quoted; absent and null are fallback.
func Bool(n *yaml.Node, name string, fallback bool) (bool, error) {
	if n == nil || IsNull(n) {
		return fallback, nil
	}
	if n.Kind == yaml.ScalarNode {
		word := strings.ToLower(n.Value)
		cased := n.Value == word || n.Value == strings.ToUpper(word) || n.Value == strings.ToUpper(word[:1])+word[1:]
		value, ok := booleans[word]
		if quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0; quoted {
			ok = ok && (word == "true" || word == "false")
		}
		if ok && cased {
			return value, nil
		}
	}
	return false, Errorf(n, "%s is %s: it should be true or false", name, Describe(n))
}

// looksLike reports whether word is probably meant to be name.
func looksLike(word, name string) bool {
	if strings.EqualFold(word, name) {
		return true
	}
	most := 1
	if len(name) >= 6 {
		most = 2
	}
	return spelling.Typos(strings.ToLower(word), strings.ToLower(name)) <= most
}
