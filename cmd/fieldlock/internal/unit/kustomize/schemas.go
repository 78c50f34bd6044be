package kustomize

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// The schemas of CRDs are nearly all of what many kustomizations read, and few change them. Kustomize copies and writes out each object
// many times, so it gets a text in the place of each schema. It can carry that to another place, or drop it, but not look inside: a
// patch, a replacement or a field specification whose path leads through a text is an error, and then the kustomization is built once
// more from the files as they are. Parts of a schema that a path in a patch leads to are left in it.

// Schemas are the schemas of CRDs that were read, for all kustomizations. Safe for concurrent use.
type Schemas struct {
	mark string // begins the texts in the place of schemas; nobody can know it

	mu     sync.Mutex
	values map[[sha256.Size]byte]*rendered.Value // by the text of the block
}

// NewSchemas returns Schemas without any.
func NewSchemas() *Schemas {
	return &Schemas{mark: "schema-" + rand.Text() + "-", values: map[[sha256.Size]byte]*rendered.Value{}}
}

// markOf returns the text in the place of a block.
func (s *Schemas) markOf(i int) string { return s.mark + strconv.Itoa(i) }

const (
	// leastSchema is how large a block is that kustomize does not get. In a Value, blocks of leastPart to mostPart bytes have values
	// of their own, which schemas share.
	leastSchema, leastPart, mostPart = 2 << 10, 512, 16 << 10
)

// cutting is one build without schemas.
type cutting struct {
	*Schemas
	blocks [][]byte          // by the number in the mark
	whole  map[string][]byte // the files that were cut, nil for those of the tree
}

// cut takes the schemas out of the files that are resources and nothing else.
func (w *walk) cut(s *Schemas) *cutting {
	c := &cutting{Schemas: s, whole: map[string][]byte{}}
	reached, ok := w.reached()
	if !ok {
		return c
	}
	for name := range w.objects {
		content, err := w.anyContent(name)
		if err != nil || w.loaded[name] || !onlyCRDs(content) {
			continue
		}
		inside := 0
		blocks := yamldoc.Blocks(content, leastSchema, func(b yamldoc.Block) bool {
			if b.Key == schemaKey && b.End > inside {
				inside = b.End
			}
			return b.End <= inside && !reached[b.Key]
		})
		if len(blocks) == 0 {
			continue
		}
		first := len(c.blocks)
		for _, b := range blocks {
			c.blocks = append(c.blocks, content[b.Start:b.End])
		}
		c.whole[name] = w.disk.generated[name]
		w.disk.put(name, yamldoc.Outline(content, blocks, func(i int) string { return s.markOf(first + i) }))
	}
	return c
}

// restore puts the files back as they are.
func (w *walk) restore(c *cutting) {
	for name, content := range c.whole {
		if delete(w.disk.generated, name); content != nil {
			w.disk.generated[name] = content
		}
	}
	c.blocks, c.whole = nil, nil
}

// schemaKey is the key of a schema in a CRD.
const schemaKey = "openAPIV3Schema"

// pathInSchema is the end of a path that leads into a schema, in a patch or a replacement.
var pathInSchema = regexp.MustCompile(schemaKey + `((?:[/.][^/.\s"',]+)*)`)

// kindLine is the line with the kind of an object.
var kindLine = regexp.MustCompile(`(?m)^kind:[ \t]*(\S*)`)

// onlyCRDs reports whether the objects of a file are CRDs with schemas in block style.
func onlyCRDs(content []byte) bool {
	if !bytes.Contains(content, []byte(schemaKey+":")) {
		return false
	}
	kinds := kindLine.FindAllSubmatch(content, -1)
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(m [][]byte) bool { return string(m[1]) != crdKind })
}

const crdKind = "CustomResourceDefinition"

// reached returns the names in the paths into schemas that the kustomization and its patches have. ok is false where a patch may
// change the kind of an object: images are replaced in all objects but CRDs.
func (w *walk) reached() (names map[string]bool, ok bool) {
	names = map[string]bool{}
	for name := range w.files {
		if w.objects[name] && !w.loaded[name] {
			continue
		}
		content, err := w.anyContent(name)
		if err != nil {
			continue // a directory that a link leads to
		}
		if bytes.Contains(content, []byte("allowKindChange")) {
			return nil, false
		}
		for _, match := range pathInSchema.FindAllSubmatch(content, -1) {
			if len(match[1]) == 0 {
				continue
			}
			names[schemaKey] = true
			for _, step := range strings.FieldsFunc(string(match[1]), func(r rune) bool { return r == '/' || r == '.' }) {
				names[step] = true
			}
		}
	}
	return names, true
}

// objects returns what was built, in JSON. ok is false if a mark is where no schema can be.
func (c *cutting) objects(built resmap.ResMap) (objects []rendered.Object, ok bool, err error) {
	objects = make([]rendered.Object, 0, built.Size())
	for _, r := range built.Resources() {
		text, err := r.MarshalJSON()
		if err != nil {
			return nil, false, err
		}
		object := rendered.Object{YAML: text}
		if len(c.blocks) > 0 && bytes.Contains(text, []byte(c.mark)) {
			if object.Apart, ok = c.apart(r, text); !ok {
				return nil, false, nil
			}
		}
		objects = append(objects, object)
	}
	return objects, true, nil
}

// apart returns the schemas of a CRD that was built.
func (c *cutting) apart(r *resource.Resource, text []byte) (list []rendered.Apart, ok bool) {
	var object map[string]any
	if r.GetKind() != crdKind || r.GetGvk().Group != "apiextensions.k8s.io" || json.Unmarshal(text, &object) != nil {
		return nil, false
	}
	spec, _ := object["spec"].(map[string]any)
	marks := bytes.Count(text, []byte(c.mark))
	list = c.marksIn(spec, []string{"spec"}, nil)
	return list, len(list) == marks // none is in another place, or a part of a text
}

// marksIn lists the marks that are members of objects, with what they stand for.
func (c *cutting) marksIn(v any, steps []string, list []rendered.Apart) []rendered.Apart {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			below := append(steps[:len(steps):len(steps)], name)
			if text, isText := member.(string); !isText {
				list = c.marksIn(member, below, list)
			} else if block := c.block(text); block != nil {
				if value, err := c.value(block); err == nil {
					list = append(list, rendered.Apart{Steps: below, Value: value})
				}
			}
		}
	case []any:
		for i, item := range v {
			list = c.marksIn(item, append(steps[:len(steps):len(steps)], strconv.Itoa(i)), list)
		}
	}
	return list
}

// block returns the block that a mark stands for; nil for any other text.
func (c *cutting) block(mark string) []byte {
	number, isMark := strings.CutPrefix(mark, c.mark)
	i, err := strconv.Atoi(number)
	if !isMark || err != nil || i < 0 || i >= len(c.blocks) {
		return nil
	}
	return c.blocks[i]
}

// value returns what kustomize would make of a block.
func (s *Schemas) value(block []byte) (*rendered.Value, error) {
	id := sha256.Sum256(block)
	s.mu.Lock()
	value := s.values[id]
	s.mu.Unlock()
	if value != nil {
		return value, nil
	}
	value = &rendered.Value{ID: hex.EncodeToString(id[:])}
	var parts []yamldoc.Block
	if len(block) > mostPart {
		parts = yamldoc.Blocks(block, leastPart, func(b yamldoc.Block) bool { return b.End-b.Start <= mostPart })
	}
	w := jsonWriter{marks: map[string]*rendered.Value{}}
	for i, b := range parts {
		part, err := s.value(block[b.Start:b.End])
		if err != nil {
			return nil, err
		}
		w.marks[s.markOf(i)] = part
	}
	var document yaml.Node
	if err := yaml.Unmarshal(yamldoc.Outline(block, parts, s.markOf), &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || w.write(document.Content[0], nil) != nil || len(w.marks) > 0 {
		return nil, errNotPlain
	}
	value.JSON, value.Apart = w.text, w.apart
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[id] = value
	return value, nil
}

// errNotPlain is the error of a block with what means something only in its file, or what kustomize would refuse.
var errNotPlain = errors.New("it has to be read with its file")

// jsonWriter writes a YAML node as JSON, as kustomize does.
type jsonWriter struct {
	text  []byte
	marks map[string]*rendered.Value // those that are to come
	apart []rendered.Apart
}

func (w *jsonWriter) write(n *yaml.Node, steps []string) error {
	if n.Anchor != "" {
		return errNotPlain
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n, steps)
	case yaml.SequenceNode:
		w.text = append(w.text, '[')
		for i, item := range n.Content {
			if i > 0 {
				w.text = append(w.text, ',')
			}
			if err := w.write(item, append(steps[:len(steps):len(steps)], strconv.Itoa(i))); err != nil {
				return err
			}
		}
		w.text = append(w.text, ']')
		return nil
	case yaml.ScalarNode:
		return w.scalar(n)
	}
	return errNotPlain
}

func (w *jsonWriter) mapping(n *yaml.Node, steps []string) error {
	w.text = append(w.text, '{')
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" || seen[key.Value] {
			return errNotPlain
		}
		if seen[key.Value] = true; i > 0 {
			w.text = append(w.text, ',')
		}
		if err := w.scalar(key); err != nil {
			return err
		}
		w.text = append(w.text, ':')
		below := append(steps[:len(steps):len(steps)], key.Value)
		if part := w.marks[value.Value]; part != nil && value.Kind == yaml.ScalarNode {
			delete(w.marks, value.Value)
			w.text = append(w.text, "null"...)
			w.apart = append(w.apart, rendered.Apart{Steps: below, Value: part})
			continue
		}
		if err := w.write(value, below); err != nil {
			return err
		}
	}
	w.text = append(w.text, '}')
	return nil
}

func (w *jsonWriter) scalar(n *yaml.Node) error {
	var value any = n.Value
	if n.ShortTag() != "!!str" {
		if err := n.Decode(&value); err != nil {
			return err
		}
	}
	text, err := json.Marshal(value)
	w.text = append(w.text, text...)
	return err
}
