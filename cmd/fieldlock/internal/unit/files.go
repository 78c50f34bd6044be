package unit

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Excluded is the reason of NotCovered for a file that Options.Exclude leaves out.
const Excluded = "exclude in the settings leaves it out"

// exclude takes the files that are left out of both sides, and lists those that differ.
func (c *comparison) exclude() {
	if c.engine.Exclude == nil {
		return
	}
	var news, olds map[string]string
	c.newSide, c.out.Excluded, news = c.news.takeExcluded(c.newSide)
	c.oldSide, _, olds = c.olds.takeExcluded(c.oldSide)
	names := map[string]Tree{}
	for name := range olds {
		names[name] = c.oldSide.Tree
	}
	for name := range news {
		names[name] = c.newSide.Tree
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if news[name] == olds[name] {
			c.out.Unchanged++
			continue
		}
		c.out.NotCovered = append(c.out.NotCovered, NotCovered{Unit: name, Kind: "file", File: names[name].Name(name), Reason: Excluded, Changed: true})
	}
}

// takeExcluded returns the side without the files that are left out, which it returns as well. states tells what the tree has at
// these, and at the files that only units read which are left out.
func (s *side) takeExcluded(in *Side) (rest *Side, excluded []manifest.File, states map[string]string) {
	taken := *in
	taken.Files = nil
	states = map[string]string{}
	read := map[string]bool{}
	for _, f := range in.Files {
		switch {
		case !s.Exclude(f.Path):
			taken.Files = append(taken.Files, f)
			read[f.Path] = true
			continue
		case s.input[f.Path]: // a unit that is not left out reads it
		case f.Err != nil:
			states[f.Path] = mistakeIn(&f)
		default:
			states[f.Path] = "file " + in.id(&f)
		}
		excluded = append(excluded, f)
	}
	for _, u := range s.excluded {
		for _, name := range u.Reads {
			if _, known := states[name]; !known && !read[name] && !s.input[name] && in.names(name) {
				states[name] = state(s.tree, name)
			}
		}
	}
	return &taken, excluded, states
}

// pairFiles reads the files that are objects as they are written and that differ.
func (c *comparison) pairFiles() {
	olds := map[string]*manifest.File{}
	for i := range c.oldSide.Files {
		if f := &c.oldSide.Files[i]; !c.olds.input[f.Path] {
			olds[f.Path] = f
		}
	}
	var news, gone []manifest.File
	both := map[string]bool{}
	for i := range c.newSide.Files {
		f := &c.newSide.Files[i]
		old := olds[f.Path]
		if old == nil && c.news.input[f.Path] {
			continue
		}
		both[f.Path] = old != nil
		if old != nil && c.alike(f, old) {
			c.out.Unchanged++
			c.unchanged = append(c.unchanged, filePair{*f, *old})
			continue
		}
		news = append(news, *f)
		if old != nil {
			gone = append(gone, *old)
		}
	}
	for i := range c.oldSide.Files {
		if f := &c.oldSide.Files[i]; olds[f.Path] == f && !both[f.Path] {
			gone = append(gone, *f)
		}
	}
	news, gone = c.parse(c.newSide, news), c.parse(c.oldSide, gone)
	c.out.New = append(c.out.New, c.failing(c.templates(news), gone)...)
	c.out.Old = append(c.out.Old, c.baselines(gone)...)
}

// failing returns the files of NEW. A mistake in one that OLD has too, with a mistake of its own, is not one of the change: no tool
// has applied what cannot be read. What can be read in it counts.
func (c *comparison) failing(files, olds []manifest.File) []manifest.File {
	if c.engine.Plain {
		return files
	}
	failed := map[string]bool{}
	for i := range olds {
		failed[olds[i].Path] = olds[i].Err != nil
	}
	for i := range files {
		if f := &files[i]; f.Err != nil && failed[f.Path] {
			c.unread(f, "cannot be read, as in OLD: "+mistakeIn(f))
			f.Err = nil
		}
	}
	return files
}

// unread lists a changed file that cannot be read as it is deployed.
func (c *comparison) unread(f *manifest.File, reason string) {
	c.out.NotCovered = append(c.out.NotCovered, NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Reason: reason, Changed: true})
}

// mistakeIn returns what is wrong with a file, without its name.
func mistakeIn(f *manifest.File) string { return strings.TrimPrefix(f.Err.Error(), f.Name+": ") }

// templates takes the files that are templates of no chart here, and those of other repositories, out of files: nobody knows what
// they become.
func (c *comparison) templates(files []manifest.File) []manifest.File {
	if c.engine.Plain {
		return files
	}
	return slices.DeleteFunc(files, func(f manifest.File) bool {
		reason := unreadable(&f)
		if reason != "" {
			c.unread(&f, reason)
		}
		return reason != ""
	})
}

// unreadable returns why nobody knows what a file becomes, "" for most files.
func unreadable(f *manifest.File) string {
	var template *manifest.TemplateError
	switch {
	case f.Elsewhere:
		return mistakeIn(f)
	case errors.As(f.Err, &template):
		return "it is a template, not YAML"
	}
	return ""
}

// addValues adds the documents that are not objects of the files that pairFiles has left out.
func (c *comparison) addValues() {
	for _, side := range [...]struct {
		of   *Side
		into *[]manifest.File
	}{{c.newSide, &c.out.New}, {c.oldSide, &c.out.Old}} {
		read := map[string]bool{}
		for _, f := range *side.into {
			read[f.Path] = true
		}
		left := slices.DeleteFunc(slices.Clone(side.of.Files), func(f manifest.File) bool { return read[f.Path] || f.Err != nil })
		for _, f := range readable(c.parse(side.of, left)) {
			f.Documents = slices.DeleteFunc(f.Documents, func(d *yamldoc.Document) bool { return d.Object["apiVersion"] != nil && d.Object["kind"] != nil })
			*side.into = append(*side.into, f)
		}
	}
}

// baselines returns the files of OLD that NEW is compared with. It leaves out files that cannot be read.
func (c *comparison) baselines(files []manifest.File) []manifest.File {
	if c.engine.Plain {
		return files
	}
	for i := range files {
		f := &files[i]
		known := func(n NotCovered) bool { return n.Kind == "file" && n.Unit == f.Path }
		if f.Err != nil && !slices.ContainsFunc(c.out.NotCovered, known) {
			c.unread(f, "there is nothing to compare with, since OLD cannot be read: "+strings.TrimPrefix(mistakeIn(f), "cannot be read: "))
		}
		f.Err = nil
	}
	return files
}

// alike reports whether both sides have a file with the same content, or cannot read it.
func (c *comparison) alike(n, old *manifest.File) bool {
	if n.Elsewhere || old.Elsewhere { // where both sides have it alike, it is not among the files
		return false
	}
	if n.Err != nil || old.Err != nil {
		return n.Err != nil && old.Err != nil && strings.TrimPrefix(n.Err.Error(), n.Name) == strings.TrimPrefix(old.Err.Error(), old.Name)
	}
	a, b := c.newSide.id(n), c.oldSide.id(old)
	return a == b && a != ""
}

func (c *comparison) parse(s *Side, files []manifest.File) []manifest.File {
	parsed := make([]manifest.File, len(files))
	manifest.Each(len(files), func(i int) { parsed[i] = s.parse(files[i], c.engine.shared) })
	return parsed
}

// needed is what changed objects need of what did not change.
type needed struct {
	// kinds are those of changed objects, by group and kind. They need their CRDs: with the schemas where an object of OLD may be
	// compared by them, and otherwise only to tell a kind that is known.
	kinds map[[2]string]bool
	names [][2]string // kind and name of objects that only NEW has among what changed
	// read are kinds of which admission policies may read any object, by apiVersion and kind: those of their parameters, and Namespace.
	read map[[2]string]bool
}

// addNeeded adds, of what both sides have alike, the files and units with CRDs of changed objects, and the files with objects
// of the same names as those that NEW adds: an object that NEW adds may be a copy.
func (c *comparison) addNeeded() {
	n := c.needs()
	c.needRead(n)
	needed := make([]bool, len(c.unchanged))
	manifest.Each(len(needed), func(i int) { needed[i] = c.readNeeded(&c.unchanged[i], n) })
	for i, p := range c.unchanged {
		if needed[i] {
			c.out.New, c.out.Old = append(c.out.New, p.new), append(c.out.Old, p.old)
		}
	}
	var units []unitPair
	for _, p := range c.pairs {
		if !p.changed && !p.forced && p.new.Err == nil && c.holds(p.new, n) {
			units = append(units, p)
		}
	}
	manifest.Each(len(units), func(i int) { c.news.render(units[i].new) })
	for _, p := range units {
		if objects, err := c.news.render(p.new); err == nil {
			for _, f := range c.news.manifests(Rendered{Unit: p.new, Objects: objects}) {
				f.Documents = n.of(f.Documents)
				c.out.New, c.out.Old = append(c.out.New, f), append(c.out.Old, f)
			}
		}
	}
}

// needRead makes n need what the admission policies read besides the objects that they judge.
func (c *comparison) needRead(n *needed) {
	if n == nil {
		return
	}
	documents := slices.Clone(c.engine.Policies)
	for _, f := range slices.Concat(c.out.New, c.out.Old) {
		documents = append(documents, f.Documents...)
	}
	found := make([][]*yamldoc.Document, len(c.unchanged))
	manifest.Each(len(found), func(i int) {
		f := c.unchanged[i].new // a copy: it is read again, with all that is needed
		if known := c.words(&f); known != nil && !known.policies {
			return
		}
		if data, err := c.newSide.content(&f); f.Err == nil && err == nil && mentions(data, policyKind) {
			f.ParseShared(data, c.engine.shared)
			found[i] = f.Documents
		}
	})
	documents = slices.Concat(documents, slices.Concat(found...))
	for _, p := range c.pairs {
		if p.changed || p.forced || p.new.Err != nil || !c.holds(p.new, &needed{}) {
			continue
		}
		objects, _ := c.news.render(p.new)
		for _, o := range objects {
			documents = append(documents, o.Document)
		}
	}
	for _, d := range documents {
		if kind, _ := d.Object["kind"].(string); !strings.HasPrefix(kind, policyKind) {
			continue
		}
		if n.read == nil {
			n.read = map[[2]string]bool{{"v1", "Namespace"}: true}
		}
		apiVersion, _ := yamldoc.At(d.Object, "spec", "paramKind", "apiVersion").(string)
		kind, _ := yamldoc.At(d.Object, "spec", "paramKind", "kind").(string)
		if group, _, ok := strings.Cut(apiVersion, "/"); kind != "" {
			n.read[[2]string{apiVersion, kind}] = true
			of := [2]string{group, kind}
			if _, known := n.kinds[of]; ok && !known {
				n.kinds[of] = false // its CRD tells whether it has a namespace
			}
		}
	}
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
	data, err := c.newSide.content(&p.new)
	if err != nil || !patches && !n.in(data) {
		return false
	}
	p.new.ParseSome(data, c.engine.shared, n.inDocument(data, patches))
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
	n := &needed{kinds: map[[2]string]bool{}}
	alike := manifest.Alike(c.out.New, c.out.Old)
	each := func(files []manifest.File, do func(of [2]string, name string, changed bool)) {
		for _, f := range files {
			for _, d := range f.Documents {
				apiVersion, _ := d.Object["apiVersion"].(string)
				kind, _ := d.Object["kind"].(string)
				name, _ := yamldoc.At(d.Object, "metadata", "name").(string)
				if group, _ := kindindex.GroupVersion(apiVersion); kind != "" {
					do([2]string{group, kind}, name, !alike[d])
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
	each(c.out.Old, func(of [2]string, name string, changed bool) {
		if olds[of] == nil {
			olds[of] = map[string]bool{}
		}
		if olds[of][name] = true; changed {
			need(of, true)
		}
	})
	added := map[[2]string][]string{}
	each(c.out.New, func(of [2]string, name string, changed bool) {
		switch {
		case !changed:
			return
		case name != "" && !olds[of][name]:
			n.names, added[of] = append(n.names, [2]string{of[1], name}), append(added[of], name)
			need(of, false)
		default:
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
		f := &c.unchanged[i].new
		data, err := c.newSide.content(f)
		if f.Err != nil || err != nil {
			continue
		}
		maps.DeleteFunc(added, func(of [2]string, names []string) bool {
			n.kinds[of] = slices.ContainsFunc(names, func(name string) bool { return mentions(data, of[1], name) })
			return n.kinds[of]
		})
	}
}

const (
	crdKind    = "CustomResourceDefinition"
	policyKind = "ValidatingAdmissionPolicy"
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

// inUnit is in for a file that a unit reads.
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
	return slices.ContainsFunc(u.Reads, func(name string) bool {
		if !manifest.HasObjects(name) {
			return false
		}
		data, err := u.in(c.news.tree).ReadFile(name)
		return err == nil && n.inUnit(data)
	})
}
