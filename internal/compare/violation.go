package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// printer makes the parts of a report of what the definitions found.
type printer struct {
	repeated int // bytes of containers that the report has so far for keys that they lost
}

// maxRepeated is how many bytes of containers are printed: each of the keys that one has lost would print it once more.
const maxRepeated = 16 << 20

// subject returns the subject of a remark or violation at a path of an object.
func subject(o *manifest.Object, path string) Subject {
	at := o.Locate(path)
	return Subject{
		Object: o.String(), Kind: o.Kind, APIVersion: o.APIVersion, File: o.Document.File,
		Line: at.Line, Column: at.Column, ObjectLine: o.Document.Position().Line,
	}
}

// addOld adds where the violation's field is in OLD. An object of a cluster has no file.
func (v *Violation) addOld(newObj, oldObj *manifest.Object) {
	if oldObj == nil || oldObj.Document.File == manifest.Cluster {
		return
	}
	steps := stepsTo(newObj.Value(), oldObj.Value(), v.Path)
	v.OldFile, v.OldLine = oldObj.Document.File, oldObj.LocateAs(newObj.Value(), steps).Line
	v.Moved = newObj.Path != oldObj.Path
}

// violation makes a violation of a breach.
func (r *printer) violation(o *manifest.Object, b *breach) Violation {
	v := Violation{
		Subject: subject(o, b.path), Path: b.path, Lock: b.lock, Rule: b.rule, SchemaPath: b.schemaPath, Message: b.message,
		Change: b.change, Item: b.item, Owners: b.owners, LockFile: b.file, LockLine: b.line, Version: b.version,
		Reason: b.reason, Says: b.says, OnlyOld: b.onlyOld,
	}
	if v.OnlyOld {
		v.Message += "; only OLD has this lock: the change drops it and breaks it at once, so keep the lock, or accept the change in " + manifest.AcceptFile
	}
	if isSecret(o) {
		v.Redacted = true
		if len(b.differences) > 0 && b.file != "" { // the message of a CRD's lock lists them
			v.Message, _, _ = strings.Cut(v.Message, ": ")
		}
		return v
	}
	v.Key, v.MoreDifferences = raw(b.key), b.moreDifferences
	if v.ValuesLeftOut = b.key.ok && r.repeated > maxRepeated; !v.ValuesLeftOut {
		v.Old, v.New = raw(b.old), raw(b.new)
	}
	if b.key.ok {
		r.repeated += len(v.Old) + len(v.New)
	}
	for _, d := range b.differences {
		v.Differences = append(v.Differences, Difference{d.path, raw(d.old), raw(d.new)})
	}
	return v
}

// isSecret reports whether an object's values must not be printed.
func isSecret(o *manifest.Object) bool { return o.Group == "" && o.Kind == "Secret" }

// digestObjects identifies the change of an object, by all that people write.
func digestObjects(newObj, oldObj map[string]any) string {
	written := func(object map[string]any) value {
		object = maps.Clone(object)
		delete(object, "metadata")
		delete(object, "status")
		return value{object, true}
	}
	return digest(written(oldObj), written(newObj))
}

// digest identifies a change from one value to another. An acceptance that has it does not accept the next change.
func digest(oldVal, newVal value) string {
	text, err := json.Marshal([]any{oldVal.ok, oldVal.v, newVal.ok, newVal.v})
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
	if a.ok != b.ok || reflect.TypeOf(a.v) != reflect.TypeOf(b.v) {
		return false
	}
	switch a.v.(type) {
	case map[string]any, []any:
		x, y := reflect.ValueOf(a.v), reflect.ValueOf(b.v)
		return x.Len() == y.Len() && x.UnsafePointer() == y.UnsafePointer()
	}
	return !a.ok
}
