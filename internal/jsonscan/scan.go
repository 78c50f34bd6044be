package jsonscan

// maxDepth is how deep objects and lists may be nested, as in util/json.
const maxDepth = 10_000

// state is a place in the grammar between two tokens.
type state uint8

const (
	atValue      state = iota
	atFirstItem        // a value or the end of the list
	atFirstKey         // a key or the end of the object
	atKey              // after a comma
	atColon            // after a key
	atEnd              // after a value in a list or object: a comma or the end
	done               // after the last value
	noJSON             // what follows is no JSON
	endOfNothing = -1  // the position that goes with noJSON
)

// nesting is the open objects and lists, as the bytes that opened them, innermost last.
type nesting []byte

// scan reads tokens of data, of which the one before i was the last, until open is down to base and a value is
// complete (done), or one is met that does not end before limit, which is then not read. It returns the end of the last
// token that was read and the state after it. A number counts as ending after its delimiter.
func (p *Pair) scan(data []byte, i int, at state, base, limit int) (int, state) {
	open := p.open
	for {
		i0 := i
		if i >= len(data) {
			return endOfNothing, noJSON
		}
		if data[i] <= ' ' {
			if i = afterSpace(data, i); i == len(data) {
				return endOfNothing, noJSON
			}
		}
		c := data[i]
		switch at {
		case atFirstKey, atKey:
			if c == '"' {
				if i = stringEnd(data, i); i < 0 {
					return endOfNothing, noJSON
				}
				if i > limit {
					p.open = open
					return i0, at
				}
				at = atColon
				if i < limit && i < len(data) && data[i] == ':' {
					i++
					at = atValue
				}
				continue
			}
			if c != '}' || at == atKey {
				return endOfNothing, noJSON
			}
		case atColon:
			if c != ':' {
				return endOfNothing, noJSON
			}
			if i >= limit {
				p.open = open
				return i0, at
			}
			i++
			at = atValue
			continue
		case atEnd:
			if c == ',' {
				if i >= limit {
					p.open = open
					return i0, at
				}
				i++
				at = atValue
				if open[len(open)-1] == '{' {
					at = atKey
				}
				continue
			}
			if c != open[len(open)-1]+2 { // '}' is '{'+2, and ']' is '['+2
				return endOfNothing, noJSON
			}
		default:
			if c == ']' && at == atFirstItem {
				break
			}
			if c == '{' || c == '[' {
				if i >= limit {
					p.open = open
					return i0, at
				}
				if open = append(open, c); p.depth+len(open) > maxDepth {
					return endOfNothing, noJSON
				}
				i++
				at = atFirstKey
				if c == '[' {
					at = atFirstItem
				}
				continue
			}
			end := 0
			if c == '"' {
				end = stringEnd(data, i)
				i = end
			} else {
				i = scalarEnd(data, i)
				end = i + 1
			}
			if i < 0 {
				return endOfNothing, noJSON
			}
			if end > limit {
				p.open = open
				return i0, at
			}
			if len(open) == base {
				p.open = open
				return i, done
			}
			at = atEnd
			continue
		}
		// c ends the innermost object or list.
		if i >= limit {
			p.open = open
			return i0, at
		}
		i++
		open = open[:len(open)-1]
		if len(open) == base {
			p.open = open
			return i, done
		}
		at = atEnd
	}
}
