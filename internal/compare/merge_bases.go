package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
)

// Two branches that were merged into each other have several merge bases, and the cluster need not have the objects of
// any single one. Each is compared with NEW. For example, a field that one base has as "a", and the other one and NEW
// as "b", was changed by a commit that is merged already: only the first comparison refuses it, and it does not count.

// AgainstBase keeps the refusals that a comparison of the same NEW with another merge base shows, too. What one of the
// two comparisons could not check is not checked. base names the other one in messages.
func (r *Report) AgainstBase(base string, other *Report) {
	if r.MoreViolations+other.MoreViolations == 0 {
		r.dropViolations(base, other)
	}
	r.Unknown = union(r.Unknown, other.Unknown,
		func(u result.Remark) any { return [3]string{u.Kind, u.Object, u.Path} })
	r.NotCovered = union(r.NotCovered, other.NotCovered, func(n result.NotCovered) any {
		return result.NotCovered{Unit: n.Unit, Kind: n.Kind, Changed: n.Changed}
	})
	r.SkippedKinds = union(r.SkippedKinds, other.SkippedKinds,
		func(k result.KindCount) any { return [3]any{k.APIVersion, k.Kind, k.Changed > 0} })
	r.UncheckedKinds = union(r.UncheckedKinds, other.UncheckedKinds,
		func(k result.KindCount) any { return [3]any{k.APIVersion, k.Kind, k.Changed > 0} })
	r.Errors = union(r.Errors, other.Errors, func(e Error) any { return e.Text })
	r.finish(r.Strict)
}

// dropViolations drops the violations that the other report does not have.
func (r *Report) dropViolations(base string, other *Report) {
	type refusal struct{ kind, object, path, lock, rule, policy string }
	of := func(v result.Violation) refusal { return refusal{v.Kind, v.Object, v.Path, v.Lock, v.Rule, v.Policy} }
	shown, refused := map[refusal]bool{}, map[[2]string]bool{}
	for _, v := range other.Violations {
		shown[of(v)] = true
	}
	before := len(r.Violations)
	r.Violations = slices.DeleteFunc(r.Violations, func(v result.Violation) bool { return !shown[of(v)] })
	for _, v := range r.Violations {
		refused[[2]string{v.Kind, v.Object}] = true
	}
	r.Replacements = slices.DeleteFunc(r.Replacements,
		func(x result.Replacement) bool { return !refused[[2]string{x.Kind, x.Object}] })
	if dropped := before - len(r.Violations); dropped > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("violations that do not count, since a comparison with the merge "+
			"base %s does not show them: %d", base, dropped))
	}
}

// union returns a list with the items of another one that it lacks.
func union[T any](list, other []T, key func(T) any) []T {
	has := map[any]bool{}
	for _, item := range list {
		has[key(item)] = true
	}
	for _, item := range other {
		if !has[key(item)] {
			list = append(list, item)
		}
	}
	return list
}
