package ownership

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Managers are the field managers of one object, with the fields that each of them owns. The zero value and nil have
// no managers. A Managers is not changed after Read and is safe for concurrent use.
type Managers struct {
	entries    []entry
	apiVersion string // of the object
}

// entry is one element of metadata.managedFields.
type entry struct {
	owner  Owner
	fields *fieldpath.Set
}

// wireEntry is the wire form of an entry; metav1.ManagedFieldsEntry holds the fields in a form that depends on how
// apimachinery was built.
type wireEntry struct {
	Manager     string          `json:"manager"`
	Operation   string          `json:"operation"`
	APIVersion  string          `json:"apiVersion"`
	Time        string          `json:"time"`
	FieldsType  string          `json:"fieldsType"`
	FieldsV1    json.RawMessage `json:"fieldsV1"`
	Subresource string          `json:"subresource"`
}

// Read reads the field managers of a decoded object. An object without managed fields, nil too, has no managers. The
// error names each entry that cannot be read; the managers returned beside it are the readable ones. Cost: O(size of
// the managed fields).
func Read(obj map[string]any) (*Managers, error) {
	metadata, _ := obj["metadata"].(map[string]any)
	raw, ok := metadata["managedFields"]
	if !ok || raw == nil {
		return &Managers{}, nil
	}
	encoded, err := json.Marshal(raw)
	if err != nil {
		return &Managers{}, fmt.Errorf("metadata.managedFields cannot be read: %w", err)
	}
	apiVersion, _ := obj["apiVersion"].(string)
	return read(encoded, apiVersion)
}

// ReadJSON is Read on an encoded object.
func ReadJSON(object []byte) (*Managers, error) {
	var obj struct {
		APIVersion string `json:"apiVersion"`
		Metadata   struct {
			ManagedFields json.RawMessage `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(object, &obj); err != nil {
		return &Managers{}, fmt.Errorf("metadata.managedFields cannot be read: %w", err)
	}
	if len(obj.Metadata.ManagedFields) == 0 {
		return &Managers{}, nil
	}
	return read(obj.Metadata.ManagedFields, obj.APIVersion)
}

func read(managedFields []byte, apiVersion string) (*Managers, error) {
	var wire []wireEntry
	if err := utiljson.Unmarshal(managedFields, &wire); err != nil {
		return &Managers{}, fmt.Errorf("metadata.managedFields cannot be read: %w", err)
	}
	m := &Managers{apiVersion: apiVersion}
	var errs []error
	for i, w := range wire {
		if w.FieldsType != "FieldsV1" {
			errs = append(errs, fmt.Errorf("metadata.managedFields[%d].fieldsType is %q: the only type known is FieldsV1", i, w.FieldsType))
			continue
		}
		if len(w.FieldsV1) == 0 {
			continue // a manager that owns nothing
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(w.FieldsV1)); err != nil {
			errs = append(errs, fmt.Errorf("metadata.managedFields[%d].fieldsV1 cannot be read: %w", i, err))
			continue
		}
		t, _ := time.Parse(time.RFC3339, w.Time) // without a time the entry counts as the oldest
		m.entries = append(m.entries, entry{
			owner:  Owner{Manager: w.Manager, Operation: w.Operation, APIVersion: w.APIVersion, Subresource: w.Subresource, Time: t},
			fields: set,
		})
	}
	return m, errors.Join(errs...)
}
