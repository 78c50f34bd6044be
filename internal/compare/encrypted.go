package compare

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// SOPS encrypts the values of a file, each as ENC[…], and writes keys and checksums below the key "sops". Whoever applies the file
// decrypts it and drops that key. Each encryption writes other texts, also of values that did not change.

// sopsKey is not part of the object.
const sopsKey = "sops"

// encryption compares the encrypted values of a pair.
type encryption struct {
	secret           bool     // it is an immutable Secret
	newSops, oldSops bool     // the sides have the key
	unknown          []string // places, as in yamldoc.Document
}

// sealed returns the pair without what encryption alone has changed: the old object gets the encrypted values of the new one where it
// has such a value, too. In an immutable Secret, where every change is refused, they are unknown instead; so is a value that only one
// side has encrypted. changed is false for a pair without encrypted values that differ.
func sealed(p pair) (q pair, changed bool) {
	if p.new == nil || p.old == nil {
		return p, false
	}
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
		return p, false
	}
	old, document := *p.old, *p.old.Document
	document.Unknown = slices.Concat(document.Unknown, e.unknown)
	if old.Document = &document; old.Stored == nil {
		document.Object = merged
	}
	p.old = &old
	return p, true
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

// merge returns the old value with the encrypted values of the new one, and whether that changes it. It changes neither of them.
func (e *encryption) merge(newVal, oldVal any, at string) (merged any, changed bool) {
	switch o := oldVal.(type) {
	case map[string]any:
		n, _ := newVal.(map[string]any)
		result := o
		for name, was := range o {
			member, has := n[name]
			if !has {
				continue
			}
			if is, differs := e.merge(member, was, at+"/"+pointer.Escape(name)); differs {
				if !changed {
					changed, result = true, maps.Clone(o)
				}
				result[name] = is
			}
		}
		return result, changed
	case []any:
		n, _ := newVal.([]any)
		result := o
		for i := 0; i < len(o) && len(n) == len(o); i++ {
			if is, differs := e.merge(n[i], o[i], at+"/"+strconv.Itoa(i)); differs {
				if !changed {
					changed, result = true, slices.Clone(o)
				}
				result[i] = is
			}
		}
		return result, changed
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
