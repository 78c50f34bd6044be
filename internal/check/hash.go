package check

import (
	"hash/maphash"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// hashJSON is jsonvalue.Hash, counted.
func (m *Memo) hashJSON(v any) uint64 {
	if m.looksAt != nil {
		m.work += m.looksAt(v, v)
	}
	return jsonvalue.Hash(m.seedOnce(), v)
}

// Hash returns a hash that values share if they are equal under e. Hashes of one Memo can be compared with each other.
func (m *Memo) Hash(e *Equality, v any) uint64 {
	m.seedOnce()
	id, container := identityOf(v)
	if e == nil || !container {
		return m.hashJSON(v)
	}
	key := hashed{e, id}
	if hash, ok := m.hashes[key]; ok {
		return hash
	}
	m.work++
	var hash uint64
	switch v := v.(type) {
	case map[string]any:
		if e.Object == nil {
			return m.hashJSON(v)
		}
		hash = m.hashObject(e.Object, v)
	case []any:
		if e.List == nil {
			return m.hashJSON(v)
		}
		hash = m.hashList(e.List, v)
	}
	if e.unordered { // other values are hashed once, as items of one list
		if m.hashes == nil {
			m.hashes = map[hashed]uint64{}
		}
		m.hashes[key] = hash
	}
	return hash
}

func (m *Memo) hashObject(o *ObjectEquality, v map[string]any) uint64 {
	sum := maphash.String(m.seed, "{")
	for key, value := range v {
		if member := o.member(key); !m.Absent(member.Presence, value) {
			sum += jsonvalue.HashMember(m.seed, key, m.Hash(member.Equality, value))
		}
	}
	return jsonvalue.Mix(sum)
}

func (m *Memo) hashList(l *ListEquality, v []any) uint64 {
	switch l.Kind {
	case AsSet:
		sum := maphash.String(m.seed, "set")
		for _, item := range v {
			sum += jsonvalue.Mix(m.Hash(l.Items, item))
		}
		return jsonvalue.Mix(sum)
	case ByKey:
		sum := maphash.String(m.seed, "map")
		for _, item := range v {
			sum += jsonvalue.Mix(l.Keys.Hash(m.seed, item)*31 ^ m.Hash(l.Items, item))
		}
		return jsonvalue.Mix(sum)
	}
	h := maphash.String(m.seed, "list")
	for _, item := range v {
		h = jsonvalue.Mix(h ^ m.Hash(l.Items, item))
	}
	return h
}
