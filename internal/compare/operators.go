package compare

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

var _ definition = operatorDefinition{}

// operatorDefinition judges custom resources by what is known of their operator's webhooks.
type operatorDefinition struct {
	kind *operators.Kind
	crds []*crdDefinition // of the kind; they know defaults and passwords
}

// operatorOf returns what is known of an object's operator, if anything is.
func (k *kinds) operatorOf(o *manifest.Object) (operatorDefinition, bool) {
	if k.operators == nil {
		return operatorDefinition{}, false
	}
	kind, ok := k.operators.Find(o.APIVersion, o.Kind)
	return operatorDefinition{kind, k.byKind[groupKind{o.Group, o.Kind}]}, ok
}

// covers reports true: an operator converts between versions, and Check says where that leaves a question open.
func (operatorDefinition) covers(string) bool { return true }

func (d operatorDefinition) judge(p request) (verdict, error) {
	newObj, oldObj := d.prepare(p)
	judged := d.kind.Check(newObj, oldObj)
	who := d.kind.Operator.Name + ": "
	v := verdict{unknown: remarks(judged.Unknown, who), notes: remarks(judged.Notes, who)}
	for i := range judged.Violations {
		v.violations = append(v.violations, d.violation(&judged.Violations[i], p))
	}
	if len(v.violations) > 0 {
		v.replacement = d.replacementFor(p, judged)
	}
	return v, nil
}

func (d operatorDefinition) replacement(p request) *Replacement {
	return d.replacementFor(p, builtin.Verdict{})
}

func (d operatorDefinition) replacementFor(p request, judged builtin.Verdict) *Replacement {
	// Without the CRD, nobody knows whether the kind has namespaces; kubectl ignores one that it does not need.
	return replacementOf(d.kind.Replacement(placed(p.new, cmp.Or(p.new.Namespace, p.new.AppliedBy.Namespace)), judged), p, judged)
}

// prepare returns the objects as the operator gets them: with the defaults of the CRD, where there is one.
func (d operatorDefinition) prepare(p request) (newObj, oldObj map[string]any) {
	newObj, oldObj = p.new.Value(), p.old.Value()
	for _, c := range d.crds {
		newVersion, oldVersion := c.version(p.new.APIVersion), c.version(p.old.APIVersion)
		if newVersion == nil || oldVersion == nil {
			continue
		}
		is, newErr := c.prepare(newVersion, p.new)
		was, oldErr := c.prepare(oldVersion, p.old)
		if newErr == nil && oldErr == nil { // the CRD reports its errors
			return is, was
		}
	}
	return newObj, oldObj
}

// violation returns what an operator refuses, with its text and source.
func (d operatorDefinition) violation(found *builtin.Violation, p request) Violation {
	v := builtinViolation(found, p)
	if v.Lock == lockRule {
		v.Change = digestObjects(p.new.Value(), p.old.Value())
	}
	o := d.kind.Operator
	known := "its code was asked"
	if found.Row.Read {
		known = "its code was read, not run"
	}
	v.EnforcedBy, v.SchemaPath = o.Name, ""
	v.Source = found.Row.Source + " in " + o.Module + " " + o.Versions[len(o.Versions)-1] + "; " + known
	v.showAsWritten(p)
	for _, c := range d.crds {
		if version := c.version(p.new.APIVersion); version != nil && c.laws[version].redactionAt(v.at) != nil {
			v.old, v.new, v.key, v.Differences, v.Redacted = value{}, value{}, value{}, nil, true
		}
	}
	return v
}

// showAsWritten replaces the values of a violation by those of the manifests, which have them where the operator's form says
// the same in another way: "5Gi" for "5368709120".
func (v *Violation) showAsWritten(p request) {
	newObj, oldObj := p.new.Value(), p.old.Value()
	written := func(obj map[string]any, at fieldpath.Path, shown value) value {
		if is := yamldoc.At(obj, at...); shown.ok && is != nil {
			return value{is, true}
		}
		return shown
	}
	v.new, v.old = written(newObj, v.at, v.new), written(oldObj, v.at, v.old)
	for i, d := range v.found.Differences {
		at := fieldpath.Resolve(v.Differences[i].Path, newObj, oldObj)
		v.Differences[i].New = raw(written(newObj, at, value{d.New, d.HasNew}))
		v.Differences[i].Old = raw(written(oldObj, at, value{d.Old, d.HasOld}))
	}
}

// complete reports whether the definition of an object's kind is complete, so that a change which it does not refuse is allowed. It is
// if the kind is built in. Otherwise its CRD is at hand, or all transition rules of its CRD are known; and if the catalogue lists its
// operator, it also has the kind.
func (k *kinds) complete(o *manifest.Object) bool {
	gk := groupKind{o.Group, o.Kind}
	if k.builtinOf(o) != nil || o.Kind == "" || k.faulty[gk] != nil { // what has a fault is unknown
		return true
	}
	_, hasFacts := k.factsOf(o)
	isOpen := slices.ContainsFunc(k.open, func(d *openDefinition) bool { return d.isOf(o) })
	if len(k.byKind[gk]) == 0 && !hasFacts && !isOpen {
		return false
	}
	if _, hasRows := k.operatorOf(o); hasRows || k.operators == nil {
		return true
	}
	return slices.ContainsFunc(k.byKind[gk], (*crdDefinition).ofConfigConnector) || !k.operatorListed(o)
}

// operatorListed reports whether the catalogue has kinds of the operator of an object. What is known of the kind's CRD tells the
// project, also where several share a group; otherwise the operator is that of the group.
func (k *kinds) operatorListed(o *manifest.Object) bool {
	facts, ok := crdfacts.Find(o.APIVersion, o.Kind)
	return slices.ContainsFunc(k.operators.All(), func(kind *operators.Kind) bool {
		if ok {
			return kind.Operator.Module == facts.Project.Module
		}
		return kind.Group == o.Group
	})
}

// countUnchecked counts the changed objects of kinds whose definition is not complete.
func (c *checker) countUnchecked(p pair) {
	if p.changed() && !c.kinds.complete(p.new) {
		c.report.UncheckedKinds = count(c.report.UncheckedKinds, p.new, true)
	}
}

// described is a location of a schema that says in words that its field may not change, or has such locations below it.
type described struct {
	sentence   string // "" if only a location below says so
	properties map[string]*described
	items      *described
}

// sentences splits a paragraph. A dot inside a word, as in spec.size, ends none.
var sentences = regexp.MustCompile(`([^.!]|[.!]\S)+[.!]?`)

// paragraphs end at an empty line or before an item of a list; other line breaks are those of the source file.
var paragraphs = regexp.MustCompile(`\n\s*\n|\n\s*[-*]\s`)

// mayBeLocked reports whether a description has one of the words of schema.SaysLocked, which takes long to look for.
func mayBeLocked(description string) bool {
	description = strings.ToLower(description)
	return slices.ContainsFunc([]string{"mutable", "changed", "updated", "modified", "creation"}, func(word string) bool { return strings.Contains(description, word) })
}

// maxSentence is how much of a description a note quotes.
const maxSentence = 200

// describe finds what the descriptions of a schema say; nil where they say nothing. It does not look below lists of lists, nor
// into the specs of pods: what cannot be updated in a pod can be in a template.
func describe(s *spec.Schema) *described {
	if ofPod(s) {
		return nil
	}
	d := &described{}
	var said []string
	if mayBeLocked(s.Description) {
		for _, paragraph := range paragraphs.Split(s.Description, -1) {
			said = append(said, sentences.FindAllString(paragraph, -1)...)
		}
	}
	for i, sentence := range said {
		if schema.SaysLocked.MatchString(sentence) {
			if len(strings.Fields(sentence)) == 1 && i+1 < len(said) { // "Immutable." alone does not say what
				sentence += said[i+1]
			}
			d.sentence = jsonvalue.Excerpt(strings.Join(strings.Fields(sentence), " "), 0, maxSentence)
			break
		}
	}
	for name, property := range s.Properties {
		if below := describe(&property); below != nil {
			if d.properties == nil {
				d.properties = map[string]*described{}
			}
			d.properties[name] = below
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		d.items = describe(s.Items.Schema)
	}
	if d.sentence == "" && d.properties == nil && d.items == nil {
		return nil
	}
	return d
}

// ofPod reports whether a schema is that of a pod's spec or of a container.
func ofPod(s *spec.Schema) bool {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { _, ok := s.Properties[name]; return !ok })
	}
	return has("containers", "serviceAccountName", "tolerations") || has("image", "command", "env", "volumeMounts")
}

// changed calls found for each field that differs and of which the schema says that it may not. Of an object whose fields say
// so themselves, only these count, unless the object itself comes or goes. Items of lists are compared by their index. An absent
// object is an empty one.
func (d *described) changed(newVal, oldVal value, at fieldpath.Path, found func(at fieldpath.Path, d *described, newVal, oldVal value)) {
	switch {
	case d == nil || newVal.ok == oldVal.ok && jsonvalue.Equal(newVal.v, oldVal.v):
		return
	case d.sentence != "" && (newVal.ok != oldVal.ok || d.properties == nil):
		found(at, d, newVal, oldVal)
		return
	}
	is, _ := newVal.v.(map[string]any)
	was, _ := oldVal.v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(d.properties)) {
		newMember, has := is[name]
		oldMember, had := was[name]
		d.properties[name].changed(value{newMember, has}, value{oldMember, had}, append(slices.Clip(at), name), found)
	}
	newItems, _ := newVal.v.([]any)
	oldItems, _ := oldVal.v.([]any)
	for i := range min(len(newItems), len(oldItems)) {
		d.items.changed(value{newItems[i], true}, value{oldItems[i], true}, append(slices.Clip(at), i), found)
	}
}

// configConnector is the operator whose descriptions are locks: its CRDs are made from what its webhook compares.
const (
	configConnector       = "Config Connector"
	configConnectorGroup  = ".cnrm.cloud.google.com"
	configConnectorSource = "compareAndFindChangesOnImmutableFields (pkg/webhook/immutable_fields_validator.go) in github.com/GoogleCloudPlatform/k8s-config-connector 1.155.1; its code was read, not run"
)

// describedChanges adds what the descriptions of the CRD say about the fields that change. In CRDs of Config Connector that are
// made from Terraform's or Google's own schemas, "Immutable." is a lock that its webhook enforces, except in lists of objects.
// Elsewhere it is a note, unless something else refuses the change of the field.
func (d *crdDefinition) describedChanges(v *verdict, p request, operators bool) {
	version := d.version(p.new.APIVersion)
	if p.new.APIVersion != p.old.APIVersion || version == nil {
		return
	}
	root := d.descriptions[version]()
	if root == nil {
		return
	}
	newObj, err := d.prepare(version, p.new)
	if err != nil {
		return // the error is reported elsewhere
	}
	oldObj, err := d.prepare(version, p.old)
	if err != nil {
		return
	}
	enforced := operators && d.ofConfigConnector()
	is, has := newObj["spec"]
	was, had := oldObj["spec"]
	root.properties["spec"].changed(value{is, has}, value{was, had}, fieldpath.Path{"spec"}, func(at fieldpath.Path, says *described, newVal, oldVal value) {
		path := at.String()
		inList := slices.ContainsFunc(at, func(s any) bool { _, isIndex := s.(int); return isIndex })
		switch {
		case slices.ContainsFunc(v.violations, func(b Violation) bool { return related(b.Path, path) }):
		case !enforced || inList || !strings.HasPrefix(says.sentence, "Immutable."):
			v.notes = append(v.notes, Remark{Path: path, Message: "the CRD's description says: " + says.sentence})
		case !oldVal.ok:
			v.unknown = append(v.unknown, Remark{Path: path, Message: configConnector + ": the field is immutable; the change is accepted only if the operator has filled in this very value"})
		default:
			v.violations = append(v.violations, d.configConnectorViolation(version, at, newVal, oldVal))
		}
	})
	if v.replacement == nil && len(v.violations) > 0 {
		v.replacement = d.replacement(p)
	}
}

// configConnectorViolation returns what Config Connector's webhook refuses.
func (d *crdDefinition) configConnectorViolation(version *crd.Version, at fieldpath.Path, newVal, oldVal value) Violation {
	path := at.String()
	v := Violation{
		Path: path, at: at, Lock: string(immutability.LockImmutable), Message: "cannot make changes to immutable field(s): [" + path + "]",
		EnforcedBy: configConnector, Source: configConnectorSource, old: oldVal, new: newVal,
	}
	v.Change = digest(v.old, v.new)
	if d.laws[version].redactionAt(at) != nil {
		v.old, v.new, v.Redacted = value{}, value{}, true
	}
	return v
}

// ofConfigConnector reports whether the CRD is made from a schema that Config Connector's webhook compares objects by. Its newer
// kinds have other controllers, which the webhook lets pass.
func (d *crdDefinition) ofConfigConnector() bool {
	labels, _ := yamldoc.At(d.crd.Document.Object, "metadata", "labels").(map[string]any)
	made := labels["cnrm.cloud.google.com/tf2crd"] == "true" || labels["cnrm.cloud.google.com/dcl2crd"] == "true"
	return made && strings.HasSuffix(d.crd.Group, configConnectorGroup)
}
