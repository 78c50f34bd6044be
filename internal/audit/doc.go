// Package audit joins what the packages below it find in CRDs: mistakes and escape hatches of locks (package crd) and of
// CEL transition rules (package celrule). It also lists what is locked, with the holes.
package audit
