package unit

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// The files that are objects as they are written, and differ.

// exclude takes the files that are left out of both sides, and lists those that differ.
func (c *comparison) exclude() {
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
		c.uncovered(name, "file", names[name].Name(name), Excluded)
	}
}

// pairFiles reads the files that are objects as they are written and that differ.
func (c *comparison) pairFiles() {
	now := map[string]*manifest.File{}
	for i := range c.newSide.Files {
		f := &c.newSide.Files[i]
		now[f.Path] = f
	}
	olds := map[string]*manifest.File{}
	for i := range c.oldSide.Files {
		f := &c.oldSide.Files[i]
		n := now[f.Path]
		if n != nil && c.sameDoubts(f.Path) && c.sameContent(n, f) {
			c.unchanged = append(c.unchanged, filePair{new: *n, old: *f}) // unless a unit reads it, if it is needed at all
			delete(now, f.Path)
		} else if !c.olds.isInput(f.Path) {
			olds[f.Path] = f
		}
	}
	var news, gone []manifest.File
	both := map[string]bool{}
	for i := range c.newSide.Files {
		f := &c.newSide.Files[i]
		old := olds[f.Path]
		if now[f.Path] == nil || old == nil && c.news.isInput(f.Path) {
			continue
		}
		both[f.Path] = old != nil
		if old != nil && c.sameContent(f, old) {
			c.out.Unchanged++
			c.unchanged = append(c.unchanged, filePair{new: *f, old: *old})
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
	news, gone = c.parse(c.newSide, news, nil), c.parse(c.oldSide, gone, nil)
	if !c.engine.Plain {
		news, gone = c.withoutMoved(withoutForeign(news, gone))
		news = c.failing(c.templates(news), gone)
		gone = c.baselines(gone)
	}
	c.out.New, c.out.Old = append(c.out.New, news...), append(c.out.Old, gone...)
}

// sameDoubts reports whether the same units on both sides, which do not change, decide whether a file is their input.
func (c *comparison) sameDoubts(name string) bool {
	if c.news.input[name] || c.olds.input[name] || len(c.news.doubts[name]) == 0 {
		return false
	}
	return slices.EqualFunc(c.news.doubts[name], c.olds.doubts[name], func(n, old *Unit) bool {
		return n.inputDigest(c.news.tree) == old.inputDigest(c.olds.tree)
	})
}

// failing returns the files of NEW. A mistake in one that OLD has too, with a mistake of its own, is not one of the
// change: no tool has applied what cannot be read. What can be read in it counts.
func (c *comparison) failing(files, olds []manifest.File) []manifest.File {
	failed := map[string]bool{}
	for i := range olds {
		failed[olds[i].Path] = olds[i].Err != nil
	}
	for i := range files {
		if f := &files[i]; f.Err != nil && failed[f.Path] {
			c.uncovered(f.Path, "file", f.Name, "cannot be read, as in OLD: "+mistakeIn(f))
			f.Err = nil
		}
	}
	return files
}

// withoutForeign takes templates of other tools, such as a helmfile.yaml, out of the files of both sides: on neither
// side they hold an object.
func withoutForeign(news, olds []manifest.File) (newRest, oldRest []manifest.File) {
	holds := map[string]bool{}
	for _, f := range slices.Concat(news, olds) {
		holds[f.Path] = holds[f.Path] || mayHoldObject(&f)
	}
	foreign := func(f manifest.File) bool { return f.Err != nil && !holds[f.Path] }
	return slices.DeleteFunc(news, foreign), slices.DeleteFunc(olds, foreign)
}

// withoutMoved takes templates that only moved out of the files of both sides.
func (c *comparison) withoutMoved(news, olds []manifest.File) (newRest, oldRest []manifest.File) {
	left := map[string]int{} // files of OLD that are gone
	for i := range olds {
		if f := &olds[i]; unreadable(f) != "" && !f.Elsewhere && !exists(c.newSide.Tree, f.Path) {
			left[c.oldSide.id(f)]++
		}
	}
	moved := map[string]int{}
	news = slices.DeleteFunc(news, func(f manifest.File) bool {
		id := c.newSide.id(&f)
		if unreadable(&f) == "" || id == "" || exists(c.oldSide.Tree, f.Path) || left[id] == moved[id] {
			return false
		}
		moved[id]++
		return true
	})
	olds = slices.DeleteFunc(olds, func(f manifest.File) bool {
		id := c.oldSide.id(&f)
		if unreadable(&f) == "" || exists(c.newSide.Tree, f.Path) || moved[id] == 0 {
			return false
		}
		moved[id]--
		return true
	})
	return news, olds
}

// templates takes the files that are templates of no chart here, and those of other repositories, out of files: nobody
// knows what they become.
func (c *comparison) templates(files []manifest.File) []manifest.File {
	return slices.DeleteFunc(files, func(f manifest.File) bool {
		reason := unreadable(&f)
		if reason != "" {
			c.uncovered(f.Path, "file", f.Name, reason)
		}
		return reason != ""
	})
}

// addValues adds the documents that are not objects of the files that pairFiles has left out.
func (c *comparison) addValues() {
	for _, s := range [...]struct {
		of   *Side
		into *[]manifest.File
	}{{c.newSide, &c.out.New}, {c.oldSide, &c.out.Old}} {
		read := map[string]bool{}
		for _, f := range *s.into {
			read[f.Path] = true
		}
		left := slices.DeleteFunc(slices.Clone(s.of.Files), func(f manifest.File) bool {
			return read[f.Path] || f.Err != nil
		})
		for _, f := range readable(c.parse(s.of, left, nil)) {
			f.Documents = slices.DeleteFunc(f.Documents, func(d *yamldoc.Document) bool {
				return d.Object["apiVersion"] != nil && d.Object["kind"] != nil
			})
			*s.into = append(*s.into, f)
		}
	}
}

// baselines returns the files of OLD that NEW is compared with. It leaves out files that cannot be read.
func (c *comparison) baselines(files []manifest.File) []manifest.File {
	for i := range files {
		f := &files[i]
		known := func(n result.NotCovered) bool { return n.Kind == "file" && n.Unit == f.Path }
		if f.Err != nil && !slices.ContainsFunc(c.out.NotCovered, known) {
			mistake := strings.TrimPrefix(mistakeIn(f), "cannot be read: ")
			c.uncovered(f.Path, "file", f.Name, "there is nothing to compare with, since OLD cannot be read: "+mistake)
		}
		f.Err = nil
	}
	return files
}
