package yamldoc

// element is a value with its place in the text of its piece.
type element struct {
	name  string // of a member, "" for a merge key
	at    int    // where the member begins with its name, or the item: in a block with its dash
	colon int    // of a member: after its colon; of an item in a block: after its dash

	start, end int // of the value; of a block, end includes a comment on its last line
	kind       kind
	children   []*element
}

// kind tells how a value is written, and so how it is edited.
type kind int

const (
	scalarKind kind = iota // or an alias: never edited within
	blockObject
	blockList
	flowObject
	flowList
)

func (k kind) isObject() bool { return k == blockObject || k == flowObject }
func (k kind) isList() bool   { return k == blockList || k == flowList }
func (k kind) isFlow() bool   { return k == flowObject || k == flowList }
