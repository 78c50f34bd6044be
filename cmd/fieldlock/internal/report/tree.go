package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/audit"
)

// tree is a node of a tree of locked fields: a step of their paths.
type tree struct {
	label    string
	fields   []*audit.Field // several locks of a built-in kind can be on one field
	children []*tree
}

// treeOf arranges fields, sorted by path, as a tree.
func treeOf(fields []audit.Field) *tree {
	root := &tree{}
	for i := range fields {
		at := root
		for _, label := range strings.Split(strings.ReplaceAll(fields[i].Path, "[*]", ".[*]"), ".") {
			next := slices.IndexFunc(at.children, func(c *tree) bool { return c.label == label })
			if next < 0 {
				at.children = append(at.children, &tree{label: label})
				next = len(at.children) - 1
			}
			at = at.children[next]
		}
		at.fields = append(at.fields, &fields[i])
	}
	return root
}

// write prints the children of t; a node with one child and no lock shares its line.
func (t *tree) write(w io.Writer, indent string, p Palette) {
	width := 0
	for i, c := range t.children {
		t.children[i] = c.joined()
		width = max(width, len(t.children[i].label))
	}
	for _, c := range t.children {
		if len(c.fields) == 0 {
			fmt.Fprintln(w, indent+Printable(c.label))
			c.write(w, indent+"  ", p)
			continue
		}
		for i, field := range c.fields {
			label := p.Bold(Printable(c.label)) + strings.Repeat(" ", width-len(c.label))
			if i > 0 {
				label = strings.Repeat(" ", width)
			}
			fmt.Fprintf(w, "%s%s  %s\n", indent, label, p.Green(field.Words()))
			for _, remark := range field.Remarks() {
				fmt.Fprintf(w, "%s%s  %s\n", indent, strings.Repeat(" ", width), p.Dim(Printable(remark)))
			}
			for _, hole := range field.Holes {
				fmt.Fprintf(w, "%s%s  %s\n", indent, strings.Repeat(" ", width), p.Yellow("! "+Printable(hole.Short)))
			}
		}
		c.write(w, indent+"  ", p)
	}
}

// joined follows a chain of single children down to the next lock or fork.
func (t *tree) joined() *tree {
	for len(t.fields) == 0 && len(t.children) == 1 {
		c := t.children[0]
		label := t.label + "." + c.label
		if c.label == "[*]" {
			label = t.label + c.label
		}
		t = &tree{label: label, fields: c.fields, children: c.children}
	}
	return t
}
