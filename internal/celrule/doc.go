// Package celrule understands the CEL transition rules of custom resource definitions without any objects. It
// translates locks to rules and rules to locks, and knows the places where updates may get around rules. Package
// immutability/celrule is its public face.
//
// Locks and rules are translated by one table of forms, which is read in both directions. An Audit only suspects:
// objects show whether there is a way around a rule (package witness, which package audit asks).
//
// Valid objects are those that an API server stores for the schema: pruned, defaulted, without null where the schema is
// not nullable, without duplicates in sets and keyed lists, and accepted by the plain rules, those without oldSelf.
// Both objects of an update are valid.
//
// The package works on the schema of one version and does not read CRD documents. Its results are changes at schema
// paths, JSON pointers from the root of the schema.
//
// The chapters in reading order. Rules and what they read:
//
//	rule        the rules of a schema, the fields that they read, and the locations where locks and CEL differ
//	term        the fields that a rule selects from self and oldSelf, and the constants that it compares them with
//	equality    where CEL's == on values of a schema is the equality of a lock
//
// From rules to locks and back:
//
//	forms       the table of forms: what a rule says of a lock, and the locks that a rule says
//	import      all rules of a schema as locks
//	export      locks as rules, and as validations of a ValidatingAdmissionPolicy: which ones, and where they stand
//	spell       a form as CEL, from the location of the rule down to the lock, for rules and policies
//	cost        what the API server's estimator says of a rule's cost, and the limits that would lower it
//
// Ways around rules:
//
//	holes       an Audit: where updates may get around the rules of one version, and the findings about what objects show
//	single      suspicions about one rule: it refuses nothing, no first status, or not what two updates come to
//	versions    ways around rules through another version of the CRD, and rules that an update of it drops or weakens
//	meant       what the author of a rule or schema allows, which is no hole to close
//	fix         rules that close a hole, what they refuse from then on, and whether a tool may add them
//	zero        the same for values that Go clients leave out
//	formula     conditions of rules and their negations, as a fix spells them
package celrule
