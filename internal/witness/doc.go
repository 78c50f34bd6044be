// Package witness constructs objects that satisfy a schema and its rules, and the updates that show a way around a lock
// or a CEL transition rule.
//
// A witness is a sequence of complete objects in the order of writing. Each is valid, every lock and rule accepts each
// step, and an update from the first to the last at once is refused. The verdicts are the API server's own: its schema
// and list validation, its CEL validator (internal/celrun), and package immutability for locks.
//
// A witness is constructed from the schema and the hole first: a small valid object that holds what the hole is in,
// with the guarded field at one value, without it, and with it at another value. Such objects are made one level after
// the other, and remembered: the holes of a kind have most levels in common. Where a rule or a keyword of the schema
// refuses that, a search repairs the object: it tries other values for the fields that the refusing rule reads, and the
// constants in that rule. The search is deterministic and bounded by a number of evaluations, never by time.
//
// The chapters, from the bottom: paths in objects (path), texts for a pattern and values for a schema (text, value), what
// a rule reads and what refuses an object (problem), the versions of a kind and their judge (kind), edits that may repair
// an object (repair), the search and its bounds (search), ways around a lock (way), ways around a rule of any form (states),
// and the face (witness). Attack makes random updates for users' tests.
package witness
