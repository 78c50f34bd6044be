package check

import "github.com/fieldlock/fieldlock/internal/jsonscan"

// checkJSON is check of two objects that p has next, for objects of which only properties are locked.
func (n *Object) checkJSON(m *Memo, p *jsonscan.Pair) *Found {
	var few [4]memberPair
	pairs := few[:]
	if len(n.Properties) > len(few) {
		pairs = make([]memberPair, len(n.Properties))
	}
	pairs = pairs[:len(n.Properties)]
	for members := p.Members(); members.Next(); {
		i, ok := n.find(members.Name())
		switch {
		case !ok && members.In == jsonscan.Both:
			p.Skip()
		case !ok:
			p.SkipOne(members.In)
		default:
			pairs[i].read(m, p, members.In, &n.Properties[i])
		}
	}
	if p.Failed() {
		return nil
	}
	var f *Found
	for i := range pairs {
		f = f.add(pairs[i].check(m, p, &n.Properties[i]), property(n.Properties[i].Name))
	}
	return f
}

// memberPair is a property in two objects. Of several members with one name the last counts.
type memberPair struct {
	at           jsonscan.Place
	inNew, inOld bool // which objects have it
	checked      bool // found is what the last ones break
	found        *Found
}

// read reads the value of a member.
func (v *memberPair) read(m *Memo, p *jsonscan.Pair, in jsonscan.Side, prop *Property) {
	at := p.Here()
	if in != jsonscan.Old {
		v.at.New, v.inNew = at.New, true
	}
	if in != jsonscan.New {
		v.at.Old, v.inOld = at.Old, true
	}
	if v.checked = in == jsonscan.Both; v.checked {
		v.found = prop.CheckJSON(m, p)
		return
	}
	p.SkipOne(in)
}

// check returns what the property breaks, when both objects are read.
func (v *memberPair) check(m *Memo, p *jsonscan.Pair, prop *Property) *Found {
	if v.inNew && v.inOld && !v.checked {
		if here, ok := p.Again(v.at); ok {
			v.checked, v.found = true, prop.CheckJSON(m, p)
			p.Resume(here)
		}
	}
	if v.checked {
		return v.found
	}
	var newVal, oldVal Value
	if v.inNew {
		newVal = present(m.hold(p.NewValue(v.at)))
	}
	if v.inOld {
		oldVal = present(m.hold(p.OldValue(v.at)))
	}
	return prop.Check(m, newVal, oldVal)
}
