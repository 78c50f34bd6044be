package admission

import (
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/immutability"
)

// Target is what one update is checked against: the locks of a kind in one version. Get one from Registry.Find.
//
// An update of the status subresource carries whole objects and is checked as a whole: an API server has put the stored
// spec back by then, and if it has not, the change is refused. An update of the scale subresource carries Scale objects,
// each of which represents the one field that it sets.
type Target struct {
	kind      schema.GroupVersionKind
	wire      schema.GroupVersionKind // what the objects say they are
	validator *immutability.Validator
	replicas  []string // the field that a Scale sets; empty for whole objects
	gaps      []string // as Version.Gaps
}

// Kind returns the kind whose locks apply; for a scale subresource that is the kind of its parent.
func (t *Target) Kind() schema.GroupVersionKind { return t.kind }

// Validator returns the validator for whole objects of the kind, nil for a Scale. Prefer Check, which also makes sure that
// the objects are of the kind that the request says.
func (t *Target) Validator() *immutability.Validator {
	if len(t.replicas) > 0 {
		return nil
	}
	return t.validator
}

// Check compares two decoded objects. It returns an error if one of them is missing or is not of the kind that the
// request says.
func (t *Target) Check(newObj, oldObj map[string]any) (immutability.Report, error) {
	for _, side := range []struct {
		name string
		obj  map[string]any
	}{{"object", newObj}, {"oldObject", oldObj}} {
		if side.obj == nil {
			return immutability.Report{}, missing(side.name)
		}
		apiVersion, _ := side.obj["apiVersion"].(string)
		kind, _ := side.obj["kind"].(string)
		if err := t.identify(side.name, apiVersion, kind); err != nil {
			return immutability.Report{}, err
		}
	}
	if len(t.replicas) > 0 {
		return t.checkScale(newObj, oldObj)
	}
	return t.validator.Check(newObj, oldObj), nil
}

func (t *Target) checkDocuments(newDoc, oldDoc *document) (immutability.Report, error) {
	for _, d := range []*document{newDoc, oldDoc} {
		if err := d.identify(); err != nil {
			return immutability.Report{}, err
		}
		if err := t.identify(d.name, d.apiVersion, d.kind); err != nil {
			return immutability.Report{}, err
		}
	}
	if len(t.replicas) == 0 {
		return t.validator.CheckJSON(newDoc.raw, oldDoc.raw)
	}
	var newObj, oldObj map[string]any
	if err := utiljson.Unmarshal(newDoc.raw, &newObj); err != nil {
		return immutability.Report{}, fmt.Errorf("the object cannot be read: %w", err)
	}
	if err := utiljson.Unmarshal(oldDoc.raw, &oldObj); err != nil {
		return immutability.Report{}, fmt.Errorf("the oldObject cannot be read: %w", err)
	}
	return t.checkScale(newObj, oldObj)
}

func (t *Target) identify(name, apiVersion, kind string) error {
	if apiVersion != t.wire.GroupVersion().String() || kind != t.wire.Kind {
		return fmt.Errorf("the %s says that it is %q of %q: the request says %q of %q", name, kind, apiVersion, t.wire.Kind, t.wire.GroupVersion())
	}
	return nil
}

// checkScale compares the one field that a Scale sets. A Scale writes 0 and unset alike, so where the old one is 0, the
// update has to be allowed from both: setting a field that is locked unset must not get through.
func (t *Target) checkScale(newScale, oldScale map[string]any) (immutability.Report, error) {
	newReplicas, err := replicasOf("object", newScale)
	if err != nil {
		return immutability.Report{}, err
	}
	oldReplicas, err := replicasOf("oldObject", oldScale)
	if err != nil {
		return immutability.Report{}, err
	}
	oldObj := t.withReplicas(oldReplicas)
	report := t.validator.Check(t.withReplicas(newReplicas), oldObj)
	if oldReplicas == 0 && report.Allowed() {
		parent := oldObj
		for _, name := range t.replicas[:len(t.replicas)-1] {
			parent = parent[name].(map[string]any)
		}
		delete(parent, t.replicas[len(t.replicas)-1])
		report = t.validator.Check(t.withReplicas(newReplicas), oldObj)
	}
	return report, nil
}

// withReplicas returns an object that has nothing but the field that a Scale sets.
func (t *Target) withReplicas(n int64) map[string]any {
	var v any = n
	for i := len(t.replicas) - 1; i >= 0; i-- {
		v = map[string]any{t.replicas[i]: v}
	}
	return v.(map[string]any)
}

func replicasOf(name string, scale map[string]any) (int64, error) {
	spec, ok := scale["spec"].(map[string]any)
	if !ok && scale["spec"] != nil {
		return 0, fmt.Errorf("the spec of the Scale in the %s is not an object", name)
	}
	switch n := spec["replicas"].(type) {
	case nil:
		return 0, nil
	case int64:
		return n, nil
	default:
		return 0, fmt.Errorf("spec.replicas of the Scale in the %s is not a whole number", name)
	}
}

// exemptions says which updates are not checked. The zero value exempts none.
type exemptions struct {
	deleting      bool
	annotations   []string
	users, groups []string
}

// of returns why the request is exempt, or "" when it is not.
func (e *exemptions) of(r *admissionv1.AdmissionRequest) (string, error) {
	if r.UserInfo.Username != "" && slices.Contains(e.users, r.UserInfo.Username) {
		return "the user is exempt", nil
	}
	for _, group := range r.UserInfo.Groups {
		if slices.Contains(e.groups, group) {
			return "a group of the user is exempt", nil
		}
	}
	if e.deleting {
		metadata, err := metadataOf("oldObject", r.OldObject.Raw) // the stored one: the client cannot set it there
		if err != nil {
			return "", err
		}
		var timestamp string
		if json.Unmarshal(metadata["deletionTimestamp"], &timestamp) == nil && timestamp != "" {
			return "the object is being deleted", nil
		}
	}
	if len(e.annotations) > 0 && isDryRun(r) {
		metadata, err := metadataOf("object", r.Object.Raw)
		if err != nil {
			return "", err
		}
		var annotations map[string]string
		if json.Unmarshal(metadata["annotations"], &annotations) != nil {
			return "", nil
		}
		for _, name := range e.annotations {
			if _, ok := annotations[name]; ok {
				return "the dry-run update is marked by the annotation " + name, nil
			}
		}
	}
	return "", nil
}

// metadataOf returns the undecoded members of the metadata of an object. Names match exactly, as the API server's do.
func metadataOf(name string, object []byte) (map[string]json.RawMessage, error) {
	if unlessNull(object) == nil {
		return nil, missing(name)
	}
	var metadata map[string]json.RawMessage
	err := eachMember(object, func(member, value []byte) error {
		if string(member) != "metadata" {
			return nil
		}
		return json.Unmarshal(value, &metadata)
	})
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", name, err)
	}
	return metadata, nil
}
