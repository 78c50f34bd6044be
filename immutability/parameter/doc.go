// Package parameter holds what the parameters of KUDO operators and of Heat stacks have in common: values, changes
// of values, and refusals. The evaluators are in its subpackages, each in the words of its own system:
//
//   - Package kudo: immutable parameters (KEP-30), forcePodRestart (KEP-27) and enablingParameter (KEP-36).
//   - Package heat: updatable parameters of Heat Orchestration Templates.
//
// An evaluator is a pure function of definitions, current values and requested values. It answers with a [Decision],
// before anything is done. It reports every refusal, sorted by parameter, and a refusal leaves the current values as
// they are. What it cannot read or compare, it refuses. Evaluators are safe for concurrent use; they neither change nor
// keep their inputs. They render no templates and run no plans.
package parameter
