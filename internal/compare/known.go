package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

var _ definition = (*knownKind)(nil)

// knownKind judges objects by what is known of their kind without a schema: a built-in kind, an operator's, or one whose CRD is
// not at hand. All three answer with the verdict of package builtin; the rest differs a little:
//
//	kind            check                    remarks begin with    a violation names
//	Deployment      CheckBy, by the applier                        nothing more: the server refuses
//	Certificate     Check, with the CRD's    "cert-manager: "      the operator, its version and function
//	                defaults
//	NodePool        Check                                          the CRD that the row is from
type knownKind struct {
	isBuiltin bool
	inVersion func(apiVersion string) bool // nil for every version
	check     func(r request) (builtin.Verdict, error)
	who       string                                                      // begins each remark
	complete  func(v *Violation, found *builtin.Violation, r request)     // says who refuses, and hides what is not shown; nil for nothing
	replace   func(r request, judged builtin.Verdict) builtin.Replacement // Requested is added
}

func (k *knownKind) covers(apiVersion string) bool {
	return k.inVersion == nil || k.inVersion(apiVersion)
}

func (k *knownKind) judge(r request) (verdict, error) {
	judged, err := k.check(r)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{unknown: remarks(judged.Unknown, k.who), notes: remarks(judged.Notes, k.who)}
	for i := range judged.Violations {
		violation := builtinViolation(&judged.Violations[i], r)
		if k.complete != nil {
			k.complete(&violation, &judged.Violations[i], r)
		}
		v.violations = append(v.violations, violation)
	}
	if len(v.violations) > 0 {
		v.replacement = k.replacementFor(r, judged)
	}
	return v, nil
}

func (k *knownKind) replacement(r request) *Replacement {
	return k.replacementFor(r, builtin.Verdict{})
}

// replacementFor returns the replacement of an object. An edit that one of the rows knows makes it unnecessary.
func (k *knownKind) replacementFor(r request, judged builtin.Verdict) *Replacement {
	is := k.replace(r, judged)
	must := !slices.ContainsFunc(judged.Violations, func(v builtin.Violation) bool { return v.Row.Edit != "" })
	return &Replacement{Cost: string(is.Cost), Message: is.Message, How: is.How, Must: must, Requested: r.applier.Requested(r.new.Document.Object, r.old.Value())}
}

// remarks returns what the rows of a kind remark; who begins each sentence.
func remarks(list []builtin.Remark, who string) []Remark {
	var all []Remark
	for _, r := range list {
		all = append(all, Remark{Path: r.Path, Message: who + r.Message})
	}
	return all
}

// builtinViolation returns what a row refuses, with its message.
func builtinViolation(found *builtin.Violation, r request) Violation {
	v := newViolation(&found.Broken, found.Path, fieldpath.Resolve(found.Path, r.new.Value(), r.old.Value()))
	v.Rule, v.Message = cmp.Or(found.Row.Rule, found.Row.Means), found.Message
	v.Change = v.change(r.new, r.old)
	return v
}

// hide drops the values of a violation of a password.
func (v *Violation) hide() {
	v.old, v.new, v.key, v.Differences, v.Redacted = value{}, value{}, value{}, nil, true
}

// placed returns the manifest of an object with the namespace that it goes to.
func placed(o *manifest.Object, namespace string) map[string]any {
	metadata, ok := o.Document.Object["metadata"].(map[string]any)
	if !ok || namespace == "" || metadata["namespace"] == namespace {
		return o.Document.Object
	}
	object, metadata := maps.Clone(o.Document.Object), maps.Clone(metadata)
	metadata["namespace"], object["metadata"] = namespace, metadata
	return object
}
