package kustomize

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resmap"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
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
	blocks  [][]byte        // by the number in the mark
	files   []string        // of the tree, that were cut
	reached map[string]bool // names of what is left in schemas; nil where nothing is cut
}

// cut takes the schemas out of the CRDs in files of the tree that are resources and nothing else.
func (w *walk) cut(c *cutting) {
	for name := range w.objects {
		if w.loaded[name] {
			continue
		}
		content, err := fs.ReadFile(w.disk.tree, name)
		if err != nil {
			continue
		}
		if outline, ok := c.outline(content); ok {
			c.files = append(c.files, name)
			w.disk.put(name, outline)
		}
	}
}

// outline returns a text without the schemas of its CRDs. ok is false if the text has no schema that can go.
func (c *cutting) outline(content []byte) (outline []byte, ok bool) {
	if c.reached == nil || !bytes.Contains(content, []byte(schemaKey+":")) {
		return nil, false
	}
	first := len(c.blocks)
	for len(content) > 0 {
		document := content
		if i := bytes.Index(content[1:], []byte("\n---")); i >= 0 {
			document = content[:i+2]
		}
		content = content[len(document):]
		if isCRD(document) {
			document = c.outlineCRD(document)
		}
		outline = append(outline, document...)
	}
	return outline, len(c.blocks) > first
}

// outlineCRD takes the schemas out of one document.
func (c *cutting) outlineCRD(document []byte) []byte {
	inside := 0
	blocks := yamldoc.Blocks(document, leastSchema, func(b yamldoc.Block) bool {
		if b.Key == schemaKey && b.End > inside {
			inside = b.End
		}
		return b.End <= inside && !c.reached[b.Key]
	})
	first := len(c.blocks)
	for _, b := range blocks {
		c.blocks = append(c.blocks, document[b.Start:b.End])
	}
	return yamldoc.Outline(document, blocks, func(i int) string { return c.markOf(first + i) })
}

// restore puts the files back as they are.
func (w *walk) restore(c *cutting) {
	for _, name := range c.files {
		delete(w.disk.generated, name)
	}
	*c = cutting{Schemas: c.Schemas}
}

// schemaKey is the key of a schema in a CRD.
const schemaKey = "openAPIV3Schema"

// pathInSchema is the end of a path that leads into a schema, in a patch or a replacement.
var pathInSchema = regexp.MustCompile(schemaKey + `((?:[/.][^/.\s"',]+)*)`)

// isCRD reports whether a document looks like a CRD. Other objects keep their large values, as kustomize changes images in them. What is
// wrongly taken for a CRD shows when it is built.
func isCRD(document []byte) bool {
	for line := range bytes.Lines(document) {
		if value, ok := bytes.CutPrefix(line, []byte("kind:")); ok {
			return string(bytes.TrimSpace(value)) == crdKind
		}
	}
	return false
}

const crdKind = "CustomResourceDefinition"

// reached returns the names in the paths into schemas that the kustomization and its patches have; nil where a patch may
// change the kind of an object: images are replaced in all objects but CRDs.
func (w *walk) reached() map[string]bool {
	names := map[string]bool{}
	for name := range w.files {
		if w.objects[name] && !w.loaded[name] {
			continue
		}
		content, err := w.anyContent(name)
		if err != nil {
			continue // a directory that a link leads to
		}
		if bytes.Contains(content, []byte("allowKindChange")) {
			return nil
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
	return names
}

// objects returns what was built, in JSON. ok is false if a mark is where no schema can be.
func (c *cutting) objects(built resmap.ResMap) (objects []rendered.Object, ok bool, err error) {
	objects = make([]rendered.Object, 0, built.Size())
	for _, r := range built.Resources() {
		w := jsonWriter{}
		if r.GetKind() == crdKind && r.GetGvk().Group == "apiextensions.k8s.io" {
			w.part = c.part
		}
		if w.write(r.YNode(), nil) != nil {
			if w = (jsonWriter{}); len(c.blocks) > 0 {
				return nil, false, nil
			}
			if w.text, err = r.MarshalJSON(); err != nil {
				return nil, false, err
			}
		}
		if len(c.blocks) > 0 && bytes.Contains(w.text, []byte(c.mark)) {
			return nil, false, nil
		}
		objects = append(objects, rendered.Object{YAML: w.text, Apart: w.apart})
	}
	return objects, true, nil
}

// part returns the schema that a text in the specification of a CRD stands for; nil for any other text.
func (c *cutting) part(text string, steps fieldpath.Path) (*rendered.Value, error) {
	if block := c.block(text); block != nil && steps[0] == "spec" {
		return c.value(block)
	}
	return nil, nil
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
	c := &cutting{Schemas: s}
	for _, b := range parts {
		c.blocks = append(c.blocks, block[b.Start:b.End])
	}
	w := jsonWriter{part: func(text string, _ fieldpath.Path) (*rendered.Value, error) {
		if part := c.block(text); part != nil {
			return s.value(part)
		}
		return nil, nil
	}}
	var document yaml.Node
	if err := yaml.Unmarshal(yamldoc.Outline(block, parts, s.markOf), &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || w.write(document.Content[0], nil) != nil || len(w.apart) != len(parts) {
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
	text []byte
	// part, unless nil, returns what a text stands for that is a member at the end of steps; nil for itself.
	part  func(text string, steps fieldpath.Path) (*rendered.Value, error)
	apart []rendered.Apart
}

func (w *jsonWriter) write(n *yaml.Node, steps fieldpath.Path) error {
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
			if err := w.write(item, steps.Child(i)); err != nil {
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

func (w *jsonWriter) mapping(n *yaml.Node, steps fieldpath.Path) error {
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
		if err := w.member(value, steps.Child(key.Value)); err != nil {
			return err
		}
	}
	w.text = append(w.text, '}')
	return nil
}

func (w *jsonWriter) member(n *yaml.Node, steps fieldpath.Path) error {
	if w.part != nil && n.Kind == yaml.ScalarNode {
		part, err := w.part(n.Value, steps)
		if err != nil {
			return err
		}
		if part != nil {
			w.text = append(w.text, "null"...)
			w.apart = append(w.apart, rendered.Apart{Steps: steps, Value: part})
			return nil
		}
	}
	return w.write(n, steps)
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
