// Package openapi reads schemas with locks from OpenAPI documents, v2 and v3, and from JSON Schemas (drafts 4 to 2020-12).
//
//	document, err := openapi.Read("openapi.json", data)
//	kind, ok := document.Find("apps/v1", "Deployment")
//	schema, err := document.Resolve(kind.Ref)
//	validator, err := immutability.Compile(schema, immutability.WithResolver(document.Resolve))
//
// An OpenAPI document of an API server says in x-kubernetes-group-version-kind which kind a schema describes; the schemas of
// other documents have a name only. A JSON Schema describes one document, such as the values of a Helm chart: it is
// Document.Root. One that a catalogue keeps as GROUP/KIND_VERSION.json describes the objects of that kind.
//
// References lead within the document: "#/components/schemas/NAME", "#/definitions/NAME", "#/$defs/NAME", any other JSON
// pointer, "#NAME" for an anchor, and the document's own $id. Schemas are read when they are asked for, so that a few
// kinds of a large document cost little.
//
// It is not a validator of JSON Schema: keywords that only validate are passed on or dropped. A lock below one of them,
// where it would lock nothing, is an error.
package openapi
