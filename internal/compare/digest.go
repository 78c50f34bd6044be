package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// A digest identifies a change, so that an acceptance holds for it and not for the next one: the change of spec.class
// from "a" to "b" has one digest, in whatever file and order of fields, and the change from "a" to "c" another one.

// changeOf identifies the change that a violation is about: of the value at its path, or else of the whole object. The
// message counts where only the server knows its reason.
func changeOf(v *result.Violation, newObj, oldObj *manifest.Object) string {
	newVal, oldVal := v.New, v.Old
	if oldObj == nil {
		return digest(oldVal, newVal)
	}
	if !newVal.OK && !oldVal.OK {
		newVal, oldVal = kind.Correlate(nil, newObj.Value(), oldObj.Value(), v.Steps)
	}
	of := digest(oldVal, newVal)
	if len(v.Steps) == 0 || same(newVal, oldVal) {
		of = digestObjects(newObj.Value(), oldObj.Value())
	}
	if v.Lock == lockServer {
		of = digest(value{Data: v.Message, OK: true}, value{Data: of, OK: true})
	}
	return of
}

// digestObjects identifies the change of an object, by all that people write. Of metadata and a status, only what
// changes counts: in a cluster, they change often.
func digestObjects(newObj, oldObj map[string]any) string {
	written := func(object, other map[string]any) value {
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
		return value{Data: changed, OK: true}
	}
	return digest(written(oldObj, newObj), written(newObj, oldObj))
}

// digest identifies a change from one value to another. An acceptance that has it does not accept the next change.
func digest(oldVal, newVal value) string {
	text, err := json.Marshal([]any{oldVal.OK, oldVal.Data, newVal.OK, newVal.Data})
	if err != nil {
		return "" // decoded JSON always encodes
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// digests remembers the digest of the last change: the violations of a container that lost many keys are about the same
// two values.
type digests struct {
	old, new value
	digest   string
}

func (d *digests) of(oldVal, newVal value) string {
	if d.digest == "" || !identical(d.old, oldVal) || !identical(d.new, newVal) {
		*d = digests{oldVal, newVal, digest(oldVal, newVal)}
	}
	return d.digest
}

// identical reports whether two values are the same container, or both absent.
func identical(a, b value) bool {
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
