package unit

import (
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Paths name what to compare in NEW. An object there may come from a place in OLD that they do not name: somebody has
// moved its file, and names the new one only, as pre-commit does.

// addPredecessors adds the objects of OLD outside of the paths that objects which only NEW has may come from: those of
// the same kind and name in files and units that changed. If NEW still has such an object there, the other one is a
// copy, and both sides get it as it was: nothing outside of the paths is judged.
func (c *comparison) addPredecessors() {
	if c.oldSide.Paths == nil || c.oldSide.Others == nil {
		return
	}
	wanted := identities{}
	wanted.add(c.out.New)
	for _, as := range objectsOf(c.out.Old) {
		wanted[as.id] = slices.DeleteFunc(wanted[as.id], func(namespace string) bool {
			return namespace == as.namespace
		})
	}
	maps.DeleteFunc(wanted, func(id identity, namespaces []string) bool {
		return len(namespaces) == 0 || id.name == ""
	})
	if len(wanted) == 0 {
		return
	}
	c.otherFiles(wanted)
	c.otherUnits(wanted)
}

// otherFiles adds predecessors from files that changed.
func (c *comparison) otherFiles(wanted identities) {
	kept := map[string]*manifest.File{}
	news := c.newSide.Others()
	for i := range news {
		kept[news[i].Path] = &news[i]
	}
	for _, f := range c.oldSide.Others() {
		now := kept[f.Path]
		if f.Err != nil || c.engine.Exclude != nil && c.engine.Exclude(f.Path) ||
			now != nil && c.sameContent(now, &f) || c.olds.isInput(f.Path) {
			continue
		}
		stays := identities{}
		if now != nil && !c.news.isInput(f.Path) {
			stays.add([]manifest.File{c.newSide.parse(*now, c.engine.shared, nil)})
		}
		c.addOther(c.oldSide.parse(f, c.engine.shared, nil), stays, wanted)
	}
}

// otherUnits adds predecessors from units that changed.
func (c *comparison) otherUnits(wanted identities) {
	for _, u := range c.olds.units {
		now := c.news.byKey[u.pairKey()]
		if c.oldSide.selects(u) || now != nil &&
			(c.newSide.selects(now) || now.inputDigest(c.news.tree) == u.inputDigest(c.olds.tree)) {
			continue
		}
		files, stays := c.olds.renderedFiles(u), identities{}
		if now != nil && files != nil {
			stays.add(c.news.renderedFiles(now))
		}
		for _, f := range files {
			c.addOther(f, stays, wanted)
		}
	}
}

// addOther adds the objects of a file or unit of OLD that are wanted: to both sides those that stay in NEW.
func (c *comparison) addOther(f manifest.File, stays, wanted identities) {
	gone, both := f, f
	gone.Documents, both.Documents = nil, nil
	gone.Err, both.Err, gone.Repeated, both.Repeated = nil, nil, nil, nil
	for _, d := range f.Documents {
		switch {
		case !wanted.has(d):
		case stays.has(d):
			both.Documents = append(both.Documents, d)
		default:
			gone.Documents = append(gone.Documents, d)
		}
	}
	c.out.Old = append(c.out.Old, gone, both)
	c.out.New = append(c.out.New, both)
}

// identities have the namespaces of objects.
type identities map[identity][]string

func (s identities) add(files []manifest.File) {
	for _, as := range objectsOf(files) {
		s[as.id] = append(s[as.id], as.namespace)
	}
}

// has reports whether an object of that kind and name is among them, in the same namespace or where one of both has
// none.
func (s identities) has(d *yamldoc.Document) bool {
	id, namespace := identityOf(d)
	return slices.ContainsFunc(s[id], func(n string) bool { return n == namespace || n == "" || namespace == "" })
}
