package immutability

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// CheckJSON is ValidateUpdateJSON with old values, locks and schema paths. The Report is zero when there is an error, so
// look at the error first: a zero Report is an allowed update.
func (v *Validator) CheckJSON(newJSON, oldJSON []byte) (Report, error) {
	p := jsonscan.NewPair(newJSON, oldJSON)
	if is, was := p.Kinds(); is == '{' && was == '{' {
		f := v.checkPair(p)
		if p.End() {
			return report(f), nil
		}
	}
	// One of them is null or no object: let the decoder say what is wrong.
	var newObj, oldObj map[string]any
	if err := json.Unmarshal(newJSON, &newObj); err != nil {
		return Report{}, fmt.Errorf("the new object: %w", err)
	}
	if err := json.Unmarshal(oldJSON, &oldObj); err != nil {
		return Report{}, fmt.Errorf("the old object: %w", err)
	}
	return v.Check(newObj, oldObj), nil
}

func (v *Validator) checkPair(p *jsonscan.Pair) *found {
	if v.root == nil {
		p.Skip()
		return nil
	}
	return v.root.checkJSON(p)
}

// checkValues is checkJSON for a node that needs the values where they differ: equal values break no lock.
func checkValues(n node, p *jsonscan.Pair) *found {
	at := p.Here()
	if p.Skip() {
		return nil
	}
	return n.check(side{p.NewValue(at), true}, side{p.OldValue(at), true})
}

// checkJSON is checkObject of two objects that p has next. Only properties are locked.
func (n *object) checkJSON(p *jsonscan.Pair) *found {
	var few [4]memberPair
	pairs := few[:]
	if len(n.properties) > len(few) {
		pairs = make([]memberPair, len(n.properties))
	}
	pairs = pairs[:len(n.properties)]
	for m := p.Members(); m.Next(); {
		i, ok := n.property(m.Name())
		switch {
		case !ok && m.In == jsonscan.Both:
			p.Skip()
		case !ok:
			p.SkipOne(m.In)
		default:
			pairs[i].read(p, m.In, &n.properties[i])
		}
	}
	if p.Failed() {
		return nil
	}
	var f *found
	for i := range pairs {
		f = f.add(pairs[i].check(p, &n.properties[i]), step{at: atProperty, name: n.properties[i].name})
	}
	return f
}

// memberPair is a property in two objects: of members with one name the last counts.
type memberPair struct {
	at       jsonscan.Place
	new, old bool // which objects have it
	checked  bool // found is what the last ones break
	found    *found
}

// read reads the value of a member.
func (m *memberPair) read(p *jsonscan.Pair, in jsonscan.Side, prop *property) {
	at := p.Here()
	if in != jsonscan.Old {
		m.at.New, m.new = at.New, true
	}
	if in != jsonscan.New {
		m.at.Old, m.old = at.Old, true
	}
	if m.checked = in == jsonscan.Both; m.checked {
		m.found = prop.checkJSON(p)
		return
	}
	p.SkipOne(in)
}

// check returns what the property breaks, when both objects are read.
func (m *memberPair) check(p *jsonscan.Pair, prop *property) *found {
	if m.new && m.old && !m.checked {
		if here, ok := p.Again(m.at); ok {
			m.checked, m.found = true, prop.checkJSON(p)
			p.Resume(here)
		}
	}
	if m.checked {
		return m.found
	}
	var new, old side
	if m.new {
		new = side{p.NewValue(m.at), true}
	}
	if m.old {
		old = side{p.OldValue(m.at), true}
	}
	return prop.check(new, old)
}
