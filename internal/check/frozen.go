package check

import (
	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Frozen is x-kubernetes-immutable: neither the value nor its presence may change, for the whole subtree.
type Frozen struct {
	*Field
}

var _ Node = (*Frozen)(nil)

// Check implements Node.
func (n *Frozen) Check(m *Memo, newVal, oldVal Value) *Found {
	if newVal.OK == oldVal.OK && (!newVal.OK || m.Same(n.Equality, newVal.Data, oldVal.Data)) {
		return nil
	}
	return refuse(Refusal{Lock: schema.Immutable, LockPath: n.LockPath, Field: n.Field, New: newVal, Old: oldVal, Whole: true})
}

// CheckJSON implements Node.
func (n *Frozen) CheckJSON(m *Memo, p *jsonscan.Pair) *Found { return checkDecoded(n, m, p) }
