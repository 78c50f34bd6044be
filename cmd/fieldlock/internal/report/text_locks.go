package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/audit"
)

// locksText prints a tree for each group, and one line for the CRDs without locks.
func locksText(w io.Writer, l *audit.Locks) error {
	p := PaletteFor(w)
	fields, open, known, rules := 0, 0, false, false
	groups, unlocked := withLocks(l.Groups)
	for _, g := range groups {
		from := ""
		if g.File != "" {
			from = " " + p.Dim(fmt.Sprintf("(%s, %s)", Printable(g.Name), Printable(g.File)))
		}
		fmt.Fprintf(w, "%s %s%s\n", p.Bold(Printable(g.Kind)), Printable(strings.Join(g.Versions, ", ")), from)
		if len(g.Fields) == 0 {
			fmt.Fprintln(w, "  "+p.Yellow("no locks in this version"))
		}
		treeOf(g.Fields).write(w, "  ", p)
		fmt.Fprintln(w)
		fields += lockedFields(g.Fields) * len(g.Versions)
		for _, f := range g.Fields {
			if len(f.Holes) > 0 {
				open += len(g.Versions)
			}
			rule := f.CRD != "" && f.Rule != ""
			rules = rules || rule
			known = known || f.CRD != "" && !rule // the holes of rules and of built-in kinds are not listed
		}
	}
	if len(unlocked) > 0 {
		fmt.Fprintf(w, "%s %s\n\n", p.Dim("no locks:"), Printable(strings.Join(unlocked, ", ")))
	}
	text := Count(fields, "locked field")
	switch {
	case fields == 0 || !known:
	case open == 0 && !rules:
		text += ", " + p.Green("no hole")
	case open == 0:
	default:
		text += fmt.Sprintf(", %s with a hole (%s); fieldlock lint says how to close it",
			p.Yellow(fmt.Sprint(open)), p.Yellow("!"))
	}
	if rules {
		text += "; fieldlock lint finds the ways around rules"
	}
	fmt.Fprintln(w, text)
	return nil
}

// lockedFields counts the fields that can be refused; a field of a built-in kind can have several locks.
func lockedFields(fields []audit.Field) int {
	n := 0
	for i, f := range fields {
		if f.Note == "" && !slices.ContainsFunc(fields[:i],
			func(before audit.Field) bool { return before.Path == f.Path }) {
			n++
		}
	}
	return n
}

// withLocks returns the groups of the kinds that have a lock in some version, and the kinds of the others.
func withLocks(groups []audit.Group) (locked []audit.Group, unlocked []string) {
	type kind struct{ name, kind string }
	has := map[kind]bool{}
	for _, g := range groups {
		has[kind{g.Name, g.Kind}] = has[kind{g.Name, g.Kind}] || len(g.Fields) > 0
	}
	for _, g := range groups {
		if has[kind{g.Name, g.Kind}] {
			locked = append(locked, g)
		} else {
			unlocked = append(unlocked, g.Kind)
		}
	}
	return locked, unlocked
}

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
		path := cmp.Or(fields[i].Path, "the whole object")
		for _, label := range strings.Split(strings.ReplaceAll(path, "[*]", ".[*]"), ".") {
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
