package check

import "github.com/fieldlock/fieldlock/listtype"

// Differences returns what differs below the location of r, nil if r is all that differs. The trees of refusals inside
// each other share their parts.
func (m *Memo) Differences(r *Refusal) *Found {
	if !r.Whole || !IsContainer(r.New.Data) || !IsContainer(r.Old.Data) {
		return nil
	}
	f := m.difference(r.Field.Equality, r.Field.Redaction, r.New, r.Old)
	if f == nil || len(f.Below) == 0 {
		return nil
	}
	return f
}

// difference finds where two values differ under e; nil if they are equal. Where locks are nested, every pair of
// containers is visited once for all of them.
func (m *Memo) difference(e *Equality, r *Redaction, newVal, oldVal Value) *Found {
	if !newVal.OK || !oldVal.OK {
		if newVal.OK == oldVal.OK {
			return nil
		}
		return differs(r, newVal, oldVal)
	}
	p, containers := pairOf(e, newVal.Data, oldVal.Data)
	if !m.nested || !containers {
		return m.differenceOf(e, r, newVal, oldVal)
	}
	done, ok := m.differ[compared{p, r}]
	if !ok {
		done = m.differenceOf(e, r, newVal, oldVal)
		if m.differ == nil {
			m.differ = map[compared]*Found{}
		}
		m.differ[compared{p, r}] = done
	}
	return done
}

func (m *Memo) differenceOf(e *Equality, r *Redaction, newVal, oldVal Value) *Found {
	m.work++
	if e == nil {
		e = &Equality{}
	}
	switch is := newVal.Data.(type) {
	case map[string]any:
		if was, ok := oldVal.Data.(map[string]any); ok && is != nil && was != nil {
			return m.differenceOfObjects(e.Object, r, is, was)
		}
	case []any:
		if was, ok := oldVal.Data.([]any); ok && is != nil && was != nil {
			return m.differenceOfLists(e.List, r, is, was)
		}
	}
	if m.equalJSON(newVal.Data, oldVal.Data) {
		return nil
	}
	return differs(r, newVal, oldVal)
}

// differs is a difference at the location itself.
func differs(r *Redaction, newVal, oldVal Value) *Found {
	return refuse(Refusal{Field: &Field{Redaction: r}, New: newVal, Old: oldVal})
}

func (m *Memo) differenceOfObjects(o *ObjectEquality, r *Redaction, newObj, oldObj map[string]any) *Found {
	if o == nil {
		o = &ObjectEquality{}
	}
	var f *Found
	value := func(mem Member, object map[string]any, name string) Value {
		v := member(object, name)
		if v.OK && m.Absent(mem.Presence, v.Data) {
			return Value{}
		}
		return v
	}
	compare := func(name string) {
		mem := o.member(name)
		f = f.add(m.difference(mem.Equality, r.Member(name), value(mem, newObj, name), value(mem, oldObj, name)), property(name))
	}
	for name := range newObj {
		compare(name)
	}
	for name := range oldObj {
		if _, both := newObj[name]; !both {
			compare(name)
		}
	}
	return f
}

func (m *Memo) differenceOfLists(l *ListEquality, r *Redaction, newList, oldList []any) *Found {
	if l == nil {
		l = &ListEquality{}
	}
	switch l.Kind {
	case AsSet:
		var f *Found
		added, removed := m.changed(l.Items, newList, oldList)
		for _, i := range added {
			f = f.add(differs(r.Item(), present(newList[i]), Value{}), index(i))
		}
		for _, i := range removed {
			f = f.and(differs(r.Item(), Value{}, present(oldList[i])))
		}
		return f
	case ByKey:
		return m.differenceByKey(l, r, newList, oldList)
	}
	return m.differenceInOrder(l.Items, r, newList, oldList)
}

func (m *Memo) differenceInOrder(items *Equality, r *Redaction, newList, oldList []any) *Found {
	var f *Found
	for i := range max(len(newList), len(oldList)) {
		var is, was Value
		if i < len(newList) {
			is = present(newList[i])
		}
		if i < len(oldList) {
			was = present(oldList[i])
		}
		f = f.add(m.difference(items, r.Item(), is, was), index(i))
	}
	return f
}

func (m *Memo) differenceByKey(l *ListEquality, r *Redaction, newList, oldList []any) *Found {
	if !allObjects(newList) || !allObjects(oldList) || !listtype.Unique(newList, l.Keys) || !listtype.Unique(oldList, l.Keys) {
		m.nested = true // each level below compares again what is compared here
		if m.equalLists(l, newList, oldList) {
			return nil
		}
		return m.differenceInOrder(l.Items, r, newList, oldList)
	}
	news, olds := listtype.NewIndex(newList, l.Keys), listtype.NewIndex(oldList, l.Keys)
	var f *Found
	for i, item := range newList {
		var was Value
		if j := olds.First(item); j >= 0 {
			was = present(oldList[j])
		}
		f = f.add(m.difference(l.Items, r.Item(), present(item), was), index(i))
	}
	for _, item := range oldList {
		if news.First(item) < 0 {
			f = f.and(differs(r.Item(), Value{}, present(item)))
		}
	}
	return f
}

// changed returns the indices of the items that only one of two sets has, counted with multiplicity.
func (m *Memo) changed(items *Equality, newList, oldList []any) (added, removed []int) {
	i := 0
	for i < len(newList) && i < len(oldList) && m.likely(items, newList[i], oldList[i]) && m.Equal(items, newList[i], oldList[i]) {
		i++
	}
	added, removed = listtype.Changed(newList[i:], oldList[i:], m.items(items))
	for j := range added {
		added[j] += i
	}
	for j := range removed {
		removed[j] += i
	}
	return added, removed
}
