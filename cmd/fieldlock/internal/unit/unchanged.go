package unit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Changed objects need some of what both sides have alike (needed.go). A file is parsed, and a unit rendered, only if
// its texts mention something of that.

// needed is what changed objects need of what did not change. The zero value needs nothing.
type needed struct {
	// judged are the kinds of changed objects that have a CRD, by group and kind.
	judged map[[2]string]bool
	// names are the kind and name of the objects that NEW adds, and of namespaces that policies read.
	names [][2]string
	// policies is set if any object changed.
	policies bool
	// read are kinds of which any object is needed, by apiVersion and kind: those of the parameters of policies, and
	// those that are no longer served.
	read map[[2]string]bool
	// namespaces are those of the changed objects that OLD has too.
	namespaces map[string]bool
}

// search reads the unchanged files that hold something needed, once for both sides.
func (c *comparison) search(n *needed) []filePair {
	found := make([]*filePair, len(c.unchanged))
	manifest.Each(len(found), func(i int) {
		p := c.unchanged[i]
		if !c.parseIfNeeded(&p.new, n) {
			return
		}
		p.new.Err, p.new.Repeated = nil, nil // both sides have them
		if !c.tellsPatches(&p.new) {
			p.new.Unrelated, p.new.Documents = false, n.of(p.new.Documents)
		}
		p.old.Unrelated = p.new.Unrelated
		for _, d := range p.new.Documents {
			same := *d
			same.File = p.old.Name
			p.old.Documents = append(p.old.Documents, &same)
		}
		found[i] = &p
	})
	var pairs []filePair
	for _, p := range found {
		if p != nil {
			pairs = append(pairs, *p)
		}
	}
	return pairs
}

// tellsPatches reports whether a file tells which files are patches: without units, a kustomization does.
func (c *comparison) tellsPatches(f *manifest.File) bool {
	return c.engine.Plain && isKustomization(f.Path)
}

// parseIfNeeded parses an unchanged file if its text mentions something needed, and reports whether it does. It parses
// the documents that mention it; all of them where it takes all to tell whether the text is malformed, and may hold
// objects all the same.
func (c *comparison) parseIfNeeded(f *manifest.File, n *needed) (found bool) {
	patches := c.tellsPatches(f)
	if f.Err != nil || !patches && !n.mayBeIn(c.wordsOf(c.newSide.Tree, f.Path)) {
		return false
	}
	parse := func(data []byte) { // which nobody may keep
		wanted := n.in
		if found = patches || n.in(data) && !c.olds.isInput(f.Path); !found {
			return
		}
		if patches || mentions(data, policyKind) || !mentions(data, "apiVersion", "kind") {
			wanted, data = nil, bytes.Clone(data)
		}
		f.ParseSome(data, c.engine.shared, wanted)
	}
	if c.newSide.Read == nil {
		scan(c.newSide.Tree, f.Path, parse)
	} else if data, err := c.newSide.content(f); err == nil {
		parse(data)
	}
	return found
}

// renderedUnits returns the unchanged units that may print something that is needed. It renders them in parallel.
func (c *comparison) renderedUnits(n *needed) []*Unit {
	var units []*Unit
	for _, p := range c.pairs {
		if p.unchanged() && c.mayPrint(p.new, n) {
			units = append(units, p.new)
		}
	}
	c.news.renderAll(units)
	return units
}

// mayPrint reports whether a unit may print something that is needed. Kustomize and Helm read files of any name.
func (c *comparison) mayPrint(u *Unit, n *needed) bool {
	t := u.in(c.news.tree)
	return slices.ContainsFunc(u.Reads, func(name string) (found bool) {
		if n.mayBeIn(c.wordsOf(t, name)) {
			scan(t, name, func(data []byte) { found = n.in(data) })
		}
		return found
	})
}

// wordsOf returns the definitions that were read in a file, or nil if it was not read.
func (c *comparison) wordsOf(t Tree, name string) *fileDefinitions {
	if c.newSide.Read != nil {
		return nil // to find out takes reading it
	}
	id, _ := t.ID(name)
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	found, ok := c.engine.definitions[id]
	if ok && found == nil {
		found = &fileDefinitions{}
	}
	return found
}

// mayBeIn reports whether a file with some words may hold something that is needed; nil for a file whose words are not
// known.
func (n *needed) mayBeIn(w *fileDefinitions) bool {
	return len(n.names)+len(n.read) > 0 || n.policies && (w == nil || w.policies) ||
		len(n.judged) > 0 && (w == nil || w.crds)
}

// in reports whether a text may hold something that is needed.
func (n *needed) in(data []byte) bool {
	if n.policies && mentions(data, policyKind) ||
		slices.ContainsFunc(n.names, func(of [2]string) bool { return mentions(data, of[:]...) }) {
		return true
	}
	for of := range n.read {
		if mentions(data, of[1][1:]) { // also in configMapGenerator
			return true
		}
	}
	if len(n.judged) == 0 || !mentions(data, crdKind) {
		return false
	}
	for of := range n.judged {
		if mentions(data, of[:]...) {
			return true
		}
	}
	return false
}

// of returns the documents of an unchanged file or unit that are needed.
func (n *needed) of(documents []*yamldoc.Document) []*yamldoc.Document {
	return slices.DeleteFunc(slices.Clone(documents), func(d *yamldoc.Document) bool { return !n.has(d) })
}

// has reports whether a document is needed: a CRD of a kind, also one that does not tell its kind, a policy, or an
// object that a policy reads or that may be copied.
func (n *needed) has(d *yamldoc.Document) bool {
	apiVersion, _ := d.Object["apiVersion"].(string)
	id, _ := identityOf(d)
	if id.kind == crdKind {
		group := fieldpath.Text(d.Object, "spec", "group")
		kind := fieldpath.Text(d.Object, "spec", "names", "kind")
		return n.judged[[2]string{group, kind}] || group == "" || kind == ""
	}
	return strings.HasPrefix(id.kind, policyKind) || n.read[[2]string{apiVersion, id.kind}] ||
		slices.Contains(n.names, [2]string{id.kind, id.name})
}

// needCRD makes n need the CRDs of a kind, if it is not one of Kubernetes' own.
func (c *comparison) needCRD(n *needed, of [2]string) {
	if of[0] != "" && (c.engine.Builtin == nil || !c.engine.Builtin(of[0], of[1])) {
		n.judged[of] = true
	}
}
