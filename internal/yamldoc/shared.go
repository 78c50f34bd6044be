package yamldoc

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// Shared reads documents so that those with the same text have one value in common, as most objects have in the two
// sides of a comparison: reading the second side then costs little time and memory. The values must not be changed. The
// zero value is ready to use, and safe for concurrent use.
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
	return s.ReadSome(name, data, nil)
}

// ReadSome is Read for the documents that a caller wants by their texts; nil wants all. It may return others, too. The
// rest of the data is not kept, and mistakes in it are not found.
func (s *Shared) ReadSome(name string, data []byte, wanted func(text []byte) bool) ([]*Document, []*Repeat, error) {
	read := s.read
	if wanted != nil {
		read = func(p *piece) ([]root, *Error) {
			several := looksLikeJSON(p.data) || bytes.Contains(p.data, []byte("\n...")) ||
				bytes.Contains(p.data, []byte("\r..."))
			if !several && !wanted(p.data) {
				return []root{{}}, nil // it keeps its number
			}
			p.data = bytes.Clone(p.data)
			return s.read(p)
		}
	}
	roots, errs := readAll(name, data, read)
	repeats := repeatsOf(name, roots)
	documents, err := expand(name, roots, errs)
	return documents, repeats, err
}

// read reads a piece. A text of one object is read once; a second caller waits for the first. The items of a list are
// objects that reading completes, so they are not shared.
func (s *Shared) read(p *piece) (roots []root, err *Error) {
	text, first := s.text(p.data), false
	text.once.Do(func() {
		first = true
		roots, err = p.read()
		if err == nil && len(roots) == 1 {
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
	p.data = text.data // one of the two is enough
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
