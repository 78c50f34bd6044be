package normalize

import "reflect"

// Absences answers [Property.Absent] for the objects of one tree. Absent looks through an object until it finds a member
// that is not absent, which may be at the very bottom; asked about each level of a deep object, Absences still visits
// each level once. The zero value is ready. It is for one goroutine, and for objects that do not change meanwhile.
type Absences struct {
	known   map[absence]bool
	visited int
}

type absence struct {
	property Property
	object   uintptr
}

// Visited returns how many members a has looked at.
func (a *Absences) Visited() int { return a.visited }

// fewMembers is how many members of one object are visited before answers are kept, which allocates.
const fewMembers = 64

// Absent is p.Absent(value).
func (a *Absences) Absent(p Property, value any) bool {
	if !p.marked {
		return false
	}
	if _, ok := value.(map[string]any); !ok {
		return p.Absent(value)
	}
	left := fewMembers
	absent, ok := p.absentWithin(value, &left)
	a.visited += fewMembers - left
	if ok {
		return absent
	}
	if a.known == nil {
		a.known = map[absence]bool{}
	}
	return a.remembered(p, value)
}

// absentWithin is Absent while no more than left members are visited; ok is false when there were more.
func (p Property) absentWithin(value any, left *int) (absent, ok bool) {
	object, isObject := value.(map[string]any)
	if !isObject || !p.marked || !p.blank.object {
		return p.Absent(value), true
	}
	for name, member := range object {
		if *left--; *left < 0 {
			return false, false
		}
		if absent, ok := p.below.Property(name).absentWithin(member, left); !absent {
			return false, ok
		}
	}
	return true, true
}

// remembered is Absent that keeps the answer for each object that it visits.
func (a *Absences) remembered(p Property, value any) bool {
	object, ok := value.(map[string]any)
	if !ok || !p.marked || !p.blank.object {
		return p.Absent(value)
	}
	key := absence{p, reflect.ValueOf(object).Pointer()}
	if absent, ok := a.known[key]; ok {
		return absent
	}
	absent := true
	for name, member := range object {
		a.visited++
		if absent = a.remembered(p.below.Property(name), member); !absent {
			break
		}
	}
	a.known[key] = absent
	return absent
}
