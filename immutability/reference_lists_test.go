package immutability_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

func (r *reference) list(s *spec.Schema, path string, locks map[string][2]bool, new, old []any) {
	items := r.items(s)
	at := func(i int) string { return fmt.Sprintf("%s[%d]", path, i) }
	switch r.mark(s, "x-kubernetes-list-type") {
	case "set":
		for lock, refuses := range locks {
			if refuses[0] {
				for _, i := range r.missing(items, new, old) {
					r.report(at(i), lock)
				}
			}
			if refuses[1] {
				for _, i := range r.missing(items, old, new) {
					r.reportKey(path, lock, old[i])
				}
			}
		}
	case "map":
		if len(locks) > 0 || r.locked(items, map[string]bool{}) {
			r.keyed(s, path, locks, new, old)
		}
	default:
		for i := range min(len(new), len(old)) {
			r.pair(items, at(i), refSide{new[i], true}, refSide{old[i], true})
		}
	}
}

// missing returns the positions in a of what is not in b, with multiplicity, later ones first to be missing.
func (r *reference) missing(items *spec.Schema, a, b []any) []int {
	left := map[string]int{}
	for _, v := range b {
		left[r.text(items, r.ignored, v)]++
	}
	var at []int
	for i, v := range a {
		if text := r.text(items, r.ignored, v); left[text] > 0 {
			left[text]--
		} else {
			at = append(at, i)
		}
	}
	return at
}

func (r *reference) keyed(s *spec.Schema, path string, locks map[string][2]bool, new, old []any) {
	items := r.items(s)
	texts := func(list []any) string {
		var b strings.Builder
		for _, v := range list {
			b.WriteString(r.text(items, r.ignored, v) + ";")
		}
		return b.String()
	}
	for _, v := range append(slices.Clone(new), old...) {
		if kind(v) != "object" || v == nil {
			if texts(new) != texts(old) {
				r.report(path, "incomparable")
			}
			return
		}
	}
	positions := func(list []any, key string) []int {
		var at []int
		for i, v := range list {
			if text, _ := r.key(s, v); text == key {
				at = append(at, i)
			}
		}
		return at
	}
	pick := func(list []any, at []int) (out []any) {
		for _, i := range at {
			out = append(out, list[i])
		}
		return out
	}
	incomparable := ""
	done := map[string]bool{}
	for i, v := range new {
		text, tuple := r.key(s, v)
		is, was := positions(new, text), positions(old, text)
		switch {
		case len(was) == 0:
			for lock, refuses := range locks {
				if refuses[0] {
					r.report(fmt.Sprintf("%s[%d]", path, i), lock)
				}
			}
		case done[text]:
		case len(is) == 1 && len(was) == 1:
			r.pair(items, fmt.Sprintf("%s[%d]", path, i), refSide{v, true}, refSide{old[was[0]], true})
		case texts(pick(new, is)) != texts(pick(old, was)) && incomparable == "":
			incomparable = line(path, "incomparable", tuple, true)
		}
		done[text] = true
	}
	if incomparable != "" {
		r.lines = append(r.lines, incomparable)
	}
	for _, v := range old {
		text, tuple := r.key(s, v)
		if len(positions(new, text)) > 0 || done[text] {
			continue
		}
		done[text] = true
		for lock, refuses := range locks {
			if refuses[1] {
				r.reportKey(path, lock, tuple)
			}
		}
	}
}

// key returns the key of an item as text and as an object.
func (r *reference) key(s *spec.Schema, item any) (string, map[string]any) {
	var text strings.Builder
	tuple := map[string]any{}
	names, _ := r.mark(s, "x-kubernetes-list-map-keys").([]any)
	for _, name := range names {
		name := name.(string)
		value, ok := item.(map[string]any)[name]
		if field, _ := r.member(r.items(s), name); !ok && field != nil && field.Default != nil {
			value, ok = field.Default, true
		}
		if ok {
			tuple[name] = value
			text.WriteString(canonical(value))
		}
		text.WriteString("|")
	}
	return text.String(), tuple
}

// text is the canonical text of a value under its schema: two values are equal when their texts are.
func (r *reference) text(s *spec.Schema, ignored bool, v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for key := range v {
			if side := r.side(s, v, key); side.ok {
				child, _ := r.member(s, key)
				members = append(members, canonical(key)+":"+r.text(child, ignored, side.value))
			}
		}
		slices.Sort(members)
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		texts := make([]string, len(v))
		objects := true
		for i, item := range v {
			texts[i] = r.text(r.items(s), ignored, item)
			_, ok := item.(map[string]any)
			objects = objects && ok
		}
		switch topology := r.mark(s, "x-kubernetes-list-type"); {
		case topology == "set":
			slices.Sort(texts)
		case topology == "map" && ignored && objects:
			for i, item := range v {
				key, _ := r.key(s, item)
				texts[i] = key + "=" + texts[i]
			}
			slices.SortStableFunc(texts, func(a, b string) int {
				ka, _, _ := strings.Cut(a, "=")
				kb, _, _ := strings.Cut(b, "=")
				return strings.Compare(ka, kb)
			})
		}
		return "[" + strings.Join(texts, ",") + "]"
	}
	return canonical(v)
}

// canonical is the text of a value without a schema.
func canonical(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case string:
		return fmt.Sprintf("%x", "s"+v)
	case int64:
		return new(big.Rat).SetInt64(v).RatString()
	case float64:
		return new(big.Rat).SetFloat64(v).RatString()
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = canonical(item)
		}
		return "[" + strings.Join(texts, ",") + "]"
	case map[string]any:
		var members []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			members = append(members, canonical(key)+":"+canonical(v[key]))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	panic(fmt.Sprintf("%T is no JSON", v))
}
