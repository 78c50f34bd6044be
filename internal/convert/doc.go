// Package convert rewrites files of CRDs: locks become CEL rules, policies or an annotation, and CEL rules become locks.
// What it does not change keeps its order, its comments and its spelling.
package convert
