package celrule

import (
	"github.com/google/cel-go/common/ast"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// world is what is known of the new and the old object of an update. Its answers can be open, or opaque where it does
// not follow the location.
type world interface {
	// present tells whether the location has a value other than null.
	present(s side, l *schema.Location) outcome
	// apart returns why CEL's == on the values of l is not the equality that the world knows, or "".
	apart(l *schema.Location) string
	// equal tells whether the values of l, present on both sides, are equal.
	equal(l *schema.Location) outcome
	// is tells whether the value of l, which is present, is a literal.
	is(s side, l *schema.Location, literal any) outcome
	// number returns the value of l, which is present; the outcome is yes if it is known.
	number(s side, l *schema.Location) (int64, outcome)
	// empty tells whether the value of l, which is present, has the size 0.
	empty(s side, l *schema.Location) outcome
	// The keys of l that one side lacks, and changed values under common keys, where l is present on both sides.
	added(l *schema.Location) outcome
	removed(l *schema.Location) outcome
	modified(l *schema.Location) outcome
	// unclear returns the truth of an expression that the evaluation does not understand.
	unclear(r *Rule, x ast.Expr) outcome
}
