package compare

import (
	"strings"
)

// widgets is a CRD with two versions; lines are added to the properties of spec in each.
func widgets(conversion string, v1, v2 string) string {
	version := func(name, storage, properties string) string {
		return `
    - name: ` + name + `
      served: true
      storage: ` + storage + `
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                free: {type: string}
` + indent(properties)
	}
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  conversion: {strategy: ` + conversion + `}
  versions:` + version("v1", "true", v1) + version("v2", "false", v2)
}

func indent(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		b.WriteString("                " + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// widget is one object, with spec as flow YAML.
func widget(version, namespace, name, spec string) string {
	metadata := "name: " + name
	if namespace != "" {
		metadata += ", namespace: " + namespace
	}
	return "---\napiVersion: example.com/" + version + "\nkind: Widget\nmetadata: {" + metadata + "}\nspec: " + spec + "\n"
}
