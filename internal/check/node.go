package check

import "github.com/fieldlock/fieldlock/internal/jsonscan"

// Node is the compiled check of one location. A location without locks on it or below it has no node.
type Node interface {
	// Check returns what the update breaks at the location and below it, nil for nothing. It allocates only then, or when
	// items are in another order.
	Check(m *Memo, newVal, oldVal Value) *Found
	// CheckJSON is Check of the values that both texts have next. It reads them.
	CheckJSON(m *Memo, p *jsonscan.Pair) *Found
}

// checkDecoded is CheckJSON for a node that needs the values where they differ: equal values break no lock.
func checkDecoded(n Node, m *Memo, p *jsonscan.Pair) *Found {
	at := p.Here()
	if p.Skip() {
		return nil
	}
	return n.Check(m, present(m.hold(p.NewValue(at))), present(m.hold(p.OldValue(at))))
}
