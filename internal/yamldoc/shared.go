package yamldoc

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// Shared reads documents so that those with the same text have one value in common, as most objects have in the two sides
// of a comparison: reading the second side then costs little time and memory. Nobody may change the values. The zero
// value is ready to use, and safe for concurrent use.
type Shared struct {
	mu    sync.Mutex
	seed  maphash.Seed
	texts map[uint64]*sharedText // by hash; of two texts with one hash only the first is shared
}

// sharedText is a text that is read once.
type sharedText struct {
	data []byte
	once sync.Once
	root *root // the object that it means, nil where it is not shared
}

// Read is like the function Read, but for a key that a mapping has more than once, with different values: the last one
// counts, as it does for kubectl, and Read lists the keys.
func (s *Shared) Read(name string, data []byte) ([]*Document, []*Repeat, error) {
	roots, errs := readAll(name, data, s.read)
	repeats := repeatsOf(name, roots)
	documents, err := expand(name, roots, errs)
	return documents, repeats, err
}

// read reads a piece. A text of one object is read once; whoever comes second waits for the first. The items of a list are
// objects that reading completes, so they are not shared.
func (s *Shared) read(p *piece) (roots []root, err *Error) {
	text, first := s.text(p.data), false
	text.once.Do(func() {
		first = true
		if roots, err = p.read(); err == nil && len(roots) == 1 {
			if object, ok := roots[0].value.(map[string]any); ok && object["items"] == nil {
				text.root = &roots[0]
			}
		}
	})
	switch {
	case first:
		return roots, err
	case text.root == nil || !bytes.Equal(text.data, p.data):
		return p.read()
	}
	var in source = &yamlSource{piece: p}
	if other, isJSON := text.root.source.(*jsonSource); isJSON {
		in = &jsonSource{jsonText: &jsonText{piece: p}, start: other.start}
	}
	return []root{{text.root.value, in, text.root.repeated}}, nil
}

func (s *Shared) text(data []byte) *sharedText {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.seed, s.texts = maphash.MakeSeed(), map[uint64]*sharedText{}
	}
	hash := maphash.Bytes(s.seed, data)
	text := s.texts[hash]
	if text == nil {
		text = &sharedText{data: data}
		s.texts[hash] = text
	}
	return text
}
