package immutability

import (
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Lock names what a violation breaks.
type Lock string

// The locks, by the names that reports give them. Incomparable is not a lock of a schema: it is reported where a lock
// applies and the two values cannot be compared.
const (
	Immutable     = Lock(schema.Immutable)
	ImmutableKeys = Lock(schema.ImmutableKeys)
	AdditionOnly  = Lock(schema.AdditionOnly)
	DeletionOnly  = Lock(schema.DeletionOnly)
	NoSet         = Lock(schema.NoSet)
	NoUnset       = Lock(schema.NoUnset)
	NoModify      = Lock(schema.NoModify)
	NoAddItem     = Lock(schema.NoAddItem)
	NoRemoveItem  = Lock(schema.NoRemoveItem)
	Incomparable  = Lock(check.Incomparable)
)
