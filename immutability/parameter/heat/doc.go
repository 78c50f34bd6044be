// Package heat evaluates the parameters of OpenStack Heat stacks, with parameters that are not updatable: the proposal
// "Immutable Parameters", and the shipped Heat where the proposal is silent.
//
// [Template.Create], [Template.Update] and [Template.Patch] preview what Heat would do with a stack, before it starts. A
// parameter that is not updatable (updatable: false, or the shipped spelling immutable: true) may not change its
// effective value, compared after conversion to its type.
package heat
