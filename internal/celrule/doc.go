// Package celrule translates between locks and the CEL transition rules of custom resource definitions, and audits such
// rules.
//
// Export writes locks as CEL rules, so that a stock API server enforces them. Import reads transition rules as locks.
// Holes and Lint find the updates that get around transition rules. All three need one judgement: the verdict of a rule on an
// update of which only some facts are known. Import asks it for every kind of update that the fields of one rule allow,
// and translates a rule only if locks give the same verdict each time. The audit asks it for objects that it makes up
// fact by fact, until all rules agree with a way around one of them or none is left.
//
// Valid objects are those that an API server stores for the schema: pruned, defaulted, without null where the schema is
// not nullable, without duplicates in sets and keyed lists, accepted by the rules without oldSelf. Both old and new
// object are valid.
//
// A further form of CEL begins in forms.go, which gives the verdict of an expression on a world of which some facts are
// unknown.
//
// The package does not read CRD documents: it works on one schema, and its results are changes at schema paths, JSON
// pointers from the root of the schema.
//
// Its files, from the bottom to the top; a file uses only files above it in this list:
//
//	expr, conjuncts, name, literal          CEL expressions as text and trees
//	equality, rule, tree, keys              schemas with their rules, and how CEL compares their values
//	term, outcome, world                    what a rule can ask
//	fields, order, match, quantifier, evaluate   evaluation with unknowns
//	chain, state, candidate, change, apply, equivalent   rules as locks
//	bound, cost, wording, export, policy    locks as rules
//	domain, scenario, step, search, demand, conditions   objects made up fact by fact
//	relevant, index, needless, import   rules as locks, or as nothing
//	fix, hole, effort, dead, audit, versions   the audit
package celrule
