// Package celrule translates between locks and the CEL transition rules of custom resource definitions, and audits such
// rules.
//
// Export says locks in CEL, so that a stock API server enforces them. Import reads transition rules as locks. Lint names
// the updates that get around a transition rule. All three rest on one judgement: whether CEL and a lock give the same
// verdict for every update from one valid object to another. Where they do not, nothing is translated, and the report
// says why.
//
// Valid objects are those that an API server stores for the schema: pruned, defaulted, without null where the schema is
// not nullable, without duplicates in sets and keyed lists. Both old and new object are valid.
//
// The package knows nothing of CRD documents: it works on one schema, and its results are changes at schema paths,
// JSON pointers from the root of the schema.
package celrule
