package check

import (
	"github.com/fieldlock/fieldlock/listtype"
	"github.com/fieldlock/fieldlock/normalize"
)

// Equality says when two values of one location are equal, as the documentation of package immutability defines it: as
// JSON, but for sets, normalized properties and, where order is ignored, lists of list-type map. The part that fits the
// kind of the value applies. The nil Equality is plain JSON equality.
type Equality struct {
	Object *ObjectEquality // nil: as JSON
	List   *ListEquality   // nil: as JSON

	// unordered is set if there are lists without order below, so that comparing two values can mean hashing them.
	unordered bool
}

// ObjectEquality compares objects that have members with an equality of their own.
type ObjectEquality struct {
	Properties map[string]Member // those with an equality or normalization, and all of them if Values is not nil
	Values     *Equality         // of the other keys
	Normalized bool              // a member may count as absent
}

// Member says how the values of a property compare and which of them count as absent.
type Member struct {
	Equality *Equality
	Presence normalize.Property
}

// ListKind says how lists compare.
type ListKind uint8

// The kinds.
const (
	Ordered ListKind = iota // item by item
	AsSet                   // as multisets
	ByKey                   // by key, without order
)

// ListEquality compares lists.
type ListEquality struct {
	Kind  ListKind
	Items *Equality
	Keys  listtype.Keys // of ByKey
}

func (o *ObjectEquality) member(key string) Member {
	if m, ok := o.Properties[key]; ok {
		return m
	}
	return Member{Equality: o.Values}
}
