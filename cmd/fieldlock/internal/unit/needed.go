package unit

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// What both sides have alike is not compared, but changed objects need some of it:
//
//   - the CRDs of their kinds;
//   - objects of the same kinds and names as those that NEW adds: an object that NEW adds may be a copy;
//   - the objects of a version that a changed CRD no longer serves: no tool can apply them any more;
//   - the admission policies that judge them, and what these read (see policies.go).
//
// For names, only units of one cluster are rendered: those that Flux or Argo CD deploys where it deploys the unit that
// adds the object.

// addNeeded adds what changed objects need to both sides. What the policies of unchanged files read is known only when
// these are found.
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
	units := c.renderedUnits(&needed{judged: n.judged, policies: n.policies, read: n.read})
	for _, u := range c.copied(n) {
		if !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	for _, u := range units {
		for _, f := range c.news.renderedFiles(u) {
			f.Documents = n.of(f.Documents)
			c.out.New, c.out.Old = append(c.out.New, f), append(c.out.Old, f)
		}
	}
}

// needs finds what changed objects need, as far as they tell.
func (c *comparison) needs() *needed {
	n := &needed{judged: map[[2]string]bool{}, read: map[[2]string]bool{}, namespaces: map[string]bool{}}
	equal := manifest.EqualDocuments(c.out.New, c.out.Old)
	old := map[named]bool{}
	for d, as := range objectsOf(c.out.Old) {
		as.namespace = ""
		if old[as] = true; !equal[d] {
			c.needRules(n, as.of)
		}
	}
	for _, as := range objectsOf(c.out.OldWritten) { // they are judged, too
		c.needRules(n, as.of)
	}
	for d, as := range objectsOf(c.out.New) {
		namespace := as.namespace
		as.namespace = ""
		if equal[d] {
			continue
		}
		if c.needRules(n, as.of); as.id.name == "" || old[as] {
			n.namespaces[namespace] = true
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

// needUnserved makes n need the objects of the versions that changed CRDs no longer serve, and the other CRDs of their
// kinds, which may.
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
		group := fieldpath.Text(d.Object, "spec", "group")
		kind := fieldpath.Text(d.Object, "spec", "names", "kind")
		versions, _ := fieldpath.Value(d.Object, "spec", "versions").([]any)
		for _, v := range versions {
			name := fieldpath.Text(v, "name")
			of := [2]string{group + "/" + name, kind}
			served[of] = served[of] || fieldpath.Value(v, "served") == true
		}
	}
	return served
}

// copied returns the unchanged units of Flux and Argo CD that may print an object which a changed unit of the same
// cluster adds.
func (c *comparison) copied(n *needed) []*Unit {
	names := map[*Unit][][2]string{} // that changed units add
	for _, p := range c.pairs {
		if p.new == nil || !p.changed || p.forced || p.new.kind.group == "" {
			continue
		}
		objects, _ := c.news.objectsOf(p.new)
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
		if len(wanted) > 0 && c.mayPrint(p.new, &needed{names: wanted}) {
			units = append(units, p.new)
		}
	}
	c.news.renderAll(units)
	return units
}

// destination identifies the cluster that a unit is deployed to, if its definition names another one than its own.
func (u *Unit) destination() string {
	spec := decode[definedSpec](u.spec).Object["spec"]
	return fmt.Sprint(fieldpath.Value(spec, "destination", "server"), fieldpath.Value(spec, "destination", "name"),
		fieldpath.Value(spec, "kubeConfig"))
}
