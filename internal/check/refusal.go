package check

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/listindex"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Incomparable is the lock of a refusal where a lock applies and the two values cannot be compared.
const Incomparable schema.Lock = "incomparable"

// Field is what comparing and reporting need to know of a location with locks.
type Field struct {
	LockPath  *schema.Path // schema path of its locks
	Equality  *Equality    // of its values
	Redaction *Redaction   // of its values
}

// Found is what an update breaks at one location and below it. A check builds it while it returns from a difference, so
// that no path is kept on the way down, and the paths of the report share their beginnings.
type Found struct {
	Here  []*Refusal
	Below []Below

	count int // of all refusals, 0 for not counted yet
}

// Below is what was found one step below a location.
type Below struct {
	Step Step
	*Found
}

// Refusal is one lock that the update breaks.
type Refusal struct {
	Lock     schema.Lock
	LockPath *schema.Path // where the lock is in the schema
	Field    *Field       // of the values; nil for none
	New, Old Value
	Key      Value  // the key that was removed, or that incomparable items share
	Whole    bool   // the whole value is locked: the differences below it are of interest
	Note     string // why the values cannot be compared
}

// Step leads from a location to one below it.
type Step struct {
	Role  schema.Role
	Name  string // of a property or key
	Index int    // of an item
}

func property(name string) Step { return Step{Role: schema.Property, Name: name} }
func key(name string) Step      { return Step{Role: schema.Values, Name: name} }
func index(i int) Step          { return Step{Role: schema.Items, Index: i} }

// Path returns the path one step below path.
func (s Step) Path(path *field.Path) *field.Path {
	switch {
	case s.Role == schema.Items:
		return path.Index(s.Index)
	case s.Role == schema.Values:
		return path.Key(s.Name)
	case path == nil:
		return field.NewPath(s.Name)
	}
	return path.Child(s.Name)
}

// compare orders the steps of one location: properties and keys by name, or items by index.
func (s Step) compare(t Step) int {
	return cmp.Or(strings.Compare(s.Name, t.Name), cmp.Compare(s.Index, t.Index))
}

// refuse returns a Found with one refusal.
func refuse(r Refusal) *Found { return &Found{Here: []*Refusal{&r}} }

// and adds what was found at the same location; either may be nil.
func (f *Found) and(g *Found) *Found {
	if f == nil {
		return g
	}
	if g != nil {
		f.Here = append(f.Here, g.Here...)
		f.Below = append(f.Below, g.Below...)
	}
	return f
}

// add adds what was found one step below; g may be nil.
func (f *Found) add(g *Found, s Step) *Found {
	if g == nil {
		return f
	}
	if f == nil {
		f = &Found{}
	}
	f.Below = append(f.Below, Below{s, g})
	return f
}

// Sorted returns what was found below, in the order of its steps.
func (f *Found) Sorted() []Below {
	slices.SortStableFunc(f.Below, func(a, b Below) int { return a.Step.compare(b.Step) })
	return f.Below
}

// Count returns how many refusals f has.
func (f *Found) Count() int {
	if f.count == 0 {
		f.count = len(f.Here)
		for _, g := range f.Below {
			f.count += g.Count()
		}
	}
	return f.count
}

// Differences returns what differs below the location of r, nil if r is all that differs. The trees of refusals inside
// each other share their parts.
func (m *Memo) Differences(r *Refusal) *Found {
	if !r.Whole {
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
		f = f.add(m.difference(mem.Equality, r.Member(name), value(mem, newObj, name), value(mem, oldObj, name)),
			property(name))
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
	if !allObjects(newList) || !allObjects(oldList) || !listindex.Unique(newList, l.Keys) ||
		!listindex.Unique(oldList, l.Keys) {
		m.nested = true // each level below compares again what is compared here
		if m.equalLists(l, newList, oldList) {
			return nil
		}
		return m.differenceInOrder(l.Items, r, newList, oldList)
	}
	news, olds := listindex.NewIndex(newList, l.Keys), listindex.NewIndex(oldList, l.Keys)
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
