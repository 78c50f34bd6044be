// Package parameter decides what may happen to the parameters of an operator or a stack: it reads their definitions
// and evaluates an install, an update or an upgrade before anything is done.
//
// It speaks four proposals of two systems:
//
//   - KUDO immutable parameters (KEP-30): [Definitions.Validate], [Definitions.Install], [Definitions.Update] and
//     [Definitions.Upgrade].
//   - KUDO forcePodRestart (KEP-27): [Plan.Restarts] names the changed parameters that restart the pods, and
//     [Enhancement] marks the objects that a plan writes.
//   - KUDO enablingParameter (KEP-36): [Task], and [Plan.Children] for which child instances are there afterwards.
//   - Heat updatable parameters: [Template.Install] and [Template.Update].
//
// The evaluators are pure functions of definitions, stored values and requested values. They report every refusal,
// sorted by parameter, and on a refusal the resulting values are the stored ones. What they cannot read or compare
// they refuse. They are safe for concurrent use, and no input is changed or kept.
//
// The package is no templating engine and no controller: it renders no template, runs no plan and reads no package.
package parameter
