package kudo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Install evaluates the installation of an Instance with the requested values; a null counts as not given. Defaults of
// immutable parameters are copied into the Instance, so that a later default cannot change them. An immutable or
// required parameter needs a value or a default (KEP-30, Installation).
func (v *OperatorVersion) Install(requested parameter.Values) Admission {
	v = v.orZero()
	e := newEvaluation(v, &OperatorVersion{read: true}, requested, nil)
	e.install = true
	e.request()
	for i := range v.Parameters {
		p := &v.Parameters[i]
		if _, ok := e.next[p.Name]; p.Immutable && !ok && !p.Default.IsNull() {
			e.next[p.Name] = parameter.Text(p.Default.Text)
		}
	}
	return e.finish()
}

// Update evaluates new values for an Instance that stays at its OperatorVersion. Requested values replace current
// ones, and a null removes one. The whole update is refused when the effective text of an immutable parameter changes
// (KEP-30, Updates). A removal that would only remove the copy of the same default is ignored, since the copy protects
// the value from later defaults.
func (v *OperatorVersion) Update(requested, current parameter.Values) Admission {
	v = v.orZero()
	e := newEvaluation(v, v, requested, current)
	e.refuseUnknown()
	e.request()
	e.checkImmutable()
	return e.finish()
}

// Upgrade evaluates the upgrade of an Instance from old to v (KEP-30, Upgrades). A parameter that becomes immutable,
// and a new immutable one, needs a value among the requested ones. An immutable parameter keeps its value when only its
// default changes. Values of removed parameters are removed. A changed parameter may trigger only the plan deploy, as
// in the shipped KUDO, unless the upgrade makes it mutable. Without old the Instance stays at v.
func (v *OperatorVersion) Upgrade(requested parameter.Values, old *OperatorVersion,
	current parameter.Values) Admission {
	if old == nil {
		return v.Update(requested, current)
	}
	e := newEvaluation(v.orZero(), old, requested, current)
	e.upgrade = true
	e.refuseUnknown()
	for name := range e.next {
		if e.index[name] == nil {
			delete(e.next, name)
		}
	}
	e.request()
	e.keepDefaults()
	e.checkImmutable()
	return e.finish()
}

// evaluation is one run of an evaluator.
type evaluation struct {
	install, upgrade   bool
	version, old       *OperatorVersion
	index, oldIndex    map[string]*Parameter
	requested, current parameter.Values
	next               parameter.Values // what would be stored, requested values as they came
	refusals           parameter.Refusals
}

func newEvaluation(version, old *OperatorVersion, requested, current parameter.Values) *evaluation {
	e := &evaluation{version: version, old: old, requested: requested, current: current,
		next: parameter.FromTexts(current.Texts())}
	e.index = version.index()
	if e.oldIndex = e.index; old != version {
		e.oldIndex = old.index()
	}
	e.refusals = version.validateParameters()
	if old.undefined() && !version.undefined() {
		refuse.Add(&e.refusals, "", refuse.Definition, "the old version: %s", noOperator)
	}
	return e
}

// refuseUnknown refuses current values that neither version defines.
func (e *evaluation) refuseUnknown() {
	for name := range e.current { // in any order: finish sorts the refusals
		if e.index[name] == nil && e.oldIndex[name] == nil {
			refuse.Add(&e.refusals, name, refuse.Unknown, "has a current value and is not defined")
		}
	}
}

// request lays the requested values over the next ones.
func (e *evaluation) request() {
	for name, value := range e.requested { // in any order: finish sorts the refusals
		defined, wasDefined := e.index[name] != nil, e.oldIndex[name] != nil
		switch {
		case defined && value.IsNull():
			delete(e.next, name)
		case defined:
			e.next[name] = value
		case wasDefined && value.IsNull() && !e.current[name].IsNull(): // the upgrade removes it anyway
		case wasDefined:
			refuse.Add(&e.refusals, name, refuse.Unknown,
				"is no longer defined: leave it out, and its value is removed")
		case !e.current[name].IsNull(): // refuseUnknown has refused it
		default:
			refuse.Add(&e.refusals, name, refuse.Unknown, "is not defined")
		}
	}
}

// keepDefaults stores the old default of parameters that were immutable and had no stored copy of it, where the new
// definitions have another default: the value stays.
func (e *evaluation) keepDefaults() {
	for i := range e.old.Parameters {
		was := &e.old.Parameters[i]
		p := e.index[was.Name]
		if p == nil || !was.Immutable || was.Default.IsNull() {
			continue
		}
		_, requested := e.requested[was.Name]
		same := !p.Default.IsNull() && p.Default.Text == was.Default.Text
		if e.current[was.Name].IsNull() && !requested && !same {
			e.next[was.Name] = parameter.Text(was.Default.Text)
		}
	}
}

// checkImmutable refuses changes of immutable values, and upgrades that make a parameter immutable unasked.
func (e *evaluation) checkImmutable() {
	for i := range e.version.Parameters {
		p := &e.version.Parameters[i]
		if !p.Immutable {
			continue
		}
		was := e.oldIndex[p.Name]
		if was == nil || !was.Immutable {
			if e.requested[p.Name].IsNull() {
				how := "becomes immutable with this upgrade"
				if was == nil {
					how = "is new and immutable"
				}
				refuse.Add(&e.refusals, p.Name, refuse.Immutable,
					"%s: set its value in the upgrade, for it cannot be changed afterwards%s", how, offer(p))
			}
			continue
		}
		before, had := was.effective(e.current)
		after, has := p.effective(e.next)
		if had != has || before.Text != after.Text {
			refuse.Add(&e.refusals, p.Name, refuse.Immutable, "is immutable: it may not change from %s to %s",
				quoted(before, had), quoted(after, has))
			continue
		}
		if value := e.current[p.Name]; !value.IsNull() {
			e.next[p.Name] = parameter.Text(value.Text) // a removal asked for the same default: the copy stays
		}
	}
}

// offer shows the default of a parameter in a message.
func offer(p *Parameter) string {
	if p.Default.IsNull() {
		return ""
	}
	return " (the default is " + strconv.Quote(p.Default.Text) + ")"
}

// finish checks the next values and decides.
func (e *evaluation) finish() Admission {
	e.checkValues()
	changes, counted := e.changes()
	if !e.install { // which runs the plan deploy, whatever the triggers say
		checkTriggers(counted, e.oldIndex, e.upgrade, e.version.Plans, &e.refusals)
	}
	children := e.version.children(e.index, e.next, &e.refusals)
	refuse.Sort(e.refusals)

	admission := Admission{Decision: parameter.Decision{Refusals: e.refusals, Changes: changes}}
	if len(e.refusals) > 0 {
		admission.Resulting = parameter.FromTexts(e.current.Texts())
		return admission
	}
	admission.Resulting = parameter.FromTexts(e.next.Texts())
	admission.Children = children
	if !e.install {
		for _, p := range counted {
			if !p.NoRestart {
				admission.Restarts = append(admission.Restarts, p.Name)
			}
		}
		slices.Sort(admission.Restarts)
	}
	return admission
}

// checkValues refuses what is missing, and values that their type or enum does not allow. An empty text has no type,
// but is allowed where nothing requires a value, as in the shipped KUDO.
func (e *evaluation) checkValues() {
	for i := range e.version.Parameters {
		p := &e.version.Parameters[i]
		add := func(rule parameter.Rule, format string, args ...any) {
			refuse.Add(&e.refusals, p.Name, rule, format, args...)
		}
		value, ok := e.next[p.Name]
		switch {
		case ok && value.Text != "":
			if problem := p.check(value); problem != "" {
				add(refuse.Type, "cannot have the value %q: %s", value.Text, problem)
			}
		case !p.Default.IsNull():
		case !p.Optional && p.Immutable && e.install:
			add(refuse.Required, "is required and immutable and has neither a value nor a default: set it now, for "+
				"it cannot be set later")
		case !p.Optional:
			add(refuse.Required, "is required and has neither a value nor a default: set it")
		case p.Immutable && !ok && e.install:
			add(refuse.Required, "is immutable and has neither a value nor a default: set it now, for it cannot be "+
				"set later")
		}
	}
}

// changes returns the changed parameters, and the definitions of those that count for triggers and restarts: a
// parameter that an upgrade adds counts once it has a value of its own, one that an upgrade removes does not.
func (e *evaluation) changes() (changes []parameter.Change, counted []*Parameter) {
	for i := range e.version.Parameters {
		p := &e.version.Parameters[i]
		change := parameter.Change{Name: p.Name}
		change.New, change.HasNew = p.effective(e.next)
		was := e.oldIndex[p.Name]
		if was != nil {
			change.Old, change.HasOld = was.effective(e.current)
		}
		if change.HasOld == change.HasNew && change.Old.Text == change.New.Text {
			continue
		}
		changes = append(changes, change)
		if _, own := e.next[p.Name]; was != nil || own {
			counted = append(counted, p)
		}
	}
	for i := range e.old.Parameters {
		was := &e.old.Parameters[i]
		if e.index[was.Name] != nil {
			continue
		}
		if old, ok := was.effective(e.current); ok {
			changes = append(changes, parameter.Change{Name: was.Name, Old: old, HasOld: true})
		}
	}
	slices.SortFunc(changes, func(a, b parameter.Change) int { return strings.Compare(a.Name, b.Name) })
	return changes, counted
}

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

// Enhancement marks the objects that one step of a plan writes (KEP-27). The operator and the instance never change, so
// they are labels everywhere. Plan, phase, step, version and the plan UID change with every run, so they are
// annotations of the object itself, whose metadata restarts nothing. A new plan UID in a template restarts its pods, so
// it is written there as well, but only when a restart is due. The zero Enhancement marks objects with empty texts, and
// refuses the same ones.
type Enhancement struct {
	Operator, Instance         string
	OperatorVersion            string
	Plan, Phase, Step, PlanUID string

	// Restart is whether a restart of the pods is due: [Admission.Restarts] is not empty, or the instance is new.
	Restart bool
}

// The nested templates of an object.
var (
	labelPaths = []fieldpath.Path{
		{"spec", "template"},
		{"spec", "volumeClaimTemplates", fieldpath.EachItem},
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
		annotationPlan: e.Plan, annotationPhase: e.Phase, annotationStep: e.Step,
		annotationOperatorVersion: e.OperatorVersion,
	}
	if e.PlanUID != "" {
		annotations[annotationPlanUID] = e.PlanUID
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
			uid = fieldpath.Text(live, append(slices.Clip(path), "metadata", "annotations", annotationPlanUID)...)
		}
		if uid == "" {
			continue
		}
		if out, err = markAt(out, fieldpath.Of(path), "annotations",
			map[string]string{annotationPlanUID: uid}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// markAt returns object with the entries in the metadata of the mappings at path: spec.volumeClaimTemplates[*] marks
// every item of the list. Where there is no mapping, nothing is marked.
func markAt(object map[string]any, path fieldpath.Path, field string,
	entries map[string]string) (map[string]any, error) {
	for _, at := range path.Places(object) {
		template, ok := fieldpath.Value(object, at...).(map[string]any)
		if !ok {
			continue
		}
		marked, err := mark(template, field, entries)
		if err != nil {
			return nil, fmt.Errorf("%s.%w", at, err)
		}
		changed, _ := at.Set(object, marked)
		object = changed.(map[string]any)
	}
	return object, nil
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

// Admission says what an operation on an Instance would do.
type Admission struct {
	parameter.Decision // Resulting is spec.parameters of the Instance afterwards

	// Restarts names the changed parameters that restart the pods (KEP-27), sorted. It is empty for an installation,
	// which has no pods yet, and after a refusal.
	Restarts []string

	// Children says for each task of the operator, in order, whether its instance is there afterwards (KEP-36). It is
	// empty after a refusal.
	Children []Child
}
