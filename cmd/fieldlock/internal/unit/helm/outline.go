package helm

import (
	"crypto/rand"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// outlines keeps the schemas of CRDs out of texts that Helm splits and sorts: it parses each object whole for its kind and name.
type outlines struct {
	mark   string   // begins the texts in the place of schemas; nobody can know it
	blocks []string // each from the end of its key's line, without its last line break
}

func newOutlines() *outlines { return &outlines{mark: "outline-" + rand.Text() + "-"} }

const (
	schemaKey   = "openAPIV3Schema"
	leastSchema = 2 << 10
)

// outline returns a text without its schemas.
func (o *outlines) outline(text string) string {
	if len(text) < leastSchema || !strings.Contains(text, schemaKey+":") {
		return text
	}
	blocks := yamldoc.Blocks([]byte(text), leastSchema, func(b yamldoc.Block) bool { return b.Key == schemaKey })
	first := len(o.blocks)
	for _, b := range blocks {
		o.blocks = append(o.blocks, strings.TrimSuffix(text[b.After:b.End], "\n"))
	}
	return string(yamldoc.Outline([]byte(text), blocks, func(i int) string { return o.mark + strconv.Itoa(first+i) }))
}

// whole returns a text that was split off an outline, as it was. Helm cuts the white space at the end of a text.
func (o *outlines) whole(text string) string {
	before, rest, ok := strings.Cut(text, ` "`+o.mark)
	if !ok {
		return text
	}
	var b strings.Builder
	for ; ok; before, rest, ok = strings.Cut(rest, ` "`+o.mark) {
		b.WriteString(before)
		number, after, _ := strings.Cut(rest, `"`)
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(o.blocks) {
			return text
		}
		block := o.blocks[i]
		if strings.TrimSpace(after) == "" {
			block = strings.TrimRight(block, " \t\r\n")
		}
		b.WriteString(block)
		rest = after
	}
	b.WriteString(before)
	return b.String()
}
