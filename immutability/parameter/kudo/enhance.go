package kudo

import (
	"fmt"
	"maps"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// The labels and annotations that KUDO writes.
const (
	labelHeritage = "heritage"
	labelOperator = "kudo.dev/operator"
	labelInstance = "kudo.dev/instance"

	annotationPlan            = "kudo.dev/plan"
	annotationPhase           = "kudo.dev/phase"
	annotationStep            = "kudo.dev/step"
	annotationOperatorVersion = "kudo.dev/operator-version"
	annotationPlanUID         = "kudo.dev/last-plan-execution-uid"
)

// Enhancement marks the objects that one step of a plan writes (KEP-27). The operator and the instance never change,
// so they are labels everywhere. Plan, phase, step and version change with every run, so they are annotations of the
// object itself only. A new plan UID in a template restarts its pods, so it is written only when a restart is due.
type Enhancement struct {
	Operator, Instance         string
	OperatorVersion            string
	Plan, Phase, Step, PlanUID string

	// Restart is whether a restart of the pods is due: [Admission.Restarts] is not empty, or the instance is new.
	Restart bool
}

// The nested templates of an object.
var (
	labelPaths = [][]string{
		{"spec", "template"},
		{"spec", "volumeClaimTemplates[]"},
		{"spec", "jobTemplate"},
		{"spec", "jobTemplate", "spec", "template"},
	}
	restartPaths = [][]string{
		{"spec", "template"},
		{"spec", "jobTemplate"},
		{"spec", "jobTemplate", "spec", "template"},
	}
)

// Apply returns object with the marks. Live is the object as it is in the cluster, or nil. When no
// restart is due, Apply keeps the plan UIDs of the live templates, since leaving them out of a newly rendered object
// would restart the pods just like a new UID. It adds no templates, so objects of any kind can be given. The inputs are
// not changed; the result shares the unmarked parts of object. The error names metadata, labels or annotations that are
// not mappings.
func (e Enhancement) Apply(object, live map[string]any) (map[string]any, error) {
	labels := map[string]string{labelHeritage: "kudo", labelOperator: e.Operator, labelInstance: e.Instance}
	annotations := map[string]string{
		annotationPlan: e.Plan, annotationPhase: e.Phase, annotationStep: e.Step, annotationOperatorVersion: e.OperatorVersion,
	}
	out, err := mark(object, "labels", labels)
	if err != nil {
		return nil, err
	}
	if out, err = mark(out, "annotations", annotations); err != nil {
		return nil, err
	}
	for _, path := range labelPaths {
		if out, err = markAt(out, path, "labels", labels); err != nil {
			return nil, err
		}
	}
	for _, path := range restartPaths {
		uid := e.PlanUID
		if !e.Restart {
			uid = planUID(live, path)
		}
		if uid == "" {
			continue
		}
		if out, err = markAt(out, path, "annotations", map[string]string{annotationPlanUID: uid}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// markAt returns object with the entries in the metadata of the mapping at path, if there is one. A last step that
// ends in [] means each item of a list.
func markAt(object map[string]any, path []string, field string, entries map[string]string) (map[string]any, error) {
	if len(path) == 0 {
		return mark(object, field, entries)
	}
	step := path[0]
	if list := len(step) - len("[]"); list > 0 && step[list:] == "[]" {
		step = step[:list]
		items, ok := object[step].([]any)
		if !ok {
			return object, nil
		}
		marked := make([]any, len(items))
		for i, item := range items {
			marked[i] = item
			if item, ok := item.(map[string]any); ok {
				out, err := markAt(item, path[1:], field, entries)
				if err != nil {
					return nil, fmt.Errorf("%s[%d].%w", step, i, err)
				}
				marked[i] = out
			}
		}
		return with(object, step, marked), nil
	}
	child, ok := object[step].(map[string]any)
	if !ok {
		return object, nil
	}
	marked, err := markAt(child, path[1:], field, entries)
	if err != nil {
		return nil, fmt.Errorf("%s.%w", step, err)
	}
	return with(object, step, marked), nil
}

// mark returns object with the entries in metadata.<field>.
func mark(object map[string]any, field string, entries map[string]string) (map[string]any, error) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok && object["metadata"] != nil {
		return nil, fmt.Errorf("metadata is %s: it should be a mapping", yamldoc.Describe(object["metadata"]))
	}
	present, ok := metadata[field].(map[string]any)
	if !ok && metadata[field] != nil {
		return nil, fmt.Errorf("metadata.%s is %s: it should be a mapping", field, yamldoc.Describe(metadata[field]))
	}
	marked := make(map[string]any, len(present)+len(entries))
	maps.Copy(marked, present)
	for key, value := range entries {
		marked[key] = value
	}
	return with(object, "metadata", with(metadata, field, marked)), nil
}

// with returns a copy of object in which key has value.
func with(object map[string]any, key string, value any) map[string]any {
	out := make(map[string]any, len(object)+1)
	maps.Copy(out, object)
	out[key] = value
	return out
}

// planUID returns the plan UID in the template of object at path, or "".
func planUID(object map[string]any, path []string) string {
	for _, step := range append(append([]string{}, path...), "metadata", "annotations") {
		object, _ = object[step].(map[string]any)
	}
	uid, _ := object[annotationPlanUID].(string)
	return uid
}
