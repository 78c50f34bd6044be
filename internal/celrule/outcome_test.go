package celrule

import "testing"

// TestOutcomes: the operators of CEL, where an operand that decides alone prevails over an error, and what is not known
// prevails over an error too.
func TestOutcomes(t *testing.T) {
	names := map[outcome]string{open: "open", opaque: "opaque", no: "no", yes: "yes", fails: "fails"}
	for _, c := range []struct{ a, b, and, or, same outcome }{
		{no, no, no, no, yes}, {no, yes, no, yes, no}, {no, fails, no, fails, fails}, {no, open, no, open, open}, {no, opaque, no, opaque, opaque},
		{yes, yes, yes, yes, yes}, {yes, fails, fails, yes, fails}, {yes, open, open, yes, open}, {yes, opaque, opaque, yes, opaque},
		{fails, fails, fails, fails, fails}, {fails, open, open, open, fails}, {fails, opaque, opaque, opaque, fails},
		{open, open, open, open, open}, {open, opaque, opaque, opaque, opaque}, {opaque, opaque, opaque, opaque, opaque},
	} {
		for _, p := range [][2]outcome{{c.a, c.b}, {c.b, c.a}} {
			a, b := p[0], p[1]
			if and(a, b) != c.and || or(a, b) != c.or || same(a, b) != c.same {
				t.Errorf("%s, %s: and %s, or %s, == %s", names[a], names[b], names[and(a, b)], names[or(a, b)], names[same(a, b)])
			}
		}
	}
	for o, want := range map[outcome][2]bool{open: {false, false}, opaque: {false, false}, no: {true, true}, yes: {true, false}, fails: {true, true}} {
		if o.known() != want[0] || o.refuses() != want[1] {
			t.Errorf("%s: known %v, refuses %v", names[o], o.known(), o.refuses())
		}
	}
}
