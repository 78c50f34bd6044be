package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

// TestAgreesWithDisk reads random trees with links by git, as a commit and as a work tree, and from the disk. All three
// find the same files with the same contents, and the same mistakes; only a link that leads out of the repository is an
// error for git alone. FIELDLOCK_TREES sets how many trees there are.
func TestAgreesWithDisk(t *testing.T) {
	trees := setting.Int(t, "FIELDLOCK_TREES", 150)
	random := rand.New(rand.NewPCG(setting.Seed(t), 0))
	files := map[string]string{}
	for i := range trees {
		randomTree(random, fmt.Sprintf("t%d/in", i), files)
	}
	r := repository(t, files)
	commit, worktree := bothTrees(t, r)
	linked, failed, out := 0, 0, 0
	for i := range trees {
		named := fmt.Sprintf("t%d/in", i)
		if commit.leadsAway(named) {
			continue // to all other trees, or to the temporary files of the machine
		}
		if dirs := commit.children[named]; random.IntN(3) == 0 {
			named = path.Join(named, dirs[random.IntN(len(dirs))]) // a directory, a file or a link
		}
		var fromDisk []string
		found, err := (&manifest.Reader{}).Read(filepath.Join(r.Root, named))
		for _, f := range found {
			fromDisk = append(fromDisk, described(&f, path.Join(named, f.Path)))
		}
		if err != nil && !commit.leadsOut(named) {
			found, err := commit.Files([]string{named})
			if err != nil || len(found) > 1 || len(found) == 1 && found[0].Err == nil {
				t.Errorf("%s: not on the disk, but git reads %v, %v", named, found, err)
			}
			failed++
			continue
		}
		for side, tree := range map[string]*Tree{"commit": commit, "work tree": worktree} {
			found, err := tree.Files([]string{named})
			if err != nil {
				t.Fatal(err)
			}
			var fromGit, leading []string
			for _, f := range found {
				if f.Err != nil && strings.Contains(f.Err.Error(), "leads out of the repository") {
					leading = append(leading, f.Path)
					continue
				}
				fromGit = append(fromGit, described(&f, f.Path))
			}
			inside := slices.DeleteFunc(slices.Clone(fromDisk), func(line string) bool {
				return slices.ContainsFunc(leading, func(dir string) bool { return strings.HasPrefix(line, dir+" ") || strings.HasPrefix(line, dir+"/") })
			})
			slices.Sort(inside)
			slices.Sort(fromGit)
			if !slices.Equal(inside, fromGit) {
				t.Errorf("%s, %s (-disk +git):\n%s", named, side, cmp.Diff(inside, fromGit))
			}
			out += len(leading)
			for _, line := range fromGit {
				if strings.HasSuffix(line, " error") {
					failed++
				} else if real, err := tree.resolve(strings.Fields(line)[0]); err == nil && real != strings.Fields(line)[0] {
					linked++
				}
			}
		}
	}
	t.Logf("%d trees: %d files behind links, %d mistakes, %d links out", trees, linked, failed, out)
	if linked < trees/3 || failed < trees/20 || out < trees/75 { // about 160, 110 and 18 in 150 trees
		t.Errorf("the trees are too tame")
	}
}

// leadsAway reports whether a link below dir leads to a directory that holds the other trees.
func (t *Tree) leadsAway(dir string) bool {
	return slices.ContainsFunc(t.sorted, func(name string) bool {
		if !strings.HasPrefix(name, dir+"/") || t.entries[name].kind != link {
			return false
		}
		real, err := t.resolve(name)
		if t.leadsOut(name) {
			info, err := os.Stat(filepath.Join(t.repo.Root, name))
			return err == nil && info.IsDir()
		}
		return err == nil && real == "."
	})
}

// leadsOut reports whether a path leads out of the tree.
func (t *Tree) leadsOut(name string) bool {
	_, err := t.resolve(name)
	return err != nil && strings.Contains(err.Error(), "leads out")
}

// described is a file with the name of its object, or that it cannot be read.
func described(f *manifest.File, shown string) string {
	if f.Err != nil || len(f.Documents) != 1 {
		return shown + " error"
	}
	return fmt.Sprint(shown, " ", f.Documents[0].Object["kind"])
}

// randomTree adds directories, files and links in a directory.
func randomTree(random *rand.Rand, root string, files map[string]string) {
	dirs := []string{root}
	for range 2 + random.IntN(4) {
		dirs = append(dirs, path.Join(dirs[random.IntN(len(dirs))], pick(random, "a", "b", "c", ".h")))
	}
	taken := map[string]bool{}
	for _, dir := range dirs {
		taken[dir] = true
	}
	var names []string
	for i, dir := range dirs {
		name := path.Join(dir, pick(random, "x.yaml", "y.yml", "z.json", "n.txt"))
		taken[name] = true
		names = append(names, name)
		files[name] = fmt.Sprintf("apiVersion: v1\nkind: K%d\nmetadata: {name: x}\n", i)
	}
	for range 2 + random.IntN(6) {
		dir := dirs[random.IntN(len(dirs))]
		name := path.Join(dir, pick(random, "l", "m", "k", "l.yaml", "m.yaml", ".l", "k.txt"))
		if taken[name] {
			continue
		}
		taken[name] = true
		files[name] = "-> " + linkText(random, dir, append(names, dirs...))
		names = append(names, name)
	}
}

// linkText writes a link in dir to one of places, directly or by detours, or to anything.
func linkText(random *rand.Rand, dir string, places []string) string {
	to := places[random.IntN(len(places))]
	text, err := filepath.Rel(dir, to)
	if err != nil {
		panic(err)
	}
	switch random.IntN(8) {
	case 0:
		return strings.Repeat("../", random.IntN(3)) + pick(random, "a", "x.yaml", "l", "b/../x.yaml", ".", "..", "in/a")
	case 1:
		return pick(random, "/dev/null", strings.Repeat("../", 40)+"dev/null", "none", "none.yaml", "a/", "x.yaml/", "./l", "l/..", "m/../x.yaml", "l/../l", "a//x.yaml", "x.yaml/..", ".")
	case 2, 3: // by way of another place, which may be a link: up from it again
		by := places[random.IntN(len(places))]
		first, _ := filepath.Rel(dir, by)
		return first + "/../" + path.Base(to)
	case 4:
		return "./" + text + pick(random, "", "/", "/.")
	}
	return text
}

func pick(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }
