// Package check is what runs when an update is checked: the tree of nodes that a schema with locks compiles to.
//
// [Compile] makes a [Checker] of a schema that has been read. A location with locks on it or below it becomes a [Node];
// a node compares the new and the old value of its location and returns what the update breaks as a [Found] tree, nil
// for nothing. Package immutability turns that tree into a report.
//
// A file uses only the files before it: value, equality (the types), redaction, found, memo (what one check remembers),
// hash, compare, differences; then the nodes: node, frozen, keylock, object, objectjson, items, members, keyed, textitems,
// keyedjson, container, update; then compile and checker.
//
// # Cost
//
// An update that breaks nothing is compared once and allocates nothing, as long as sets and keyed lists are in the same
// order. Where locks are nested, or sets contain sets, a naive comparison would look at the innermost values once for
// each level. A [Memo] prevents that: it remembers what was compared and hashed, by the identity of the two containers,
// so that every check is near linear in the two objects and the report.
package check
