package document

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
	"github.com/fieldlock/fieldlock/internal/spelling"
)

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
		return nil, Errorf(&yaml.Node{Line: misspelled[0].Line}, "%q is spelled %q", misspelled[0].Written, misspelled[0].Meant)
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
			refuse.Add(refusals, "", parameter.RuleDefinition, "the key %q%s is spelled %q", m.Written, at, m.Meant)
			continue
		}
		refuse.Add(refusals, name, parameter.RuleDefinition, "has the attribute %q%s: it is spelled %q", m.Written, at, m.Meant)
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
