package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// The parts of a verdict on a pair. The definitions fill it (definition.go), and record.go puts it into the report.

// verdict is the verdict on one pair, and the ways out of a refusal.
type verdict struct {
	result.Verdict
	replacement *result.Replacement // of the object, where there are violations
	edits       []string            // of the manifest, each of which is enough for one violation
	old         *manifest.Object    // what new was compared with
}

// unknownVerdict returns a verdict that only the cluster can decide, for a reason.
func unknownVerdict(path, message string) verdict {
	return verdict{Verdict: result.Verdict{Unknown: []result.Remark{{Path: path, Message: message}}}}
}

// addRemarks adds remarks that v does not have yet.
func (v *verdict) addRemarks(unknown, notes []result.Remark) {
	for _, u := range unknown {
		if !slices.Contains(v.Unknown, u) {
			v.Unknown = append(v.Unknown, u)
		}
	}
	for _, n := range notes {
		if !slices.Contains(v.Notes, n) {
			v.Notes = append(v.Notes, n)
		}
	}
}

// merge adds what another version or definition has found, without what v has already.
func (v *verdict) merge(violations []result.Violation) {
	type identity struct{ path, lock, rule, key, policy, message string }
	identify := func(b *result.Violation) identity {
		id := identity{b.Path, b.Lock, b.Rule, fmt.Sprint(b.Key.OK, b.Key), b.Policy, ""}
		if b.Policy != "" {
			id.message = b.Message // two failures of one policy have no rule
		}
		return id
	}
	known := make(map[identity]bool, len(v.Violations))
	for i := range v.Violations {
		known[identify(&v.Violations[i])] = true
	}
	for i := range violations {
		if !known[identify(&violations[i])] {
			v.Violations = append(v.Violations, violations[i])
		}
	}
}

// request is one request to update an object that both sides have.
type request struct {
	pair
	live    *Live           // what the cluster says, nil without one
	applier tool.Applier    // what is known about who applies new
	by      builtin.Applier // the form of the request; "" where a cluster has answered it
	advice  *Advice
}

// askCluster ends what only the cluster can decide.
func (r request) askCluster() string {
	if r.live != nil {
		return "; only a dry run on the cluster can decide"
	}
	return "; " + r.advice.AskCluster
}

// summary is a violation in one line.
func summary(v *result.Violation) string {
	if v.Path == "" {
		return v.Message
	}
	return v.Path + ": " + v.Message
}

// lockRule is the lock of violations of CEL rules that equal no lock.
const lockRule = string(kind.LockRule)

// value is a value that can be absent.
type value = result.Value

// sameValue reports whether two values are both absent, or equal.
func sameValue(a, b value) bool { return a.OK == b.OK && jsonvalue.Equal(a.Data, b.Data) }

// threeWay is the merge of Helm, which treats built-in kinds as kubectl's client-side apply does.
const threeWay = builtin.Applier(apply.ThreeWay)

// Ways that package builtin knows and does not name: the server-side apply of Flux, and an apply to what a cluster has.
const (
	fluxApply = builtin.Applier(apply.Flux)
	liveApply = builtin.Applier(apply.Live)
)

func isServerSide(by builtin.Applier) bool {
	return by == builtin.ApplierServerSide || by == fluxApply
}

// lockServer is the lock of refusals that no lock or rule explains.
const lockServer = "server"

// related reports whether one path leads to the other, or they are equal.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return fieldpath.Within(b, a)
}

// addServerSide adds a refusal that no lock or rule explains, unless v has a violation at the path or around it. edit
// avoids the refusal; it is "" where no edit does. Tools do not replace the object after such a refusal: the server's
// answer is an internal error, or it refuses a new object too.
func (v *verdict) addServerSide(at fieldpath.Path, message, edit string) {
	path := at.String()
	if slices.ContainsFunc(v.Violations,
		func(b result.Violation) bool { return b.Path != "" && related(b.Path, path) }) {
		return
	}
	refusal := result.Violation{Path: path, Steps: at, Lock: lockServer, Message: message, Unforced: true}
	v.Violations = append(v.Violations, refusal)
	if edit != "" {
		v.edits = append(v.edits, edit)
	}
}

// worse reports whether a replacement costs more than another one.
func worse(r, other *result.Replacement) bool {
	costs := result.Costs()
	return slices.Index(costs, r.Cost) > slices.Index(costs, other.Cost)
}

// harmless reports whether a replacement that the object asks for needs no acknowledgement.
func harmless(r *result.Replacement) bool {
	return r.Cost == result.CostNone || r.Cost == result.CostRestart || r.Cost == result.CostDowntime
}

// changeOf identifies the change that a violation is about: of the value at its path, or else of the whole object. The
// message counts where only the server knows its reason.
func changeOf(v *result.Violation, newObj, oldObj *manifest.Object) string {
	newVal, oldVal := v.New, v.Old
	if oldObj == nil {
		return kind.Digest(oldVal, newVal)
	}
	if !newVal.OK && !oldVal.OK {
		newVal, oldVal = kind.Correlate(nil, newObj.Value(), oldObj.Value(), v.Steps)
	}
	of := kind.Digest(oldVal, newVal)
	if len(v.Steps) == 0 || sameValue(newVal, oldVal) {
		of = kind.DigestObjects(newObj.Value(), oldObj.Value())
	}
	if v.Lock == lockServer {
		of = kind.Digest(value{Data: v.Message, OK: true}, value{Data: of, OK: true})
	}
	return of
}
