// Package celrun runs the CEL rules of a schema (x-kubernetes-validations) with the API server's own validator, as an
// update or create of a custom resource does: with its cost limits, messageExpression, fieldPath, reason, optionalOldSelf
// and ratcheting. It says which rule each error comes from, which the server's errors do not.
//
// It does not check that objects fit the schema: an API server runs no rule on an object with the wrong types, and so
// callers with objects of unknown origin validate these first.
package celrun
