// Package kudo evaluates the parameters of KUDO operators: immutable parameters (KEP-30), forced pod restarts (KEP-27)
// and child operators that a parameter switches on and off (KEP-36).
//
// A webhook on Instances needs three calls:
//
//	version, err := kudo.OperatorVersionOf(object)        // decoded or typed, as the API server returns it
//	instance, err := kudo.ReadInstance(review.Request.Object.Raw)
//	admission := version.Admit(instance, oldInstance, oldVersion)
//
// [OperatorVersion.Admit] takes a value as given explicitly when the new Instance has it: that is all a webhook can
// see, and how KUDO itself decides. A command line knows what its user asks for in this very operation, so
// [OperatorVersion.Install], [OperatorVersion.Update] and [OperatorVersion.Upgrade] take the requested values apart
// from the current ones, and only the requested ones are explicit.
//
// Every evaluation starts with [OperatorVersion.Validate], since a definition that KUDO's verifier refuses may not mean
// what its author intended.
package kudo
