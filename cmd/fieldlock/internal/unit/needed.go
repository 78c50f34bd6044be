package unit

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// needed is what changed objects need of what did not change.
type needed struct {
	// kinds are those of changed objects, by group and kind. They need their CRDs: with the schemas where an object of OLD may be
	// compared by them, and otherwise only to tell a kind that is known.
	kinds map[[2]string]bool
	// names are the kind and name of the objects that only NEW has among what changed, and of namespaces that policies read.
	names [][2]string
	// changed are the namespaces of the changed objects that OLD has too, by group and kind.
	changed map[[2]string]map[string]bool
	// read are kinds of which admission policies may read any object, by apiVersion and kind: those of their parameters.
	read map[[2]string]bool
}

// addNeeded adds, of what both sides have alike, the files and units with CRDs of changed objects, and the files with objects
// of the same names as those that NEW adds: an object that NEW adds may be a copy.
func (c *comparison) addNeeded() {
	n := c.needs()
	c.needRead(n)
	unserved := c.unserved(n)
	needed := make([]bool, len(c.unchanged))
	manifest.Each(len(needed), func(i int) { needed[i] = c.readNeeded(&c.unchanged[i], n) })
	for i, p := range c.unchanged {
		if needed[i] {
			c.out.New, c.out.Old = append(c.out.New, p.new), append(c.out.Old, p.old)
			unserved.serve(p.new.Documents)
		}
	}
	added := map[*Unit]bool{}
	add := func(u *Unit) {
		added[u] = true
		objects, err := c.news.render(u)
		if err != nil {
			return
		}
		for _, f := range c.news.manifests(Rendered{Unit: u, Objects: objects}) {
			f.Documents = n.of(f.Documents)
			c.out.New, c.out.Old = append(c.out.New, f), append(c.out.Old, f)
			unserved.serve(f.Documents)
		}
	}
	for _, p := range c.rendered(n.without(unserved)) {
		add(p.new)
	}
	for _, p := range c.pairs {
		if len(unserved) > 0 && p.unchanged() && !added[p.new] && c.holds(p.new, unserved.needed()) {
			add(p.new)
		}
	}
}

// unserved are kinds of new objects, by apiVersion and kind. Such an object has nothing to be compared with, so any CRD that serves its version
// will do. Once one is found, no other unit is rendered for the kind.
type unserved map[[2]string]bool

// unserved returns the kinds of changed objects for which any CRD will do.
func (c *comparison) unserved(n *needed) unserved {
	list := unserved{}
	for _, f := range c.out.New {
		for _, d := range f.Documents {
			schema, needed := n.kinds[groupKindOf(d)]
			apiVersion, _ := d.Object["apiVersion"].(string)
			kind, _ := d.Object["kind"].(string)
			if of := [2]string{apiVersion, kind}; needed && !schema && !n.read[of] {
				list[of] = true
			}
		}
	}
	return list
}

// serve removes the kinds that CRDs among documents serve.
func (list unserved) serve(documents []*yamldoc.Document) {
	for _, d := range documents {
		group, _ := yamldoc.At(d.Object, "spec", "group").(string)
		kind, _ := yamldoc.At(d.Object, "spec", "names", "kind").(string)
		versions, _ := yamldoc.At(d.Object, "spec", "versions").([]any)
		for _, v := range versions {
			if name, _ := yamldoc.At(v, "name").(string); d.Object["kind"] == crdKind {
				delete(list, [2]string{group + "/" + name, kind})
			}
		}
	}
}

// needed returns the kinds as needed, to find the units that print their CRDs.
func (list unserved) needed() *needed {
	n := &needed{kinds: map[[2]string]bool{}}
	for of := range list {
		group, _ := kindindex.GroupVersion(of[0])
		n.kinds[[2]string{group, of[1]}] = false
	}
	return n
}

// without returns n without the kinds of list; nil for nil.
func (n *needed) without(list unserved) *needed {
	if len(list) == 0 {
		return n
	}
	rest := *n
	rest.kinds = maps.Clone(n.kinds)
	for of := range list.needed().kinds {
		delete(rest.kinds, of)
	}
	return &rest
}

// rendered returns the unchanged units that may print something that is needed. It renders them in parallel.
func (c *comparison) rendered(n *needed) []unitPair {
	var units []unitPair
	for _, p := range c.pairs {
		if p.unchanged() && c.holds(p.new, n) {
			units = append(units, p)
		}
	}
	manifest.Each(len(units), func(i int) { c.news.render(units[i].new) })
	return units
}

// groupKindOf returns the group and kind of an object.
func groupKindOf(d *yamldoc.Document) [2]string {
	apiVersion, _ := d.Object["apiVersion"].(string)
	kind, _ := d.Object["kind"].(string)
	group, _ := kindindex.GroupVersion(apiVersion)
	return [2]string{group, kind}
}

// change counts an object of a group and kind as changed.
func (n *needed) change(of [2]string, namespace string) {
	if n.changed[of] == nil {
		n.changed[of] = map[string]bool{}
	}
	n.changed[of][namespace] = true
}

// readNeeded reads an unchanged file, once for both sides, and reports whether it may hold something that changed objects need.
// Without units, kustomizations tell which files are patches.
func (c *comparison) readNeeded(p *filePair, n *needed) bool {
	patches := c.engine.Plain && isKustomization(p.new.Path)
	if p.new.Err != nil || !patches && n == nil {
		return false
	}
	if known := c.words(&p.new); !patches && known != nil && !known.policies && len(n.names)+len(n.read) == 0 && (!known.crds || len(n.kinds) == 0) {
		return false
	}
	found := c.finds(&p.new, func(data []byte) bool {
		if !patches && !n.in(data) {
			return false
		}
		if wanted := n.inDocument(data, patches); wanted != nil {
			p.new.ParseSome(data, c.engine.shared, wanted)
		} else {
			p.new.ParseShared(bytes.Clone(data), c.engine.shared)
		}
		return true
	})
	if !found {
		return false
	}
	p.new.Err, p.new.Repeated = nil, nil // both sides have them
	if !patches {
		p.new.Unrelated, p.new.Documents = false, n.of(p.new.Documents)
	}
	p.old.Unrelated = p.new.Unrelated
	for _, d := range p.new.Documents {
		same := *d
		same.File = p.old.Name
		p.old.Documents = append(p.old.Documents, &same)
	}
	return true
}

// finds returns what find returns for the content of an unchanged file, false if the file cannot be read. Find may not keep the data, which is
// overwritten.
func (c *comparison) finds(f *manifest.File, find func(data []byte) bool) (found bool) {
	if f.Err != nil {
		return false
	}
	if c.newSide.Read == nil {
		scan(c.newSide.Tree, f.Path, func(data []byte) { found = find(data) })
		return found
	}
	data, err := c.newSide.content(f)
	return err == nil && find(data)
}

// readable returns the files without what is wrong with them: both sides have it.
func readable(files []manifest.File) []manifest.File {
	for i := range files {
		files[i].Err, files[i].Repeated = nil, nil
	}
	return files
}

// needs finds what changed objects need; nil if nothing changed.
func (c *comparison) needs() *needed {
	if len(c.out.New)+len(c.out.Old) == 0 {
		return nil
	}
	n := &needed{kinds: map[[2]string]bool{}, changed: map[[2]string]map[string]bool{}}
	alike := manifest.Alike(c.out.New, c.out.Old)
	each := func(files []manifest.File, do func(of [2]string, name, in string, changed bool)) {
		for _, f := range files {
			for _, d := range f.Documents {
				if id, in := identityOf(d); id.kind != "" {
					do(groupKindOf(d), id.name, in, !alike[d])
				}
			}
		}
	}
	need := func(of [2]string, schema bool) {
		if of[0] != "" && (c.engine.Builtin == nil || !c.engine.Builtin(of[0], of[1])) {
			n.kinds[of] = n.kinds[of] || schema
		}
	}
	olds := map[[2]string]map[string]bool{}
	each(c.out.Old, func(of [2]string, name, _ string, changed bool) {
		if olds[of] == nil {
			olds[of] = map[string]bool{}
		}
		if olds[of][name] = true; changed {
			need(of, true)
		}
	})
	for _, f := range c.out.OldWritten { // they are judged, too
		for _, d := range f.Documents {
			if id, _ := identityOf(d); id.kind != "" {
				need(groupKindOf(d), true)
			}
		}
	}
	added := map[[2]string][]string{}
	each(c.out.New, func(of [2]string, name, in string, changed bool) {
		if !changed {
			return
		}
		switch {
		case name != "" && !olds[of][name]:
			n.names, added[of] = append(n.names, [2]string{of[1], name}), append(added[of], name)
			need(of, false)
		default:
			n.change(of, in)
			need(of, name != "")
		}
	})
	c.needCopied(n, added)
	return n
}

// needCopied makes n need the schemas of kinds with an added object that may be a copy: an unchanged file has its kind and name.
func (c *comparison) needCopied(n *needed, added map[[2]string][]string) {
	maps.DeleteFunc(added, func(of [2]string, _ []string) bool {
		schema, needed := n.kinds[of]
		return schema || !needed
	})
	for i := range c.unchanged {
		if len(added) == 0 {
			return
		}
		c.finds(&c.unchanged[i].new, func(data []byte) bool {
			maps.DeleteFunc(added, func(of [2]string, names []string) bool {
				n.kinds[of] = slices.ContainsFunc(names, func(name string) bool { return mentions(data, of[1], name) })
				return n.kinds[of]
			})
			return len(added) == 0
		})
	}
}

const (
	crdKind       = "CustomResourceDefinition"
	policyKind    = "ValidatingAdmissionPolicy"
	namespaceKind = "Namespace"
)

// of returns the documents of an unchanged file or unit that are needed: CRDs, objects of names that NEW adds, policies and what they
// read.
func (n *needed) of(documents []*yamldoc.Document) []*yamldoc.Document {
	var list []*yamldoc.Document
	for _, d := range documents {
		apiVersion, _ := d.Object["apiVersion"].(string)
		kind, _ := d.Object["kind"].(string)
		name, _ := yamldoc.At(d.Object, "metadata", "name").(string)
		switch {
		case kind == crdKind:
			list = append(list, n.crd(d)...)
		case strings.HasPrefix(kind, policyKind), n.read[[2]string{apiVersion, kind}], slices.Contains(n.names, [2]string{kind, name}):
			list = append(list, d)
		}
	}
	return list
}

// crd returns a CRD if its kind is needed, without its schemas if these are not.
func (n *needed) crd(d *yamldoc.Document) []*yamldoc.Document {
	group, _ := yamldoc.At(d.Object, "spec", "group").(string)
	kind, _ := yamldoc.At(d.Object, "spec", "names", "kind").(string)
	schema, needed := n.kinds[[2]string{group, kind}]
	versions, _ := yamldoc.At(d.Object, "spec", "versions").([]any)
	switch {
	case !needed && group != "" && kind != "":
		return nil
	case schema || !needed || d.Object["apiVersion"] != "apiextensions.k8s.io/v1":
		return []*yamldoc.Document{d}
	}
	known := *d
	for i, v := range versions {
		bare := map[string]any{"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}
		for _, member := range [...]string{"name", "served", "storage"} {
			bare[member] = yamldoc.At(v, member)
		}
		known.Object, _ = put(known.Object, []string{"spec", "versions", strconv.Itoa(i)}, bare).(map[string]any)
	}
	return []*yamldoc.Document{&known}
}

// in reports whether a text may hold something that is needed.
func (n *needed) in(data []byte) bool {
	return slices.ContainsFunc(n.names, func(of [2]string) bool { return mentions(data, of[:]...) }) || n.inUnit(data)
}

// inDocument returns in for the single documents of a text; nil where all of them count, and where it takes all of them to tell whether the
// text is malformed, and may hold objects all the same.
func (n *needed) inDocument(data []byte, all bool) func(document []byte) bool {
	if all || mentions(data, policyKind) || !mentions(data, "apiVersion", "kind") {
		return nil
	}
	return n.in
}

// inUnit is in for a file that a unit reads. No unit is rendered for the namespaces that it may print: nearly all would be. A policy
// that needs one of them leaves the verdict unknown.
func (n *needed) inUnit(data []byte) bool {
	if mentions(data, policyKind) {
		return true
	}
	for of := range n.read {
		if mentions(data, of[1][1:]) { // also in configMapGenerator
			return true
		}
	}
	if !mentions(data, crdKind) {
		return false
	}
	for of := range n.kinds {
		if mentions(data, of[:]...) {
			return true
		}
	}
	return false
}

// holds reports whether a unit may print something that is needed whatever its name.
func (c *comparison) holds(u *Unit, n *needed) bool {
	if n == nil {
		return false
	}
	return slices.ContainsFunc(u.Reads, func(name string) (found bool) { // files of any name: kustomize and Helm read them
		scan(u.in(c.news.tree), name, func(data []byte) { found = n.inUnit(data) })
		return found
	})
}
