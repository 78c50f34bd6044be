package unit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// What both sides have alike is not compared, but changed objects need some of it:
//
//   - the CRDs of their kinds;
//   - objects of the same kinds and names as those that NEW adds: an object that NEW adds may be a copy;
//   - the objects of a version that a changed CRD no longer serves: no tool can apply them any more;
//   - the admission policies that judge them, and what these read (see policies.go).
//
// A file is parsed, and a unit rendered, only if its texts mention something of that. For names, only units of one cluster are rendered: those that
// Flux or Argo CD deploys where it deploys the unit that adds the object.

// needed is what changed objects need of what did not change. The zero value needs nothing.
type needed struct {
	// judged are the kinds of changed objects that have a CRD, by group and kind.
	judged map[[2]string]bool
	// names are the kind and name of the objects that NEW adds, and of namespaces that policies read.
	names [][2]string
	// policies is set if any object changed.
	policies bool
	// read are kinds of which any object is needed, by apiVersion and kind: those of the parameters of policies, and those that are no
	// longer served.
	read map[[2]string]bool
	// changed are the namespaces of the changed objects that OLD has too, by group and kind.
	changed map[[2]string]map[string]bool
}

// addNeeded adds what changed objects need to both sides. What the policies of unchanged files read is known only when these are found.
func (c *comparison) addNeeded() {
	n := c.needs()
	if !n.policies && !c.engine.Plain {
		return
	}
	c.needRead(n, c.search(&needed{names: n.names, policies: n.policies}))
	c.needUnserved(n)
	for _, p := range c.search(n) {
		c.out.New, c.out.Old = append(c.out.New, p.new), append(c.out.Old, p.old)
	}
	units := c.rendered(&needed{judged: n.judged, policies: n.policies, read: n.read})
	for _, u := range c.copied(n) {
		if !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	for _, u := range units {
		for _, f := range c.news.files(u) {
			f.Documents = n.of(f.Documents)
			c.out.New, c.out.Old = append(c.out.New, f), append(c.out.Old, f)
		}
	}
}

// needs finds what changed objects need, as far as they tell.
func (c *comparison) needs() *needed {
	n := &needed{judged: map[[2]string]bool{}, read: map[[2]string]bool{}, changed: map[[2]string]map[string]bool{}}
	alike := manifest.Alike(c.out.New, c.out.Old)
	old := map[named]bool{}
	for d, as := range objectsOf(c.out.Old) {
		as.namespace = ""
		if old[as] = true; !alike[d] {
			c.needRules(n, as.of)
		}
	}
	for _, as := range objectsOf(c.out.OldWritten) { // they are judged, too
		c.needRules(n, as.of)
	}
	for d, as := range objectsOf(c.out.New) {
		namespace := as.namespace
		as.namespace = ""
		if alike[d] {
			continue
		}
		if c.needRules(n, as.of); as.id.name == "" || old[as] {
			n.change(as.of, namespace)
		} else {
			n.names = append(n.names, [2]string{as.id.kind, as.id.name})
		}
	}
	return n
}

// needRules makes n need what judges a changed object of a kind.
func (c *comparison) needRules(n *needed, of [2]string) {
	n.policies = true
	c.needCRD(n, of)
}

// needCRD makes n need the CRDs of a kind, if it is not one of Kubernetes' own.
func (c *comparison) needCRD(n *needed, of [2]string) {
	if of[0] != "" && (c.engine.Builtin == nil || !c.engine.Builtin(of[0], of[1])) {
		n.judged[of] = true
	}
}

// needUnserved makes n need the objects of the versions that changed CRDs no longer serve, and the other CRDs of their kinds, which may.
func (c *comparison) needUnserved(n *needed) {
	now := servedIn(c.out.New)
	for of, was := range servedIn(c.out.Old) {
		if served, listed := now[of]; was && listed && !served {
			n.read[of] = true
			group, _ := kindindex.GroupVersion(of[0])
			c.needCRD(n, [2]string{group, of[1]})
		}
	}
}

// servedIn tells of each version that CRDs of files list whether one of them serves it, by apiVersion and kind.
func servedIn(files []manifest.File) map[[2]string]bool {
	served := map[[2]string]bool{}
	for d, as := range objectsOf(files) {
		if as.id.kind != crdKind {
			continue
		}
		group, _ := yamldoc.At(d.Object, "spec", "group").(string)
		kind, _ := yamldoc.At(d.Object, "spec", "names", "kind").(string)
		versions, _ := yamldoc.At(d.Object, "spec", "versions").([]any)
		for _, v := range versions {
			name, _ := yamldoc.At(v, "name").(string)
			of := [2]string{group + "/" + name, kind}
			served[of] = served[of] || yamldoc.At(v, "served") == true
		}
	}
	return served
}

// change counts an object of a group and kind as changed.
func (n *needed) change(of [2]string, namespace string) {
	if n.changed[of] == nil {
		n.changed[of] = map[string]bool{}
	}
	n.changed[of][namespace] = true
}

// search reads the unchanged files that hold something needed, once for both sides.
func (c *comparison) search(n *needed) []filePair {
	found := make([]*filePair, len(c.unchanged))
	manifest.Each(len(found), func(i int) {
		p := c.unchanged[i]
		if !c.read(&p.new, n) {
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

// read parses an unchanged file if its text mentions something needed, and reports whether it does. It parses the documents that mention it;
// all of them where it takes all to tell whether the text is malformed, and may hold objects all the same.
func (c *comparison) read(f *manifest.File, n *needed) (found bool) {
	patches := c.tellsPatches(f)
	if f.Err != nil || !patches && !n.mayBeIn(c.words(c.newSide.Tree, f.Path)) {
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

// rendered returns the unchanged units that may print something that is needed. It renders them in parallel.
func (c *comparison) rendered(n *needed) []*Unit {
	var units []*Unit
	for _, p := range c.pairs {
		if p.unchanged() && c.holds(p.new, n) {
			units = append(units, p.new)
		}
	}
	c.news.renderAll(units)
	return units
}

// copied returns the unchanged units of Flux and Argo CD that may print an object which a changed unit of the same cluster adds.
func (c *comparison) copied(n *needed) []*Unit {
	names := map[*Unit][][2]string{} // that changed units add
	for _, p := range c.pairs {
		if p.new == nil || !p.changed || p.forced || p.new.kind.group == "" {
			continue
		}
		objects, _ := c.news.render(p.new)
		for _, o := range objects {
			id, _ := identityOf(o.Document)
			if name := [2]string{id.kind, id.name}; slices.Contains(n.names, name) {
				names[p.new] = append(names[p.new], name)
			}
		}
	}
	var units []*Unit
	for _, p := range c.pairs {
		if len(names) == 0 || !p.unchanged() || p.new.kind.group == "" {
			continue
		}
		var wanted [][2]string
		for u, list := range names {
			if p.new.destination() == u.destination() && !p.new.clashes(u) {
				wanted = append(wanted, list...)
			}
		}
		if len(wanted) > 0 && c.holds(p.new, &needed{names: wanted}) {
			units = append(units, p.new)
		}
	}
	c.news.renderAll(units)
	return units
}

// destination identifies the cluster that a unit is deployed to, if its definition names another one than its own.
func (u *Unit) destination() string {
	spec := decode[definedSpec](u.spec).Object["spec"]
	return fmt.Sprint(yamldoc.At(spec, "destination", "server"), yamldoc.At(spec, "destination", "name"), yamldoc.At(spec, "kubeConfig"))
}

// holds reports whether a unit may print something that is needed. Kustomize and Helm read files of any name.
func (c *comparison) holds(u *Unit, n *needed) bool {
	t := u.in(c.news.tree)
	return slices.ContainsFunc(u.Reads, func(name string) (found bool) {
		if n.mayBeIn(c.words(t, name)) {
			scan(t, name, func(data []byte) { found = n.in(data) })
		}
		return found
	})
}

// words returns which words a file has, nil if nobody has looked.
func (c *comparison) words(t Tree, name string) *fileDefinitions {
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

// mayBeIn reports whether a file with some words may hold something that is needed; nil for a file whose words are not known.
func (n *needed) mayBeIn(w *fileDefinitions) bool {
	return len(n.names)+len(n.read) > 0 || n.policies && (w == nil || w.policies) || len(n.judged) > 0 && (w == nil || w.crds)
}

// in reports whether a text may hold something that is needed.
func (n *needed) in(data []byte) bool {
	if n.policies && mentions(data, policyKind) || slices.ContainsFunc(n.names, func(of [2]string) bool { return mentions(data, of[:]...) }) {
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

const (
	crdKind       = "CustomResourceDefinition"
	policyKind    = "ValidatingAdmissionPolicy"
	namespaceKind = "Namespace"
)

// of returns the documents of an unchanged file or unit that are needed.
func (n *needed) of(documents []*yamldoc.Document) []*yamldoc.Document {
	return slices.DeleteFunc(slices.Clone(documents), func(d *yamldoc.Document) bool { return !n.has(d) })
}

// has reports whether a document is needed: a CRD of a kind, also one that does not tell its kind, a policy, or an object that a policy reads
// or that may be copied.
func (n *needed) has(d *yamldoc.Document) bool {
	apiVersion, _ := d.Object["apiVersion"].(string)
	id, _ := identityOf(d)
	if id.kind == crdKind {
		group, _ := yamldoc.At(d.Object, "spec", "group").(string)
		kind, _ := yamldoc.At(d.Object, "spec", "names", "kind").(string)
		return n.judged[[2]string{group, kind}] || group == "" || kind == ""
	}
	return strings.HasPrefix(id.kind, policyKind) || n.read[[2]string{apiVersion, id.kind}] || slices.Contains(n.names, [2]string{id.kind, id.name})
}
