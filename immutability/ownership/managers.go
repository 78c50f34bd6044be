// Package ownership names the field managers that own a field, so that a refusal can say whose field it is:
// "field is immutable; last applied by kubectl-client-side-apply".
//
// It reads metadata.managedFields of an object and needs no schema: the items of a list are found by the keys, values
// and indices that the managed fields themselves contain. What it says is for people. It decides nothing, so a
// manager that cannot be read is left out and never changes a verdict.
package ownership

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// Managers are the field managers of one object, with the fields that each of them owns. The zero value and nil have
// no managers. A Managers is not changed after Read and is safe for concurrent use.
type Managers struct {
	entries    []entry
	apiVersion string // of the object
	object     view   // in which the indices of paths count
}

// entry is one element of metadata.managedFields.
type entry struct {
	owner  Owner
	fields *fieldpath.Set
}

// Read reads the field managers of oldObj, the object that is stored. newObj is the object in which the indices of
// paths count: that of an update, or oldObj again. Both are decoded, or both are encoded. An object without managed
// fields, nil too, has no managers.
//
// The error names each entry that cannot be read; the managers returned with it are the readable ones. They keep
// newObj. Cost: O(size of the managed fields); of an encoded object, what comes before them is skipped.
func Read[Object map[string]any | []byte](newObj, oldObj Object) (*Managers, error) {
	m := &Managers{object: viewOf(newObj)}
	var fields []byte
	var err error
	switch oldObj := any(oldObj).(type) {
	case map[string]any:
		fields, m.apiVersion, err = fieldsOf(oldObj)
	case []byte:
		fields, m.apiVersion, err = encodedFieldsOf(oldObj)
	}
	if err == nil && len(fields) > 0 && string(fields) != "null" {
		err = m.read(fields)
	}
	return m, err
}

// fieldsOf returns the managed fields of a decoded object as JSON, nil if it has none, and its apiVersion.
func fieldsOf(object map[string]any) (fields []byte, apiVersion string, err error) {
	apiVersion, _ = object["apiVersion"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	if metadata["managedFields"] == nil {
		return nil, apiVersion, nil
	}
	if fields, err = json.Marshal(metadata["managedFields"]); err != nil {
		return nil, apiVersion, fmt.Errorf("metadata.managedFields cannot be read: %w", err)
	}
	return fields, apiVersion, nil
}

// encodedFieldsOf is fieldsOf for an encoded object. It stops reading where it has found both.
func encodedFieldsOf(object []byte) (fields []byte, apiVersion string, err error) {
	if len(object) == 0 {
		return nil, "", nil
	}
	t := jsonscan.NewText(object)
	if t.Kind() == 'n' {
		return nil, "", nil
	}
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
					fields = t.Skip()
				}
			}
		}
		if apiVersion != "" && fields != nil && !t.Failed() {
			return fields, apiVersion, nil
		}
	}
	if t.Failed() {
		return nil, apiVersion, fmt.Errorf("metadata.managedFields cannot be read: %w", t.Err())
	}
	return fields, apiVersion, nil
}

// read adds the entries of the managed fields.
func (m *Managers) read(managedFields []byte) error {
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
			errs = append(errs, fmt.Errorf("metadata.managedFields[%d].fieldsType is %q: the only type known is "+
				"FieldsV1", i, w.fieldsType))
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
		m.entries = nil
		return fmt.Errorf("metadata.managedFields cannot be read: %w", err)
	}
	return errors.Join(errs...)
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

// Owner is a field manager that owns a field.
type Owner struct {
	Manager     string
	Operation   string    // "Apply" or "Update"
	APIVersion  string    // the version that the manager wrote in
	Subresource string    // "" for the object itself
	Time        time.Time // of the manager's last change to any of its fields; zero where unknown

	// Parent says that the manager owns only an object or list around the field: nobody owns the field itself.
	Parent bool

	otherVersion bool // the object has another version than the manager wrote in
}

// newestFirst orders owners by time, then by name, so that the same managed fields give the same text.
func newestFirst(a, b Owner) int {
	return cmp.Or(
		b.Time.Compare(a.Time),
		cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Subresource, b.Subresource),
		cmp.Compare(a.APIVersion, b.APIVersion),
	)
}

// clientSideApply is the manager under which kubectl apply without --server-side writes; the API server records it
// as an update.
const clientSideApply = "kubectl-client-side-apply"

// shown is the number of managers that Text names.
const shown = 3

// Text says in one line who owns a field, such as "last applied by kubectl-client-side-apply, also owned by argocd".
// It takes what Owners returns; without owners it is "". Names are quoted where they hold anything but letters,
// digits and punctuation. The same owners give the same text.
func Text(owners []Owner) string {
	if len(owners) == 0 {
		return ""
	}
	var b strings.Builder
	first := owners[0]
	if first.Parent {
		b.WriteString("its parent was ")
	}
	verb := "updated"
	if first.Operation == "Apply" || first.Manager == clientSideApply {
		verb = "applied"
	}
	fmt.Fprintf(&b, "last %s by %s", verb, first.name())

	var others []string
	for _, o := range owners[1:] {
		if name := o.name(); name != first.name() && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return b.String()
	}
	more := len(others) - (shown - 1)
	if more > 0 {
		others = append(others[:shown-1], strconv.Itoa(more)+" more")
	}
	b.WriteString(", also owned by ")
	b.WriteString(strings.Join(others[:len(others)-1], ", "))
	if len(others) > 1 {
		b.WriteString(" and ")
	}
	b.WriteString(others[len(others)-1])
	return b.String()
}

// name is the manager with what sets it apart from others of the same name.
func (o Owner) name() string {
	name := o.Manager
	switch {
	case name == "":
		name = "an unnamed manager"
	case strings.ContainsFunc(name,
		func(r rune) bool { return r <= ' ' || r == ',' || r == '"' || !strconv.IsPrint(r) }):
		name = strconv.Quote(name)
	}
	var notes []string
	if o.Subresource != "" {
		notes = append(notes, "through "+o.Subresource)
	}
	if o.otherVersion {
		notes = append(notes, "in "+o.APIVersion)
	}
	if len(notes) > 0 {
		name += " (" + strings.Join(notes, ", ") + ")"
	}
	return name
}
