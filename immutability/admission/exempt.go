package admission

import (
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
)

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
