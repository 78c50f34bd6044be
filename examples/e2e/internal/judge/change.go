package judge

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

// changer makes random changes of manifests of one kind. It takes fields and values from manifests of that kind, so
// that what it makes is mostly valid. It also writes values in other forms, writes out defaults, and takes another
// manifest as a whole.
type changer struct {
	rand   *rand.Rand
	values map[string][]any // by path with "*" for indices: what manifests have there
	paths  []string
	named  map[string][]any // by the name of the field, in any kind

	manifests []map[string]any

	unknown bool // makes fields that no kind has, too
}

// newChanger learns from manifests.
// Others are manifests of other kinds.
func newChanger(seed uint64, manifests, others []map[string]any) *changer {
	c := &changer{rand: rand.New(rand.NewPCG(seed, 7)), values: map[string][]any{}, manifests: manifests}
	for _, m := range manifests {
		c.learn("", m)
	}
	for path := range c.values {
		c.paths = append(c.paths, path)
	}
	sort.Strings(c.paths)
	all := changer{values: map[string][]any{}}
	for _, m := range slices.Concat(manifests, others) {
		all.learn("", m)
	}
	c.named = map[string][]any{}
	for _, path := range slices.Sorted(maps.Keys(all.values)) {
		name := strings.ReplaceAll(path[strings.LastIndexByte(strings.TrimSuffix(path, "\x00*"), 0)+1:], "\x00*", "[]")
		c.named[name] = append(c.named[name], all.values[path]...)
	}
	return c
}

func (c *changer) learn(path string, value any) {
	if fixed(path) || value == nil { // disturb writes null itself
		return
	}
	if path != "" && len(c.values[path]) < 40 {
		c.values[path] = append(c.values[path], value)
	}
	switch value := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			c.learn(path+"\x00"+name, value[name])
		}
	case []any:
		for _, item := range value {
			c.learn(path+"\x00*", item)
		}
	}
}

// fixed reports whether a path is what makes an object that object.
func fixed(path string) bool {
	switch strings.ReplaceAll(path, "\x00", ".") {
	case ".apiVersion", ".kind", ".metadata.name", ".metadata.namespace":
		return true
	}
	return false
}

// change returns a copy of a manifest with n changes.
func (c *changer) change(manifest map[string]any, n int) map[string]any {
	out := copyOf(manifest)
	switch c.rand.IntN(20) {
	case 0: // all at once
		out = copyOf(c.manifests[c.rand.IntN(len(c.manifests))])
	case 1:
		if written := withDefaults(out); written != nil {
			out = written
		}
	}
	for range n {
		switch c.rand.IntN(8) {
		case 0:
			c.respell(out)
			continue
		case 1:
			c.grow(out)
			continue
		}
		if c.rand.IntN(3) > 0 {
			out, _ = c.set(out, strings.Split(c.paths[c.rand.IntN(len(c.paths))], "\x00")[1:]).(map[string]any)
			continue
		}
		c.disturb("", out)
	}
	return keepName(out, manifest)
}

// keepName gives a changed manifest the name of the one that it was made from: it stays that object.
func keepName(out, manifest map[string]any) map[string]any {
	was, _ := manifest["metadata"].(map[string]any)
	is, ok := out["metadata"].(map[string]any)
	if !ok {
		is = map[string]any{}
		out["metadata"] = is
	}
	for _, name := range []string{"name", "namespace"} {
		delete(is, name)
		if value, ok := was[name]; ok {
			is[name] = value
		}
	}
	return out
}

// set puts a value that some manifest has at a path there; objects on the way are made. Lists on the way have to be
// there.
func (c *changer) set(manifest any, path []string) any {
	var put func(at any, done string, rest []string) any
	put = func(at any, done string, rest []string) any {
		if len(rest) == 0 {
			known := c.values[done]
			return deepCopy(known[c.rand.IntN(len(known))])
		}
		next := done + "\x00" + rest[0]
		if rest[0] == "*" {
			list, _ := at.([]any)
			i := c.rand.IntN(len(list) + 1)
			if i == len(list) {
				if len(rest) > 1 {
					return at
				}
				return append(list, put(nil, next, rest[1:]))
			}
			list[i] = put(list[i], next, rest[1:])
			return list
		}
		object, ok := at.(map[string]any)
		if !ok {
			if at != nil {
				return at
			}
			object = map[string]any{}
		}
		if value := put(object[rest[0]], next, rest[1:]); value != nil {
			object[rest[0]] = value
		}
		return object
	}
	return put(manifest, "", path)
}

// disturb drops, empties, reorders or nulls something somewhere in a value.
func (c *changer) disturb(path string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	names := make([]string, 0, len(object))
	for name := range object {
		if !fixed(path + "\x00" + name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	sort.Strings(names)
	name := names[c.rand.IntN(len(names))]
	at := path + "\x00" + name
	if c.unknown && c.rand.IntN(8) == 0 {
		object["colour"] = int64(c.rand.IntN(3))
		return
	}
	if c.rand.IntN(8) == 0 {
		object[name] = nil
		return
	}
	switch member := object[name].(type) {
	case map[string]any:
		if c.rand.IntN(5) > 0 && len(member) > 0 {
			c.disturb(at, member)
			return
		}
		if c.rand.IntN(4) == 0 {
			object[name] = map[string]any{}
			return
		}
	case []any:
		switch c.rand.IntN(4) {
		case 0:
			c.rand.Shuffle(len(member), func(i, j int) { member[i], member[j] = member[j], member[i] })
			return
		case 1:
			if len(member) > 0 {
				object[name] = slices.Delete(member, 0, 1)
				return
			}
		default:
			if len(member) > 0 {
				c.disturb(at+"\x00*", member[c.rand.IntN(len(member))])
				return
			}
		}
	case bool:
		if c.rand.IntN(2) == 0 {
			object[name] = !member
			return
		}
	case string:
		if c.rand.IntN(6) == 0 {
			object[name] = ""
			return
		}
	}
	delete(object, name)
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return copyOf(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = deepCopy(item)
		}
		return out
	}
	return v
}
