package check

// fewMembers is up to how many properties oldMembers read. With their values, matching two lists takes at most twice the
// memory of an index.
const fewMembers = 2

// oldMembers are the locked properties of the items of an old list, read in the order of the list.
//
//	old: [{"name": "a", "zone": "x"}, {"name": "b"}, {"name": "c", "zone": "y"}]  →  "x", absent, "y"
//
// In long lists in another order, most of the time is spent waiting for memory: for an old item that is looked up, for the
// table of its members and for their names. Objects that were decoded one after the other are read fast one after the other;
// then only the values are met in another order.
type oldMembers struct {
	properties []Property
	values     []any // of the properties, item by item
}

// absent is the value of a property that an item lacks.
type absent struct{}

// readMembers reads the members of a list of objects.
func readMembers(properties []Property, list []any) oldMembers {
	o := oldMembers{properties, make([]any, 0, len(properties)*len(list))}
	for _, item := range list {
		object := item.(map[string]any)
		for i := range properties {
			value, ok := object[properties[i].Name]
			if !ok {
				value = absent{}
			}
			o.values = append(o.values, value)
		}
	}
	return o
}

// check compares a new item with the old one at an index.
func (o oldMembers) check(m *Memo, newObj map[string]any, at int) *Found {
	var f *Found
	for i := range o.properties {
		p := &o.properties[i]
		was := present(o.values[at*len(o.properties)+i])
		if was.Data == (absent{}) {
			was = Value{}
		}
		f = f.add(p.Check(m, member(newObj, p.Name), was), property(p.Name))
	}
	return f
}
