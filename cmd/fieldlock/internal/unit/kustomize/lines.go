package kustomize

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// line returns the line of the first text of a YAML document that is exactly ref, or 0 if there is none.
func line(content []byte, ref string) int {
	if ref == "" || len(content) > maxKustomization {
		return 0
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return 0
	}
	return lineBelow(&document, ref)
}

// lineBelow looks below one node. Aliases are not followed: what they stand for is found where it is written.
func lineBelow(n *yaml.Node, ref string) int {
	if n.Kind == yaml.ScalarNode && n.Value == ref {
		return n.Line
	}
	for _, child := range n.Content {
		if found := lineBelow(child, ref); found > 0 {
			return found
		}
	}
	return 0
}

// yamlLine is how the YAML reader tells the line of a mistake.
var yamlLine = regexp.MustCompile(`\byaml: line (\d+):`)

// lineOfError returns the line that an error of the YAML reader names, or 0.
func lineOfError(err error) int {
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		return 0
	}
	n, _ := strconv.Atoi(match[1])
	return n
}

// maxNodes is how many nodes the documents of one text may have with all aliases in full.
const maxNodes = 1_000_000

// checkAliases returns an error if the aliases of a text stand for too much: kustomize writes them out. Texts that are not
// YAML are left to others.
func checkAliases(content []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for nodes := 0; ; {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return nil
		}
		if nodes += size(&document, map[*yaml.Node]int{}); nodes > maxNodes {
			return fmt.Errorf("with its aliases written out, it has more than %d nodes", maxNodes)
		}
	}
}

// size counts the nodes below one, those of aliases each time; it stops at maxNodes.
func size(n *yaml.Node, anchors map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		if _, ok := anchors[n.Alias]; !ok {
			anchors[n.Alias] = maxNodes + 1 // an alias within its own anchor never ends
			anchors[n.Alias] = size(n.Alias, anchors)
		}
		return anchors[n.Alias]
	}
	nodes := 1
	for _, child := range n.Content {
		if nodes += size(child, anchors); nodes > maxNodes {
			return maxNodes + 1
		}
	}
	return nodes
}
