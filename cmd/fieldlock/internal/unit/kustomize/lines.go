package kustomize

import (
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
