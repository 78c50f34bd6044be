package kudo

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
)

// isObject reports whether a mapping is a Kubernetes object rather than a file of a package.
func isObject(n *yaml.Node) bool {
	found, _ := document.Attributes(n, "apiVersion", "kind")
	return found["apiVersion"] != nil && found["kind"] != nil
}

// checkObject returns an error unless the object is of the given kind of KUDO's API.
func checkObject(n *yaml.Node, kind string) error {
	found, err := document.Strict(n, "apiVersion", "kind", "metadata", "spec", "status")
	if err != nil {
		return err
	}
	gotVersion, err := document.Text(found["apiVersion"], "apiVersion")
	if err != nil {
		return err
	}
	gotKind, err := document.Text(found["kind"], "kind")
	if err != nil {
		return err
	}
	if gotVersion != apiVersion || gotKind != kind {
		return document.Errorf(n, "the object is %s of %s: it should be %s of %s",
			orNothing(gotKind), orNothing(gotVersion), kind, apiVersion)
	}
	return nil
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return strings.ToValidUTF8(text, "?")
}

// checkAPIVersion refuses a file of a package with another apiVersion than KUDO's. None is KUDO's.
func checkAPIVersion(mistakes *parameter.Refusals, n *yaml.Node, file string) error {
	got, err := document.Text(n, "apiVersion")
	if err != nil {
		return err
	}
	if got != "" && got != apiVersion {
		mistakes.Add("", parameter.RuleDefinition, "the %s has the apiVersion %q: KUDO reads %s only", file, got, apiVersion)
	}
	return nil
}

// nameOf returns metadata.name.
func nameOf(metadata *yaml.Node) string { return member(metadata, "name") }

// member returns a text of a mapping, or "".
func member(n *yaml.Node, name string) string {
	if n == nil || n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name && n.Content[i+1].Kind == yaml.ScalarNode && !document.IsNull(n.Content[i+1]) {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// apiVersion is the one that KUDO reads, in packages and in clusters.
const apiVersion = "kudo.dev/v1beta1"
