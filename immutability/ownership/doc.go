// Package ownership names the field managers that own a field, so that a refusal can say whose field it is:
// "field is immutable; last applied by kubectl-client-side-apply".
//
// It reads metadata.managedFields of an object and needs no schema: the items of a list are found by the keys, values
// and indices that the managed fields themselves contain. What it says is for people. It decides nothing, so a
// manager that cannot be read is left out and never changes a verdict.
package ownership
