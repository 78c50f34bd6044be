package kind

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// A digest identifies a change, so that an acceptance holds for it and not for the next one: the change of spec.class
// from "a" to "b" has one digest, in whatever file and order of fields, and the change from "a" to "c" another one.

// Digest identifies a change from one value to another.
func Digest(oldVal, newVal result.Value) string {
	text, err := json.Marshal([]any{oldVal.OK, oldVal.Data, newVal.OK, newVal.Data})
	if err != nil {
		return "" // decoded JSON always encodes
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// DigestObjects identifies the change of an object, by all that people write. Of metadata and a status, only what
// changes counts: in a cluster, they change often.
func DigestObjects(newObj, oldObj map[string]any) string {
	written := func(object, other map[string]any) result.Value {
		changed := maps.Clone(object)
		delete(changed, "metadata")
		if jsonvalue.Equal(object["status"], other["status"]) {
			delete(changed, "status")
		}
		for _, name := range [...]string{"labels", "annotations", "finalizers", "ownerReferences"} {
			is, was := fieldpath.Value(object, "metadata", name), fieldpath.Value(other, "metadata", name)
			if jsonvalue.Equal(is, was) {
				continue
			}
			if texts, ok := is.(map[string]any); ok {
				texts = maps.Clone(texts)
				maps.DeleteFunc(texts,
					func(key string, text any) bool { return jsonvalue.Equal(fieldpath.Value(was, key), text) })
				is = texts
			}
			changed["metadata."+name] = is
		}
		return result.Value{Data: changed, OK: true}
	}
	return Digest(written(oldObj, newObj), written(newObj, oldObj))
}

// digests remembers the digest of the last change: the violations of a container that lost many keys are about the same
// two values.
type digests struct {
	old, new result.Value
	digest   string
}

func (d *digests) of(oldVal, newVal result.Value) string {
	if d.digest == "" || !identical(d.old, oldVal) || !identical(d.new, newVal) {
		*d = digests{oldVal, newVal, Digest(oldVal, newVal)}
	}
	return d.digest
}

// identical reports whether two values are the same container, or both absent.
func identical(a, b result.Value) bool {
	if a.OK != b.OK || reflect.TypeOf(a.Data) != reflect.TypeOf(b.Data) {
		return false
	}
	switch a.Data.(type) {
	case map[string]any, []any:
		x, y := reflect.ValueOf(a.Data), reflect.ValueOf(b.Data)
		return x.Len() == y.Len() && x.UnsafePointer() == y.UnsafePointer()
	}
	return !a.OK
}
