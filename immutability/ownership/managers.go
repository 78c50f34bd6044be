package ownership

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
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

// Read reads the field managers of a decoded object. An object without managed fields, nil too, has no managers. The
// error names each entry that cannot be read; the managers returned with it are the readable ones. Cost: O(size of
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
	var apiVersion string
	var managedFields []byte
	t := jsonscan.NewText(object)
	for m := range t.Members() {
		switch string(m.Name) {
		case "apiVersion":
			apiVersion = text(t.Skip())
		case "metadata":
			if t.Kind() != '{' {
				continue
			}
			for m := range t.Members() {
				if string(m.Name) == "managedFields" {
					managedFields = t.Skip()
				}
			}
		}
	}
	if err := t.End(); err != nil {
		return &Managers{}, fmt.Errorf("metadata.managedFields cannot be read: %w", err)
	}
	return ReadManagedFields(managedFields, apiVersion)
}

// ReadManagedFields is Read on the encoded metadata.managedFields of an object with that apiVersion. Nothing, and null, are
// no managers.
func ReadManagedFields(managedFields []byte, apiVersion string) (*Managers, error) {
	if len(managedFields) == 0 || string(managedFields) == "null" {
		return &Managers{}, nil
	}
	return read(managedFields, apiVersion)
}

func read(managedFields []byte, apiVersion string) (*Managers, error) {
	m := &Managers{apiVersion: apiVersion}
	var errs []error
	i := -1
	t := jsonscan.NewText(managedFields)
	for range t.Items() {
		i++
		w := readEntry(t)
		if t.Failed() {
			break
		}
		if w.fieldsType != "FieldsV1" {
			errs = append(errs, fmt.Errorf("metadata.managedFields[%d].fieldsType is %q: the only type known is FieldsV1", i, w.fieldsType))
			continue
		}
		if len(w.fieldsV1) == 0 {
			continue // a manager that owns nothing
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(w.fieldsV1)); err != nil {
			errs = append(errs, fmt.Errorf("metadata.managedFields[%d].fieldsV1 cannot be read: %w", i, err))
			continue
		}
		m.entries = append(m.entries, entry{owner: w.owner, fields: set})
	}
	if err := t.End(); err != nil {
		return &Managers{}, fmt.Errorf("metadata.managedFields cannot be read: %w", err)
	}
	return m, errors.Join(errs...)
}

// wireEntry is an entry as it is written; metav1.ManagedFieldsEntry holds the fields in a form that depends on how
// apimachinery was built.
type wireEntry struct {
	owner      Owner
	fieldsType string
	fieldsV1   []byte
}

// readEntry reads the entry that t has next.
func readEntry(t *jsonscan.Text) (w wireEntry) {
	for m := range t.Members() {
		switch string(m.Name) {
		case "manager":
			w.owner.Manager = text(t.Skip())
		case "operation":
			w.owner.Operation = text(t.Skip())
		case "apiVersion":
			w.owner.APIVersion = text(t.Skip())
		case "subresource":
			w.owner.Subresource = text(t.Skip())
		case "time":
			w.owner.Time, _ = time.Parse(time.RFC3339, text(t.Skip())) // without a time the entry counts as the oldest
		case "fieldsType":
			w.fieldsType = text(t.Skip())
		case "fieldsV1":
			w.fieldsV1 = t.Skip()
		}
	}
	return w
}

// text returns a string, "" for another value.
func text(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	s, _ := jsonscan.Value(value, 0).(string)
	return s
}
