package markers

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// marks are the keys for one schema node, in the order of their markers and merged per key.
type marks []mark

// get returns the mark with this key.
func (m marks) get(key string) (mark, bool) { return m.first(func(k string) bool { return k == key }) }

// lock returns the first mark that is a lock.
func (m marks) lock() (mark, bool) { return m.first(schema.IsLockKey) }

// own returns the first mark with a key that only fieldlock reads.
func (m marks) own() (mark, bool) { return m.first(isOwn) }

func (m marks) first(is func(key string) bool) (mark, bool) {
	i := slices.IndexFunc(m, func(k mark) bool { return is(k.key) })
	if i < 0 {
		return mark{}, false
	}
	return m[i], true
}

// isOwn reports whether only fieldlock reads key.
func isOwn(key string) bool { return slices.Contains(schema.OwnKeys(), key) }

// extensions returns the keys with their values, for schema.Read.
func (m marks) extensions() map[string]any {
	if len(m) == 0 {
		return nil
	}
	ext := make(map[string]any, len(m))
	for _, k := range m {
		ext[k.key] = k.value
	}
	return ext
}

// with merges k into m: words and map keys add up, other keys have one value. m is not changed.
func (m marks) with(k mark, p *problems) marks {
	i := slices.IndexFunc(m, func(other mark) bool { return other.key == k.key })
	if i < 0 {
		return append(slices.Clip(m), k)
	}
	m = slices.Clone(m)
	was, isList := m[i].value.([]string)
	if !isList {
		if m[i].value != k.value {
			p.of(k, "%s is already %q by %s in line %d: remove one", k.key, m[i].value, m[i].text, m[i].pos.Line)
		}
		return m
	}
	all := slices.Clone(was)
	for _, word := range k.value.([]string) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	if k.key == schema.KeyUpdate {
		all = slices.DeleteFunc(schema.Words(), func(word string) bool { return !slices.Contains(all, word) })
	}
	m[i].value = all
	return m
}

// levels are the marks of one field or type: of its own schema node, of its items or values, of theirs, and so on.
type levels []marks

func (l levels) at(depth int) marks {
	if depth < len(l) {
		return l[depth]
	}
	return nil
}

// with merges k into depth. l is not changed.
func (l levels) with(depth int, k mark, p *problems) levels {
	l = slices.Clone(l)
	for len(l) <= depth {
		l = append(l, nil)
	}
	l[depth] = l[depth].with(k, p)
	return l
}

// merge returns l with the marks of other, which come after: their topology overrides l's, as for other tools.
func (l levels) merge(other levels, p *problems) levels {
	for depth, marks := range other {
		for _, k := range marks {
			if !isOwn(k.key) {
				l = l.without(depth, k.key)
			}
		}
		for _, k := range marks {
			l = l.with(depth, k, p)
		}
	}
	return l
}

// without returns l without a key at depth. l is not changed.
func (l levels) without(depth int, key string) levels {
	if _, there := l.at(depth).get(key); !there {
		return l
	}
	l = slices.Clone(l)
	l[depth] = slices.DeleteFunc(slices.Clone(l[depth]), func(k mark) bool { return k.key == key })
	return l
}

// below returns the levels of the items or values.
func (l levels) below() levels {
	if len(l) < 2 {
		return nil
	}
	return l[1:]
}
