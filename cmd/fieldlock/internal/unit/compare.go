package unit

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Comparison is what two trees deploy, as far as it differs.
type Comparison struct {
	// New and Old are the objects to compare: those of changed units and changed files. Then come the objects of unchanged
	// files and units that the changed ones need, which both sides have alike.
	New, Old []manifest.File
	// Units are those that NEW has, or that only OLD has.
	Units      []Status
	NotCovered []NotCovered
	// Errs are the mistakes that the change brings.
	Errs []error
	// Unchanged is how many units and files were left out, since both sides have them alike.
	Unchanged int
	// Dropped are files with objects that were left out for a reason that NotCovered tells.
	Warnings []string
}

// Status is what came of a unit.
type Status struct {
	Unit, Kind string
	Objects    int
	Changed    bool
}

// Compare finds what two trees deploy, and renders and reads what differs.
//
// A unit that only NEW has excuses no file: what OLD reads as it is written, or through another unit, is read in that way from
// NEW too, as long as it is there.
func Compare(newSide, oldSide *Side, o Options) (*Comparison, error) {
	c := &comparison{newSide: newSide, oldSide: oldSide, out: &Comparison{}, engine: newEngine(o)}
	defer c.engine.close()
	if !o.Values && c.nothingChanged() {
		return c.out, nil
	}
	var err error
	if c.news, err = c.engine.find(newSide.Tree); err != nil {
		return nil, fmt.Errorf("in NEW: %w", err)
	}
	if c.olds, err = c.engine.find(oldSide.Tree); err != nil {
		return nil, fmt.Errorf("in OLD: %w", err)
	}
	c.pairUnits()
	c.renderChanged()
	c.addElsewhere()
	c.pairFiles()
	c.addNeeded()
	if o.Values {
		c.addValues()
	}
	return c.out, nil
}

// comparison is one run of Compare.
type comparison struct {
	engine           *engine
	newSide, oldSide *Side
	news, olds       *side
	out              *Comparison

	pairs     []unitPair
	unchanged []filePair
}

// unitPair is a unit on both sides; one of them is nil for a unit that only one side has.
type unitPair struct {
	new, old *Unit
	changed  bool
	// forced is set for a unit of OLD that is none in NEW, although it can still be rendered there.
	forced bool
}

// filePair is a file that both sides read as it is written.
type filePair struct {
	new, old manifest.File
}

// nothingChanged reports whether both trees have the same files with the same content, as far as they were not left out.
func (c *comparison) nothingChanged() bool {
	news, olds := c.newSide.Tree.Paths(), c.oldSide.Tree.Paths()
	if !slices.Equal(news, olds) || len(c.newSide.Files) != len(c.oldSide.Files) {
		return false
	}
	for i := range c.newSide.Files {
		if n, o := &c.newSide.Files[i], &c.oldSide.Files[i]; n.Path != o.Path || n.Err != nil || c.newSide.id(n) != c.oldSide.id(o) {
			return false
		}
	}
	for _, name := range news {
		if state(c.newSide.Tree, name) != state(c.oldSide.Tree, name) {
			return false
		}
	}
	c.out.Unchanged = len(c.newSide.Files)
	return true
}

// pairUnits pairs the units of both sides by kind and name.
func (c *comparison) pairUnits() {
	for _, n := range c.news.units {
		if !c.newSide.selects(n) {
			continue
		}
		old := c.olds.byKey[n.key()]
		changed := old == nil || n.digest(c.news.tree) != old.digest(c.olds.tree)
		c.pairs = append(c.pairs, unitPair{new: n, old: old, changed: changed})
	}
	for _, old := range c.olds.units {
		if c.news.byKey[old.key()] != nil || !c.oldSide.selects(old) {
			continue
		}
		p := unitPair{old: old, changed: true}
		if exists(c.news.tree, old.File) {
			again := *old
			c.news.close(&again)
			p.new, p.forced = &again, true
			p.changed = again.digest(c.news.tree) != old.digest(c.olds.tree)
		}
		c.pairs = append(c.pairs, p)
	}
}

// renderChanged renders the units that differ.
func (c *comparison) renderChanged() {
	var jobs []func()
	for _, p := range c.pairs {
		if !p.changed {
			continue
		}
		if p.new != nil {
			jobs = append(jobs, func() { c.news.render(p.new) })
		}
		if p.old != nil {
			jobs = append(jobs, func() { c.olds.render(p.old) })
		}
	}
	manifest.Each(len(jobs), func(i int) { jobs[i]() })
	for _, p := range c.pairs {
		c.add(p)
	}
}

// add adds what came of a unit to the result.
func (c *comparison) add(p unitPair) {
	if !p.changed {
		c.out.Unchanged++
		if !p.forced {
			c.out.Units = append(c.out.Units, Status{Unit: p.new.Name, Kind: p.new.Kind})
		}
		if isMissing(p.new.Err) {
			c.out.NotCovered = append(c.out.NotCovered, c.news.notCovered(p.new, p.new.Err, false))
		}
		return
	}
	var newObjects, oldObjects []Object
	var newErr, oldErr error
	if p.new != nil {
		newObjects, newErr = c.news.render(p.new)
	}
	if p.old != nil {
		oldObjects, oldErr = c.olds.render(p.old)
	}
	switch {
	case p.forced && newErr != nil: // it is no unit of NEW; what it has become is compared
	case isMissing(newErr):
		c.out.NotCovered = append(c.out.NotCovered, c.news.notCovered(p.new, newErr, true))
		return
	case newErr != nil && p.old != nil && oldErr != nil && !isMissing(oldErr):
		c.out.NotCovered = append(c.out.NotCovered, c.news.notCovered(p.new, newErr, true))
		return
	case newErr != nil:
		c.out.Errs = append(c.out.Errs, c.news.mistake(p.new, newErr))
		return
	case oldErr != nil && p.new != nil:
		n := c.olds.notCovered(p.old, oldErr, true)
		n.Reason = "OLD has no baseline: " + n.Reason
		c.out.NotCovered = append(c.out.NotCovered, n)
		return
	case oldErr != nil:
		return // nobody deploys it any more
	}
	if p.new != nil && newErr == nil {
		if p.old != nil {
			oldObjects = c.settle(p.new, newObjects, oldObjects)
		}
		c.out.New = append(c.out.New, c.news.manifest(Rendered{Unit: p.new, Objects: newObjects}))
	}
	if p.old != nil {
		c.out.Old = append(c.out.Old, c.olds.manifest(Rendered{Unit: p.old, Objects: oldObjects}))
	}
	if u := p.new; u != nil && !p.forced {
		c.out.Units = append(c.out.Units, Status{u.Name, u.Kind, len(newObjects), true})
	} else if u == nil {
		c.out.Units = append(c.out.Units, Status{p.old.Name, p.old.Kind, len(oldObjects), true})
	}
}

// settle gives the objects of OLD the values of NEW that differ between two renderings of NEW, such as random passwords and dates, so
// that they are not compared.
func (c *comparison) settle(u *Unit, news, olds []Object) (settled []Object) {
	if !u.random {
		return olds
	}
	again, err := c.news.renderAnew(u, false)
	if err != nil || len(again) != len(news) {
		return olds
	}
	settled = slices.Clone(olds)
	for i, o := range news {
		var places [][]any
		differences(o.Object, again[i].Object, nil, &places)
		if len(places) == 0 {
			continue
		}
		for j, old := range olds {
			if old.Object["kind"] == o.Object["kind"] && nameOf(old.Object) == nameOf(o.Object) {
				settled[j].Document = with(settled[j].Document, o.Object, places)
			}
		}
	}
	return settled
}

// differences lists the places at which two values differ.
func differences(a, b any, at []any, places *[][]any) {
	x, isObject := a.(map[string]any)
	y, both := b.(map[string]any)
	if isObject && both {
		for name, value := range x {
			if other, ok := y[name]; ok {
				differences(value, other, append(at[:len(at):len(at)], name), places)
			} else {
				*places = append(*places, append(at[:len(at):len(at)], name))
			}
		}
		return
	}
	list, isList := a.([]any)
	others, both := b.([]any)
	if isList && both && len(list) == len(others) {
		for i := range list {
			differences(list[i], others[i], append(at[:len(at):len(at)], i), places)
		}
		return
	}
	if !jsonvalue.Equal(a, b) {
		*places = append(*places, at)
	}
}

// with returns a copy of a document that has the values of another object at some places.
func with(d *yamldoc.Document, other map[string]any, places [][]any) *yamldoc.Document {
	changed := *d
	for _, at := range places {
		if len(at) > 0 {
			changed.Object, _ = replaced(changed.Object, at, yamldoc.At(other, at...)).(map[string]any)
		}
	}
	return &changed
}

// replaced returns a value with another text or number at the end of steps; the value itself if they do not lead to one.
func replaced(value any, steps []any, by any) any {
	if len(steps) == 0 {
		switch value.(type) {
		case map[string]any, []any, nil:
			return value
		}
		return by
	}
	switch x := value.(type) {
	case map[string]any:
		name, ok := steps[0].(string)
		if member, has := x[name]; ok && has {
			x = maps.Clone(x)
			x[name] = replaced(member, steps[1:], by)
			return x
		}
	case []any:
		if i, ok := steps[0].(int); ok && i < len(x) {
			x = slices.Clone(x)
			x[i] = replaced(x[i], steps[1:], by)
			return x
		}
	}
	return value
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
			c.out.NotCovered = append(c.out.NotCovered, NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Changed: true,
				Reason: "it cannot be read, as in OLD: " + strings.TrimPrefix(f.Err.Error(), f.Name+": ")})
			f.Err = nil
		}
	}
	return files
}

// templates takes the files that are templates of no chart here, and those of other repositories, out of files: nobody knows what
// they become.
func (c *comparison) templates(files []manifest.File) []manifest.File {
	if c.engine.Plain {
		return files
	}
	return slices.DeleteFunc(files, func(f manifest.File) bool {
		var template *manifest.TemplateError
		reason := ""
		switch {
		case f.Elsewhere:
			reason = strings.TrimPrefix(f.Err.Error(), f.Name+": ")
		case errors.As(f.Err, &template):
			reason = "it is a template, not YAML"
		default:
			return false
		}
		c.out.NotCovered = append(c.out.NotCovered, NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Reason: reason, Changed: true})
		return true
	})
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

// baselines returns the files of OLD. One that cannot be read is no baseline.
func (c *comparison) baselines(files []manifest.File) []manifest.File {
	if c.engine.Plain {
		return files
	}
	for i := range files {
		f := &files[i]
		known := func(n NotCovered) bool { return n.Kind == "file" && n.Unit == f.Path }
		if f.Err != nil && !slices.ContainsFunc(c.out.NotCovered, known) {
			c.out.NotCovered = append(c.out.NotCovered, NotCovered{Unit: f.Path, Kind: "file", File: f.Name, Changed: true,
				Reason: "OLD has no baseline: " + strings.TrimPrefix(f.Err.Error(), f.Name+": ")})
		}
		f.Err = nil
	}
	return files
}

// addElsewhere lists the definitions of units whose files are not in the tree.
func (c *comparison) addElsewhere() {
	olds := map[string]bool{}
	for _, w := range c.olds.elsewhere {
		olds[nameOf(w.Object)+digestOf(w.Object)] = true
	}
	c.out.NotCovered = append(c.out.NotCovered, c.news.missing(c.newSide, func(w *definition) bool {
		return !olds[nameOf(w.Object)+digestOf(w.Object)]
	})...)
}

// alike reports whether both sides have a file with the same content, or cannot read it.
func (c *comparison) alike(n, old *manifest.File) bool {
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
	kinds [][]string // words of what judges changed objects: CRDs with group and kind, and policies
	names [][]string // kind and name of objects that only NEW has among what changed
}

// addNeeded adds, of what both sides have alike, the files and units with CRDs of changed objects, and the files with objects
// of the same names as those that NEW adds: an object that NEW adds may be a copy.
func (c *comparison) addNeeded() {
	n := c.needs()
	var news, olds []manifest.File
	for _, p := range c.unchanged {
		if p.new.Err == nil && c.isNeeded(&p.new, n) {
			news, olds = append(news, p.new), append(olds, p.old)
		}
	}
	c.out.New, c.out.Old = append(c.out.New, readable(c.parse(c.newSide, news))...), append(c.out.Old, readable(c.parse(c.oldSide, olds))...)
	var units []unitPair
	for _, p := range c.pairs {
		if !p.changed && !p.forced && p.new.Err == nil && c.holdsCRD(p.new, n) {
			units = append(units, p)
		}
	}
	manifest.Each(len(units), func(i int) { c.news.render(units[i].new) })
	for _, p := range units {
		if objects, err := c.news.render(p.new); err == nil {
			f := c.news.manifest(Rendered{Unit: p.new, Objects: objects})
			c.out.New, c.out.Old = append(c.out.New, f), append(c.out.Old, f)
		}
	}
}

// isNeeded reports whether an unchanged file may hold something that changed objects need. Without units, kustomizations tell
// which files are patches.
func (c *comparison) isNeeded(f *manifest.File, n *needed) bool {
	if c.engine.Plain && isKustomization(f.Path) {
		return true
	}
	if len(n.kinds)+len(n.names) == 0 {
		return false
	}
	data, err := c.newSide.content(f)
	return err == nil && n.in(data)
}

// readable returns the files without what is wrong with them: both sides have it.
func readable(files []manifest.File) []manifest.File {
	for i := range files {
		files[i].Err, files[i].Repeated = nil, nil
	}
	return files
}

func isKustomization(name string) bool {
	base := path.Base(name)
	return base == "kustomization.yaml" || base == "kustomization.yml"
}

// needs finds what changed objects need.
func (c *comparison) needs() *needed {
	n := &needed{}
	seen := map[[2]string]bool{}
	olds := map[[3]string]bool{}
	each := func(files []manifest.File, do func(group, kind, name string)) {
		for _, f := range files {
			for _, d := range f.Documents {
				apiVersion, _ := d.Object["apiVersion"].(string)
				kind, _ := d.Object["kind"].(string)
				name, _ := yamldoc.At(d.Object, "metadata", "name").(string)
				if group, _, ok := strings.Cut(apiVersion, "/"); kind != "" {
					if !ok {
						group = ""
					}
					do(group, kind, name)
				}
			}
		}
	}
	each(c.out.Old, func(group, kind, name string) { olds[[3]string{group, kind, name}] = true })
	addKind := func(group, kind, _ string) {
		if id := [2]string{group, kind}; group != "" && !seen[id] && (c.engine.Builtin == nil || !c.engine.Builtin(group, kind)) {
			seen[id] = true
			n.kinds = append(n.kinds, []string{"CustomResourceDefinition", group, kind})
		}
	}
	if len(c.out.New) > 0 {
		n.kinds = append(n.kinds, []string{"ValidatingAdmissionPolicy"}) // it may judge any object
	}
	each(c.out.Old, addKind)
	each(c.out.New, func(group, kind, name string) {
		addKind(group, kind, name)
		if name != "" && !olds[[3]string{group, kind, name}] {
			n.names = append(n.names, []string{kind, name})
		}
	})
	return n
}

// in reports whether a text may hold something that is needed.
func (n *needed) in(data []byte) bool {
	return slices.ContainsFunc(n.names, func(words []string) bool { return mentions(data, words...) }) || n.crdIn(data)
}

func (n *needed) crdIn(data []byte) bool {
	return slices.ContainsFunc(n.kinds, func(words []string) bool { return mentions(data, words...) })
}

// holdsCRD reports whether a unit may print a CRD that is needed.
func (c *comparison) holdsCRD(u *Unit, n *needed) bool {
	if len(n.kinds) == 0 {
		return false
	}
	return slices.ContainsFunc(u.Reads, func(name string) bool {
		if !manifest.HasObjects(name) {
			return false
		}
		data, err := c.news.tree.ReadFile(name)
		return err == nil && n.crdIn(data)
	})
}
