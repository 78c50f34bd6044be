// Package compare checks one set of Kubernetes objects against an older one: it pairs the objects, finds the schemas
// that cover them, and reports every change that an API server would refuse.
//
//	report, err := compare.Check(compare.Input{Old: oldFiles, New: newFiles}, compare.Options{})
//
// It has no flags, reads no files and prints nothing, so it also runs in a browser. Package manifest makes its input,
// and the command's package report prints its Report.
//
// A check has three steps. For a Widget whose CRD locks spec.class:
//
//	pair    OLD dev/a.yaml {class: x}  with  NEW dev/a.yaml {class: y}
//	judge   the definition of Widget refuses the update: spec.class is immutable
//	record  dev/a.yaml:5: spec.class: is immutable; ways out: keep the old value, or replace the object
//
// The chapters, each of which uses only those below it:
//
//	compare          Check: the steps in order
//	merge_bases      two reports of one change, compared with two merge bases
//	caveats          warnings about the check as a whole
//	record           verdicts become entries of the report
//	accepted         accepted violations
//	deletion         objects that NEW no longer has
//	complete         whether everything that changed was checked
//	judge_groups     the verdicts on all pairs, and on objects with several possible predecessors
//	judge            the verdict on one pair
//	applier          the requests that tools send, and where their verdicts differ
//	policies         admission policies
//	replacement      the cost of replacing a refused object, and how its tool does it
//	partial          objects that lack required fields
//	checker          the state of a run
//	moved            objects that move to another version
//	identity         the group and the namespace that an object has on a server
//	kinds            the definitions of each kind, from all sources
//	data             built-in kinds, operators, and transition rules of CRDs that are not at hand
//	openapi          OpenAPI documents and JSON Schemas
//	custom           custom resources, judged by a CRD
//	applied          the object that an apply of a custom resource stores
//	serverside       refusals of server-side applies
//	configconnector  locks and notes in the descriptions of a CRD
//	crd              a CRD compiled, and objects as a server stores them by it
//	validity         mistakes that the server finds in an object
//	described        the sentences in descriptions
//	definition       the one way in which all sources of a kind judge
//	redaction        values that no report prints
//	live             the answer of a cluster
//	unknown_values   values that the files do not have
//	verdict          the parts of a verdict
//	report           the report
//	pair             which object of OLD is the earlier state of which object of NEW
//	input            objects, schemas and options
package compare
