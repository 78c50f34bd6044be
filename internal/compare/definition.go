package compare

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// definition judges the updates of one kind by one source of what is known of it. All sources find the same:
// violations, remarks and what a replacement takes. They differ in what they compare, and in what a violation names
// besides:
//
//	object          known from           compared                               a violation names
//	Deployment      builtin.Kind         as the applier's request stores it     nothing more: the server refuses
//	Certificate     operators.Kind       with the defaults of the CRD, if any   the operator, its version and function
//	NodePool        crdfacts.Kind        as written                             the CRD that the row is from
//	Widget          a CRD                as stored, by the old and new version  the line of the lock or rule
//	a chart's values  a JSON Schema      with the defaults of values.yaml       the line of the lock or rule
type definition struct {
	isBuiltin bool
	// covers reports whether objects of an apiVersion can be judged; nil for all.
	covers func(apiVersion string) bool
	// find adds to v the violations and remarks of an update of an object that both sides have, in covered versions.
	find func(v *verdict, r request) error
	// replace returns the cost of replacing an object, and how. The violations of v can have ways out of their own.
	replace func(r request, v result.Verdict) *result.Replacement
}

// judge returns the verdict on an update of an object that both sides have.
func (d *definition) judge(r request) (verdict, error) {
	var v verdict
	if err := d.find(&v, r); err != nil {
		return v, err
	}
	switch {
	case !v.Refused():
	case len(v.Violations) == len(v.edits):
		v.replacement = &result.Replacement{Cost: result.CostNone, Message: "an edit is enough", How: v.edits}
	default:
		v.replacement = d.replace(r, v.Verdict)
		v.replacement.How = append(v.edits, v.replacement.How...)
	}
	return v, nil
}

// replacement returns the cost of replacing an object, and how.
func (d *definition) replacement(r request) *result.Replacement {
	return d.replace(r, result.Verdict{})
}

// inVersion reports whether objects of an apiVersion can be judged.
func (d *definition) inVersion(apiVersion string) bool {
	return d.covers == nil || d.covers(apiVersion)
}

// requested returns a replacement, with whether the object asks its tool for it.
func requested(is result.Replacement, r request) *result.Replacement {
	is.Must, is.Requested = true, r.applier.Requested(r.new.Document.Object, r.old.Value())
	return &is
}

// customReplacement returns the replacement of a custom resource; kind names its kind for kubectl.
func customReplacement(cost result.Cost, kind string, r request) *result.Replacement {
	how := []string{keepOldValues, recreate(kind, r.new)}
	return requested(result.Replacement{Cost: cost, Message: costMessages[cost], How: how}, r)
}

// costMessages explain the costs.
var costMessages = map[result.Cost]string{
	result.CostNone:     "nothing is lost when the object is deleted and created again",
	result.CostRestart:  "its work starts again when the object is deleted and created again",
	result.CostDowntime: "the object is missing until it is created again",
	result.CostData:     "deleting the object can lose data",
	result.CostCascade:  "deleting the object deletes other objects with it",
	result.CostUnknown:  "its controller decides what is lost when the object is deleted and created again",
}

// The ways out of a refusal by a schema.
const keepOldValues = "to avoid the replacement, keep the old values of the locked fields"

// recreate returns the command that deletes an object of a kind and creates it as NEW has it.
func recreate(kind string, o *manifest.Object) string {
	return fmt.Sprintf("kubectl delete %s %s && %s", shell.Quote(kind), kubectlName(o), tool.KubectlApply)
}

// addFound adds to v the objections of a schema to an update. complete adds the source's own fields to a violation. The
// error is that the CEL rules cannot be run.
func (v *verdict) addFound(r request, d *kind.Definition, u kind.Update, complete func(*result.Violation)) error {
	found, more, err := d.Find(u)
	if err != nil {
		return err
	}
	var violations []result.Violation
	for i := range found {
		f := &found[i]
		if f.Open != "" {
			v.Unknown = append(v.Unknown, result.Remark{Path: f.Path, Message: f.Open + r.askCluster()})
			continue
		}
		complete(&f.Violation)
		violations = append(violations, f.Violation)
	}
	v.merge(violations)
	v.MoreViolations += more
	return nil
}

// addRows adds to v the verdict of a kind that is known from data; who begins each remark, and complete adds the
// source's own fields to a violation.
func (v *verdict) addRows(judged result.Verdict, r request, who string, complete func(*result.Violation)) {
	v.Unknown, v.Notes = r.open(judged.Unknown, who), remarks(judged.Notes, who)
	v.Violations = judged.Violations
	for i := range v.Violations {
		violation := &v.Violations[i]
		violation.Change = changeOf(violation, r.new, r.old)
		complete(violation)
	}
}

// rowsReplacement returns the replacement of an object that is known from data. An edit that one of the rows knows
// makes it unnecessary.
func rowsReplacement(is result.Replacement, v result.Verdict, r request) *result.Replacement {
	re := requested(is, r)
	re.Must = !slices.ContainsFunc(v.Violations, func(found result.Violation) bool { return found.WaysOut.Edit != "" })
	return re
}

// open returns the questions that the rows of a kind leave open; who begins each sentence.
func (r request) open(list []result.Remark, who string) []result.Remark {
	all := remarks(list, who)
	for i := range all {
		all[i].Message += r.askCluster()
	}
	return all
}

// remarks returns the remarks of the rows of a kind; who begins each sentence.
func remarks(list []result.Remark, who string) []result.Remark {
	var all []result.Remark
	for _, r := range list {
		all = append(all, result.Remark{Path: r.Path, Message: who + r.Message})
	}
	return all
}

// placed returns the manifest of an object as commands name it: with the namespace that it goes to, and placeholders.
func placed(o *manifest.Object, namespace string) map[string]any {
	metadata, ok := o.Document.Object["metadata"].(map[string]any)
	isPlaced := namespace == "" || metadata["namespace"] == namespace
	if !ok || isPlaced && o.Called() == o.Name {
		return o.Document.Object
	}
	object, metadata := maps.Clone(o.Document.Object), maps.Clone(metadata)
	object["metadata"] = metadata
	if metadata["name"] = o.Called(); !isPlaced {
		metadata["namespace"] = namespace
	}
	return object
}

// kubectlName returns the arguments that name an object for kubectl.
func kubectlName(o *manifest.Object) string {
	if o.Place() == "" {
		return shell.Quote(o.Called())
	}
	return shell.Quote(o.Called()) + " --namespace " + shell.Quote(o.Place())
}
