package jsonscan

// maxDepth is how deep objects and lists may be nested, as in util/json.
const maxDepth = 10_000

// state is a place in the grammar between two tokens.
type state uint8

const (
	atValue     state = iota
	atFirstItem       // a value or the end of the list
	atFirstKey        // a key or the end of the object
	atKey             // after a comma
	atColon           // after a key
	atEnd             // after a value in a list or object: a comma or the end
	done              // after the last value
	noJSON            // what follows is not JSON
)

// endOfNothing is the position that goes with noJSON.
const endOfNothing = -1

// nesting is the open objects and lists, as the bytes that opened them, innermost last.
type nesting []byte

// afterComma is the state that follows a comma in the innermost object or list.
func (open nesting) afterComma() state {
	if len(open) > 0 && open[len(open)-1] == '{' {
		return atKey
	}
	return atValue
}

// scanner knows which objects and lists are open.
type scanner struct {
	depth int // of the object or list whose members are being read
	open  nesting
	room  [48]byte
	notes notes
}

// scan reads tokens of data, of which the one before i was the last, until open is down to base and a value is
// complete (done), or one is met that does not end before limit, which is then not read. It returns the end of the last
// token that was read and the state after it. A number ends with its delimiter, which limit must cover too.
//
// This loop is what reading costs: what mostly follows a token, a colon or a comma, is looked for at once, and the loop is one
// long function because a call for each token would cost as much as reading it.
func (s *scanner) scan(data []byte, i int, at state, base, limit int) (end int, _ state) {
	limit = min(limit, len(data)+1)
	open := s.open
	comma := open.afterComma()
	level := s.notes.level
	for {
		end = i
		if i < len(data) && data[i] <= ' ' {
			i = afterSpace(data, i)
		}
		if i >= len(data) {
			return endOfNothing, noJSON
		}
		if i >= limit {
			break
		}
		c := data[i]
		switch at {
		case atKey, atFirstKey:
			if c == '}' && at == atFirstKey {
				goto closing
			}
			if c != '"' {
				return endOfNothing, noJSON
			}
			name := i
			if i = stringEnd(data, i); i < 0 {
				return endOfNothing, noJSON
			}
			if i > limit {
				goto stop
			}
			if len(open) == level {
				s.notes.met(data[name+1:i-1], i)
			}
			at = atColon
			if i+1 >= limit || i+1 >= len(data) || data[i] != ':' || data[i+1] <= ' ' {
				continue
			}
			i++
			end, at, c = i, atValue, data[i]
		case atColon:
			if c != ':' {
				return endOfNothing, noJSON
			}
			i++
			at = atValue
			continue
		case atEnd:
			if c == ',' {
				i++
				at = comma
				continue
			}
			if c != open[len(open)-1]+2 { // '}' is '{'+2, and ']' is '['+2
				return endOfNothing, noJSON
			}
			goto closing
		}
		switch c {
		case '"':
			if i = stringEnd(data, i); i > limit {
				goto stop
			}
		case '{', '[':
			if open = append(open, c); s.depth+len(open) > maxDepth {
				return endOfNothing, noJSON
			}
			i++
			at, comma = atFirstKey, atKey
			if c == '[' {
				at, comma = atFirstItem, atValue
			}
			continue
		case ']':
			if at != atFirstItem {
				return endOfNothing, noJSON
			}
			goto closing
		default:
			if i = scalarEnd(data, i); i >= limit {
				goto stop
			}
		}
		if i < 0 {
			return endOfNothing, noJSON
		}
		if len(open) == base {
			s.open = open
			return i, done
		}
		at = atEnd
		if i < limit && i < len(data) && data[i] == ',' {
			i++
			at = comma
		}
		continue

	closing:
		i++
		open = open[:len(open)-1]
		if len(open) == base {
			s.open = open
			return i, done
		}
		at, comma = atEnd, open.afterComma()
	}
stop:
	s.open = open
	return end, at
}
