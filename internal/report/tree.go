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
	field    *audit.Field
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
		at.field = &fields[i]
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
		if c.field == nil {
			fmt.Fprintln(w, indent+Printable(c.label))
			c.write(w, indent+"  ", p)
			continue
		}
		fmt.Fprintf(w, "%s%s%s  %s\n", indent, p.Bold(Printable(c.label)), strings.Repeat(" ", width-len(c.label)), p.Green(strings.Join(c.field.Locks, ", ")))
		for _, hole := range c.field.Holes {
			fmt.Fprintf(w, "%s%s  %s\n", indent, strings.Repeat(" ", width), p.Yellow("! "+Printable(hole.Short)))
		}
		c.write(w, indent+"  ", p)
	}
}

// joined follows a chain of single children down to the next lock or fork.
func (t *tree) joined() *tree {
	for t.field == nil && len(t.children) == 1 {
		c := t.children[0]
		label := t.label + "." + c.label
		if c.label == "[*]" {
			label = t.label + c.label
		}
		t = &tree{label: label, field: c.field, children: c.children}
	}
	return t
}
