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

// The answer of a cluster. In a check of manifests against a cluster, OLD is what the cluster has, and the API server
// has answered a dry run. Its answer decides what the manifests leave open:
//
//	refused  spec.x: field is immutable   explained by a violation at spec.x, or else a violation itself
//	accepted                              no verdict is unknown, and a lock that only a webhook enforces is a note

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

// addAnswer completes what was found out about an object of a cluster by the answer of its API server.
func (v *verdict) addAnswer(l *Live) {
	v.excuseUnenforced(l)
	v.addServer(l)
	if l.Accepted {
		v.Unknown = nil // the cluster has decided
	}
	v.Unknown = slices.DeleteFunc(v.Unknown, func(r result.Remark) bool {
		return slices.ContainsFunc(v.Violations, func(b result.Violation) bool {
			return related(b.Path, r.Path) || b.Lock == lockServer && b.Path == ""
		})
	})
}

// excuseUnenforced makes notes of the locks that nothing in the cluster enforces: those of a CRD, whose keys the API
// server does not know and drops, or keeps in an annotation, and those of an operator's webhook that is not there. CEL
// rules are its own.
func (v *verdict) excuseUnenforced(l *Live) {
	why := "no webhook or policy of the cluster looks at updates of the kind"
	if l.Accepted {
		why = "the API server accepts the change in a dry run"
	} else if !l.Unguarded {
		return
	}
	v.Violations = slices.DeleteFunc(v.Violations, func(b result.Violation) bool {
		unenforced := (isKey(&b) || b.EnforcedBy != "") && !slices.ContainsFunc(l.Refusals, func(r ServerRefusal) bool {
			return explains(&b, r)
		})
		if unenforced {
			v.Notes = append(v.Notes, result.Remark{Path: b.Path,
				Message: fmt.Sprintf("not enforced there: %s (%s), but %s", b.Message, b.Lock, why)})
		}
		return unenforced
	})
	if len(v.Violations) == 0 {
		v.replacement = nil
	}
}

// isKey reports whether a key in the schema of a CRD locks the field, and not a CEL rule, a policy or the server's own
// code.
func isKey(v *result.Violation) bool { return v.LockFile != "" && v.Rule == "" && v.Policy == "" }

// addServer adds the refusals of a dry run that v does not explain: no violation is at, above or below their field.
func (v *verdict) addServer(l *Live) {
	own := v.Violations
	for _, r := range l.Refusals {
		if !slices.ContainsFunc(own, func(b result.Violation) bool { return explains(&b, r) }) {
			at := fieldpath.Resolve(r.Path, l.New, l.Old.Object)
			refusal := result.Violation{Path: r.Path, Steps: at, Lock: lockServer, Message: r.Message}
			v.Violations = append(v.Violations, refusal)
		}
	}
	slices.SortStableFunc(v.Violations, func(a, b result.Violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	if len(own) == 0 && len(v.Violations) > 0 {
		v.replacement = &result.Replacement{
			Message: "the API server refuses the change for a reason that is in none of the schemas",
			How: []string{"change the field that the server's message names; a new object may be refused for the " +
				"same reason"},
		}
	}
}

// explains reports whether the server has refused the update for a violation.
func explains(v *result.Violation, r ServerRefusal) bool {
	if v.Path == "" || r.Path == "" {
		return strings.Contains(r.Message, v.Message)
	}
	// The server names the list that mirrors a field, such as clusterIPs for clusterIP.
	return related(v.Path, r.Path) || related(v.Path+"s", r.Path)
}
