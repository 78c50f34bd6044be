package builtin

import (
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// merged is a field in the tree of a kind, as an apply merges it.
type merged struct{ *kind.Field }

func (f merged) property(name string) merged { return merged{f.Property(name)} }
func (f merged) item() merged                { return merged{f.Items()} }

// apply returns what a server holds once newObj has been applied over stored by the one who applied oldObj before.
// What oldObj had and newObj leaves out is removed with everything below it; what only the server set stays. null in
// newObj removes. A server-side apply stores null, which is an empty text in a map of texts and nothing elsewhere; in place of an
// object, it takes null for an empty one, and so leaves what the server set in it. The result shares values with its inputs,
// which stay as they are.
//
//	stored  {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}   the second is a default
//	old     {type: RollingUpdate}
//	new     {type: Recreate}
//	result  {type: Recreate, rollingUpdate: {maxSurge: 25%}}         server-side
//	        {type: Recreate}                                         client-side, where a change of type replaces the members
func (f merged) apply(by Applier, stored, oldObj, newObj map[string]any) map[string]any {
	out := make(map[string]any, len(stored)+len(newObj))
	for name, value := range stored {
		_, kept := newObj[name]
		if was, owned := oldObj[name]; owned && !kept && !f.property(name).ownsNothing(was) {
			continue
		}
		out[name] = value
	}
	for name, value := range newObj {
		if value == nil && !by.keepsBelowNull(f.property(name), stored[name]) {
			was, again := oldObj[name]
			held, stays := stored[name]
			switch {
			case by == ApplierServerSide:
				out[name] = nil
			case stays && held == nil: // in text that the server stores as it is
			case by == ApplierClientSide || !again || was != nil:
				delete(out, name)
			}
			continue
		}
		if value == nil {
			value = emptyLike(stored[name])
		}
		out[name] = f.property(name).merge(by, stored[name], oldObj[name], value)
		if is, ok := out[name].(map[string]any); ok && len(is) == 0 && by.leavesNothing(f.property(name), newObj[name], stored[name]) {
			delete(out, name)
		}
	}
	if f.Field != nil && f.RetainKeys && by == ApplierClientSide && f.changes(stored, oldObj, newObj) {
		maps.DeleteFunc(out, func(name string, _ any) bool { _, named := newObj[name]; return !named })
	}
	return out
}

// keepsBelowNull reports whether null takes away only what the manifest had in an object, or in a list that is merged by item.
func (by Applier) keepsBelowNull(f merged, stored any) bool {
	if by != ApplierServerSide {
		return false
	}
	switch stored.(type) {
	case map[string]any:
		return f.Field == nil || !f.Atomic
	case []any:
		return f.Field != nil && (len(f.Keys) > 0 || f.MergeSet)
	}
	return false
}

func emptyLike(value any) any {
	if _, isList := value.([]any); isList {
		return []any{}
	}
	return map[string]any{}
}

// leavesNothing reports whether an object that an apply leaves without members is gone: for a server-side apply if the manifest has
// null, or if it has {} and members were removed. An object that is replaced as a whole is empty then, as is one that has lost a member
// below which nothing was left.
func (by Applier) leavesNothing(f merged, newVal, stored any) bool {
	was, _ := stored.(map[string]any)
	named, _ := newVal.(map[string]any)
	return by == ApplierServerSide && len(named) == 0 && (newVal == nil || len(was) > 0 && (f.Field == nil || !f.Atomic))
}

// holdsEmpty reports whether there is null or {} in a value.
func holdsEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if holdsEmpty(member) {
				return true
			}
		}
		return len(value) == 0
	case []any:
		return slices.ContainsFunc(value, holdsEmpty)
	}
	return value == nil
}

// changes reports whether a client-side apply sends anything of an object: only then its patch says which members to retain.
func (f merged) changes(stored, oldObj, newObj map[string]any) bool {
	for name, value := range newObj {
		if was, ok := stored[name]; !ok && value != nil || ok && !jsonvalue.Equal(f.property(name).merge(ApplierClientSide, was, oldObj[name], value), was) {
			return true
		}
	}
	for name := range oldObj {
		if _, kept := newObj[name]; !kept {
			return true
		}
	}
	return false
}

// ownsNothing reports whether dropping a value of the old manifest leaves what the server has: the value is an empty list that is
// merged by item.
func (f merged) ownsNothing(was any) bool {
	list, ok := was.([]any)
	return ok && len(list) == 0 && f.Field != nil && (len(f.Keys) > 0 || f.MergeSet)
}

// merge is apply for one value, which is not null.
func (f merged) merge(by Applier, stored, oldVal, newVal any) any {
	if _, isMap := newVal.(map[string]any); f.Field != nil && f.Atomic && !(isMap && by == ApplierClientSide) {
		return newVal
	}
	switch newVal := newVal.(type) {
	case map[string]any:
		storedObj, ok := stored.(map[string]any)
		if !ok {
			return newVal
		}
		oldObj, _ := oldVal.(map[string]any)
		return f.apply(by, storedObj, oldObj, newVal)
	case []any:
		storedList, ok := stored.([]any)
		oldList, _ := oldVal.([]any)
		switch {
		case !ok || f.Field == nil:
		case len(f.Keys) > 0:
			return f.mergeKeyed(by, storedList, oldList, newVal)
		case f.MergeSet:
			return mergeSet(storedList, oldList, newVal)
		}
	}
	return newVal
}

// mergeKeyed merges lists whose items have keys. The items of newList come first, in their order; then those that
// nobody removed. A client-side apply merges the items of newList that have the same keys, and the first of them counts; a
// server-side apply refuses such a list.
func (f merged) mergeKeyed(by Applier, stored, oldList, newList []any) any {
	out := make([]any, 0, len(newList))
	for _, item := range newList {
		newItem, ok := item.(map[string]any)
		if !ok {
			return newList
		}
		if i := f.index(out, newItem); i >= 0 && by != ApplierServerSide && f.count(stored, newItem) <= 1 {
			first, _ := out[i].(map[string]any)
			out[i] = f.item().apply(by, newItem, nil, first)
			continue
		}
		was, _ := f.find(stored, newItem).(map[string]any)
		old, _ := f.find(oldList, newItem).(map[string]any)
		if was == nil {
			out = append(out, newItem)
			continue
		}
		out = append(out, f.item().apply(by, was, old, newItem))
	}
	for _, item := range stored {
		was, _ := item.(map[string]any)
		if f.find(newList, was) == nil && f.find(oldList, was) == nil {
			out = append(out, item)
		}
	}
	return out
}

// find returns the item of list with the keys of like, or nil.
func (f merged) find(list []any, like map[string]any) any {
	if i := f.index(list, like); i >= 0 {
		return list[i]
	}
	return nil
}

// index returns the place in list of the first item with the keys of like, or -1.
func (f merged) index(list []any, like map[string]any) int {
	return slices.IndexFunc(list, func(item any) bool {
		o, ok := item.(map[string]any)
		return ok && f.sameKeys(o, like)
	})
}

// count returns how many items of list have the keys of like.
func (f merged) count(list []any, like map[string]any) int {
	n := 0
	for i := f.index(list, like); i >= 0; i = f.index(list, like) {
		n, list = n+1, list[i+1:]
	}
	return n
}

func (f merged) sameKeys(a, b map[string]any) bool {
	for _, key := range f.Keys {
		if !jsonvalue.Equal(f.key(a, key), f.key(b, key)) {
			return false
		}
	}
	return true
}

// key returns the key of an item, or its default.
func (f merged) key(item map[string]any, key string) any {
	if value, ok := item[key]; ok && value != nil {
		return value
	}
	if p := f.item().property(key); p.Field != nil && p.Default != nil {
		return *p.Default
	}
	return nil
}

// mergeSet merges lists that are sets: the items of newList, then the items of stored that nobody removed.
func mergeSet(stored, oldList, newList []any) any {
	has := func(list []any, item any) bool {
		return slices.ContainsFunc(list, func(other any) bool { return jsonvalue.Equal(other, item) })
	}
	out := append([]any(nil), newList...)
	for _, item := range stored {
		if !has(newList, item) && !has(oldList, item) {
			out = append(out, item)
		}
	}
	return out
}
