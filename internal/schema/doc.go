// Package schema reads OpenAPI schemas for everything in fieldlock that asks what a schema locks.
//
// [Read] turns a schema into a [Tree] of locations: the root, its properties, the values of maps and the items of lists.
// It follows $refs by one rule ([RefOf]), reads the marks of each location ([ReadMarks]), and finds locks in parts of
// the schema that no update is compared along. A location that is reached through several $refs appears once for each,
// and what is below the definition once for all of them, so that recursive schemas end.
//
// One table ([Locks]) says for each lock which key sets it, which changes it refuses and where it is allowed.
//
// Paths come in two forms: [Path.String] is for people, "spec.nodes[*].zone", and [Path.Pointer] is the JSON pointer of
// the schema node, "/properties/spec/properties/nodes/items/properties/zone".
package schema
