package yamldoc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Block is a mapping in block style that is the value of a key: the lines below the key, all of them indented deeper. It is a YAML
// text of its own, which means the same wherever it is.
type Block struct {
	Key string
	// After is the offset after the colon of the key. The block is from Start to End.
	After, Start, End int
}

// Blocks finds blocks of at least so many bytes in a text of YAML documents. Of blocks in each other it returns the outermost one for
// which choose returns true. The result is in the order of the text.
//
// It looks at lines only, so it can be wrong in a quoted text of several lines, and about anchors. Whoever reads an [Outline] has to
// see whether each mark comes back as a value of its own, and read the text as a whole otherwise.
//
// Cost: one pass over the text.
func Blocks(text []byte, least int, choose func(b Block) bool) []Block {
	s := &blockScanner{text: text, least: least, scalar: -1}
	for start := 0; start < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		s.line(start, end)
		start = end
	}
	s.close(0, len(text))
	slices.SortFunc(s.found, func(a, b Block) int { return cmp.Compare(a.Start, b.Start) })
	end := 0
	return slices.DeleteFunc(s.found, func(b Block) bool {
		if b.Start < end || !choose(b) {
			return true
		}
		end = b.End
		return false
	})
}

// Outline returns a text with a mark in the place of each block, as a string in double quotes.
func Outline(text []byte, blocks []Block, mark func(i int) string) []byte {
	var out []byte
	from := 0
	for i, b := range blocks {
		out = append(append(append(out, text[from:b.After]...), ` "`...), mark(i)...)
		out = append(out, "\"\n"...)
		from = b.End
	}
	return append(out, text[from:]...)
}

// blockScanner finds blocks, line by line.
type blockScanner struct {
	text   []byte
	least  int
	keys   []openKey // whose blocks have not ended
	scalar int       // the column of what has a block scalar as its value, -1 outside of one
	found  []Block
}

// openKey is a key at the end of a line.
type openKey struct {
	key                  string
	column, after, start int
}

func (s *blockScanner) line(start, end int) {
	rest := bytes.TrimRight(s.text[start:end], " \t\r\n")
	body := bytes.TrimLeft(rest, " ")
	column := len(rest) - len(body)
	switch {
	case len(body) == 0, s.scalar >= 0 && column > s.scalar, body[0] == '#':
		return
	}
	s.scalar = -1
	s.close(column, start)
	holder := column // of a block scalar
	for bytes.HasPrefix(body, []byte("- ")) {
		holder = column
		item := bytes.TrimLeft(body[1:], " ")
		column, body = column+len(body)-len(item), item
	}
	switch n := keyLength(body); {
	case n > 0 && n+1 == len(body):
		s.keys = append(s.keys, openKey{string(body[:n]), column, start + column + n + 1, end})
	case blockScalar(body):
		if n > 0 {
			holder = column
		}
		s.scalar = holder
	}
}

// close ends the blocks of the keys that are not to the left of a column.
func (s *blockScanner) close(column, end int) {
	for n := len(s.keys); n > 0 && column <= s.keys[n-1].column; n = len(s.keys) {
		k := s.keys[n-1]
		s.keys = s.keys[:n-1]
		if end-k.start >= s.least && isMapping(s.text[k.start:end]) {
			s.found = append(s.found, Block{k.key, k.after, k.start, end})
		}
	}
}

// isMapping reports whether the first line of a text with something in it is a key.
func isMapping(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return keyLength(line) > 0
		}
	}
	return false
}

// keyLength returns the length of the plain key that a line begins with; 0 if there is none.
func keyLength(line []byte) int {
	for i, c := range line {
		switch {
		case c == ':' && (i+1 == len(line) || line[i+1] == ' '):
			return i
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '/', c == '$', c == '-' && i > 0:
		default:
			return 0
		}
	}
	return 0
}

// blockScalar reports whether the value at the end of a line is a scalar in the lines below it.
func blockScalar(line []byte) bool {
	line = bytes.TrimRight(line, "+-0123456789")
	if len(line) == 0 || line[len(line)-1] != '|' && line[len(line)-1] != '>' {
		return false
	}
	return len(line) == 1 || line[len(line)-2] == ' '
}

const (
	// blockMark begins the strings that stand for blocks in outlines.
	blockMark = "fieldlock.dev/block-"
	// worthBlocks is from where on a text is read in blocks: those of leastBlock to mostBlock bytes.
	worthBlocks, leastBlock, mostBlock = 32 << 10, 512, 16 << 10
)

// readBlocks reads a large text of one object, such as a CRD, so that it has blocks in common with others: the schema of a Pod is in
// the CRDs of many operators several times, and a change of a CRD changes few of its blocks. ok is false for a text that has to be
// read as a whole.
func (s *Shared) readBlocks(p *piece) (r root, ok bool) {
	if len(p.data) < worthBlocks || looksLikeJSON(p.data) || maxNodesIn(p.data) > maxNodes ||
		bytes.Contains(p.data, []byte(blockMark)) || bytes.HasPrefix(p.data, []byte("%")) || bytes.Contains(p.data, []byte("\n%")) {
		return root{}, false
	}
	blocks := Blocks(p.data, leastBlock, func(b Block) bool { return b.End-b.Start <= mostBlock })
	if len(blocks) == 0 {
		return root{}, false
	}
	placing := blockPlacing{values: make(map[string]any, len(blocks))}
	for i, b := range blocks {
		value, ok := s.block(p.data[b.Start:b.End])
		if !ok {
			return root{}, false
		}
		placing.values[markOf(i)] = value
	}
	value, ok := readApart(Outline(p.data, blocks, markOf))
	if !ok {
		return root{}, false
	}
	placing.place(value)
	object, isObject := value.(map[string]any)
	if !isObject || object["items"] != nil || placing.strange || placing.placed != len(blocks) || len(placing.values) > 0 {
		return root{}, false
	}
	return root{value: object, source: &yamlSource{piece: p}}, true
}

// block returns what a block means. Blocks of one text have one value.
func (s *Shared) block(text []byte) (any, bool) {
	id := sha256.Sum256(text)
	s.mu.Lock()
	value, ok := s.blocks[id]
	s.mu.Unlock()
	if ok {
		return value, true
	}
	if value, ok = readApart(text); !ok {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocks == nil {
		s.blocks = map[[sha256.Size]byte]any{}
	}
	if known, ok := s.blocks[id]; ok {
		return known, true
	}
	s.blocks[id] = value
	return value, true
}

// readApart returns what a text of one document means by itself. Anchors can mean something outside of it, and a key that is
// there twice is told with its line; with these, and with mistakes, ok is false.
func readApart(text []byte) (value any, ok bool) {
	p := &piece{data: text}
	for node, err := range p.nodes {
		if err != nil || ok || hasAnchor(node) {
			return nil, false
		}
		c := converter{}
		value = c.value(node, 0)
		if ok = c.err == nil && len(c.repeated) == 0; !ok {
			return nil, false
		}
	}
	return value, ok
}

func hasAnchor(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAnchor)
}

// markOf returns the mark of a block.
func markOf(i int) string { return blockMark + strconv.Itoa(i) }

// blockPlacing puts the values of blocks in the place of their marks, which are the keys of values as long as they are to come.
// strange is set for a text that looks like a mark and has no block any more: escapes in quotes can spell a mark.
type blockPlacing struct {
	values  map[string]any
	placed  int
	strange bool
}

func (b *blockPlacing) place(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if text, ok := member.(string); !ok {
				b.place(member)
			} else if value, ok := b.values[text]; ok {
				v[name] = value
				delete(b.values, text)
				b.placed++
			} else if strings.HasPrefix(text, blockMark) {
				b.strange = true
			}
		}
	case []any:
		for _, item := range v {
			b.place(item)
		}
	}
}
