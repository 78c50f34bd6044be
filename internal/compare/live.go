package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Live is one object as a cluster stores it, and as the cluster would store it after an apply of the manifest.
type Live struct {
	// Old is the object in the cluster, nil where it has none.
	Old *yamldoc.Document
	// New is the object after an apply of the manifest.
	New map[string]any
	// Accepted is set where the API server accepts the apply in a dry run; Refusals are its answer where it does not. Neither
	// is set where it was not asked.
	Accepted bool
	Refusals []ServerRefusal
	// Unguarded is set where no webhook or policy of the cluster looks at updates of the kind.
	Unguarded bool
	// Unread is set for an object that could not be read: whether the cluster has it is not known.
	Unread bool
}

// livePairs pairs the objects with those of a cluster, except those that could not be read.
func livePairs(news []*manifest.Object, live map[*yamldoc.Document]Live) []pair {
	pairs := make([]pair, 0, len(news))
	for _, o := range news {
		l := live[o.Document]
		if l.Unread {
			continue
		}
		p := pair{new: o}
		if l.Old != nil {
			o.Stored = l.New
			p.old = &manifest.Object{ID: o.ID, APIVersion: o.APIVersion, Document: l.Old}
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// ServerRefusal is a reason for which the API server refused a dry run of an object. Path is "" where it names none.
type ServerRefusal struct{ Path, Message string }

// lockServer is the lock of refusals that no lock or rule explains.
const lockServer = "server"

// addAnswer completes what was found out about an object of a cluster by the answer of its API server.
func (v *verdict) addAnswer(l *Live) {
	v.excuseUnenforced(l)
	v.addServer(l)
	if l.Accepted {
		v.unknown = nil // the cluster has decided
	}
	for i := range v.unknown {
		if rest, open := strings.CutSuffix(v.unknown[i].Message, askCluster); open {
			v.unknown[i].Message = rest + "; only a dry run on the cluster tells"
		}
	}
	v.unknown = slices.DeleteFunc(v.unknown, func(r result.Remark) bool {
		return slices.ContainsFunc(v.violations, func(b violation) bool {
			return related(b.Path, r.Path) || b.Lock == lockServer && b.Path == ""
		})
	})
}

// excuseUnenforced makes notes of the locks that nothing in the cluster enforces: those of a CRD, whose keys the API server does
// not know and drops, or keeps in an annotation, and those of an operator's webhook that is not there. CEL rules are its own.
func (v *verdict) excuseUnenforced(l *Live) {
	why := "no webhook or policy of the cluster looks at updates of the kind"
	if l.Accepted {
		why = "the API server accepts the change in a dry run"
	} else if !l.Unguarded {
		return
	}
	v.violations = slices.DeleteFunc(v.violations, func(b violation) bool {
		unenforced := (b.isKey() || b.EnforcedBy != "") && !slices.ContainsFunc(l.Refusals, b.explains)
		if unenforced {
			v.notes = append(v.notes, result.Remark{Path: b.Path, Message: fmt.Sprintf("not enforced there: %s (%s), but %s", b.Message, b.Lock, why)})
		}
		return unenforced
	})
	if len(v.violations) == 0 {
		v.replacement = nil
	}
}

// isKey reports whether a key in the schema of a CRD locks the field, and not a CEL rule, a policy or the server's own code.
func (v *violation) isKey() bool { return v.LockFile != "" && v.Rule == "" && v.Policy == "" }

// addServer adds the refusals of a dry run that v does not explain: no violation is at, above or below their field.
func (v *verdict) addServer(l *Live) {
	own := v.violations
	for _, r := range l.Refusals {
		if !slices.ContainsFunc(own, func(b violation) bool { return b.explains(r) }) {
			at := fieldpath.Resolve(r.Path, l.New, l.Old.Object)
			refusal := result.Violation{Path: r.Path, Lock: lockServer, Message: r.Message}
			v.violations = append(v.violations, violation{Violation: refusal, at: at})
		}
	}
	slices.SortStableFunc(v.violations, func(a, b violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	if len(own) == 0 && len(v.violations) > 0 {
		v.replacement = &result.Replacement{
			Message: "the API server refuses the change for a reason that is in none of the schemas",
			How:     []string{"change the field that the server's message names; a new object may be refused for the same reason"},
		}
	}
}

// explains reports whether the server has refused the update for this violation.
func (v *violation) explains(r ServerRefusal) bool {
	if v.Path == "" || r.Path == "" {
		return strings.Contains(r.Message, v.Message)
	}
	// The server names the list that mirrors a field, such as clusterIPs for clusterIP.
	return related(v.Path, r.Path) || related(v.Path+"s", r.Path)
}

// related reports whether one path leads to the other, or they are equal.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return fieldpath.Within(b, a)
}
