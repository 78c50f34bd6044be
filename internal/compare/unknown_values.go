package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Values that the files do not tell: those that SOPS has encrypted, and those that depend on a variable of an encrypted
// Secret.
//
// SOPS encrypts the values of a file, each as ENC[…], and writes keys and checksums below the key "sops". The
// deployment tool decrypts the file and drops that key. Each encryption writes other texts, also of values that did not
// change.

// sopsKey is not part of the object.
const sopsKey = "sops"

// encryption compares the encrypted values of a pair.
type encryption struct {
	secret           bool     // it is an immutable Secret
	newSops, oldSops bool     // the sides have the key
	unknown          []string // places, as in yamldoc.Document
}

// withoutEncryption returns a pair without what encryption alone has changed: the old object gets the encrypted values
// of the new one where it has such a value, too. In an immutable Secret, where every change is refused, they are
// unknown instead; so is a value that only one side has encrypted.
func withoutEncryption(p pair) pair {
	newVal, oldVal := p.new.Value(), p.old.Value()
	e := &encryption{newSops: isSops(newVal), oldSops: isSops(oldVal)}
	e.secret = p.new.Group == "" && p.new.Kind == "Secret" && oldVal["immutable"] == true
	value, changed := e.merge(newVal, oldVal, "")
	merged, _ := value.(map[string]any)
	if e.newSops || e.oldSops {
		changed, merged = true, maps.Clone(merged)
		if delete(merged, sopsKey); e.newSops {
			merged[sopsKey] = newVal[sopsKey]
		}
	}
	if !changed && len(e.unknown) == 0 {
		return p
	}
	old, document := *p.old, *p.old.Document
	document.Unknown = slices.Concat(document.Unknown, e.unknown)
	if old.Document = &document; old.Stored == nil {
		document.Object = merged
	}
	p.old = &old
	return p
}

// isSops reports whether an object has what SOPS writes beside the values.
func isSops(object map[string]any) bool {
	block, _ := object[sopsKey].(map[string]any)
	return block["mac"] != nil || block["lastmodified"] != nil
}

// isEncrypted reports whether a value is one of SOPS.
func isEncrypted(v any) bool {
	text, _ := v.(string)
	return strings.HasPrefix(text, "ENC[") && strings.HasSuffix(text, "]")
}

// merge returns the old value with the encrypted values of the new one, and whether that changes it. It changes neither
// of them.
func (e *encryption) merge(newVal, oldVal any, at string) (merged any, changed bool) {
	switch o := oldVal.(type) {
	case map[string]any:
		n, _ := newVal.(map[string]any)
		out := o
		for name, was := range o {
			member, has := n[name]
			if !has {
				continue
			}
			if is, differs := e.merge(member, was, at+"/"+pointer.Escape(name)); differs {
				if !changed {
					changed, out = true, maps.Clone(o)
				}
				out[name] = is
			}
		}
		return out, changed
	case []any:
		n, _ := newVal.([]any)
		out := o
		for i := 0; i < len(o) && len(n) == len(o); i++ {
			if is, differs := e.merge(n[i], o[i], at+"/"+strconv.Itoa(i)); differs {
				if !changed {
					changed, out = true, slices.Clone(o)
				}
				out[i] = is
			}
		}
		return out, changed
	}
	return e.scalar(newVal, oldVal, at)
}

func (e *encryption) scalar(newVal, oldVal any, at string) (merged any, changed bool) {
	is, was := isEncrypted(newVal), isEncrypted(oldVal)
	switch {
	case !is && !was, jsonvalue.Equal(newVal, oldVal):
	case is && was && !e.secret:
		return newVal, true
	case is && was, is && e.newSops, was && e.oldSops:
		e.unknown = append(e.unknown, at)
		if key, ok := strings.CutPrefix(at, "/stringData/"); ok && e.secret {
			e.unknown = append(e.unknown, "/data/"+key) // where the server keeps it
		}
	}
	return oldVal, false
}

// excuseUnknown makes a violation unknown if its values depend on a value that the files do not have, such as a
// variable in an encrypted Secret.
func (v *verdict) excuseUnknown(p pair) {
	if len(v.Violations) == 0 || len(p.new.Document.Unknown)+len(p.old.Document.Unknown) == 0 {
		return
	}
	v.Violations = slices.DeleteFunc(v.Violations, func(violation result.Violation) bool {
		isUnknown := p.unknownAt(violation.Steps) || p.unknownBelow(&violation)
		if !isUnknown && len(violation.Differences) > 0 && violation.MoreDifferences == 0 {
			isUnknown = !slices.ContainsFunc(violation.Differences, func(d result.Difference) bool {
				return !p.unknownAt(fieldpath.Resolve(d.Path, p.new.Value(), p.old.Value()))
			})
		}
		if isUnknown {
			v.Unknown = append(v.Unknown, result.Remark{Path: violation.Path, Message: fmt.Sprintf(
				"refused if the value changes, which depends on a variable or a Secret whose value is not in the "+
					"files "+
					"(--render CMD can fill it in): %s", summary(&violation))})
		}
		return isUnknown
	})
	if !v.Refused() {
		v.replacement = nil
	}
}

// unknownAt reports whether a path is at or below a place whose value one of the sides does not tell.
func (p pair) unknownAt(at fieldpath.Path) bool { return isUnknown(p.new, at) || isUnknown(p.old, at) }

// unknownBelow reports whether all members are unknown that differ in the objects of a violation.
func (p pair) unknownBelow(v *result.Violation) bool {
	newVal, isObject := v.New.Data.(map[string]any)
	oldVal, both := v.Old.Data.(map[string]any)
	if !isObject || !both || !v.New.OK || !v.Old.OK || len(newVal) != len(oldVal) {
		return false
	}
	for name, member := range newVal {
		was, ok := oldVal[name]
		below := append(slices.Clip(v.Steps), name)
		if !ok || !jsonvalue.Equal(member, was) && !p.unknownAt(below) {
			return false
		}
	}
	return true
}

// isUnknown reports whether the file of an object does not tell the value at a path.
func isUnknown(o *manifest.Object, at fieldpath.Path) bool {
	return slices.ContainsFunc(o.Document.Unknown, func(place string) bool {
		unknown := pointer.Names(place)
		return len(unknown) <= len(at) && slices.EqualFunc(unknown, at[:len(unknown)],
			func(name string, step any) bool { return name == fieldpath.Name(step) })
	})
}
