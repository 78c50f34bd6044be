package git

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// TestFS: both kinds of trees read files through links and give them the same IDs; directories and links that lead
// nowhere have none.
func TestFS(t *testing.T) {
	files := map[string]string{"a.yaml": object, "d/b.yaml": object + "\n", "d/e/c.yaml": "x", "link": "-> d/e", "d/file": "-> ../a.yaml", "out": "-> ../../x"}
	r := repository(t, files)
	if err := os.Chmod(filepath.Join(r.Root, "a.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, r.Root, "commit", "-q", "-a", "-m", "two")
	commit, worktree := bothTrees(t, r)
	var ids [2]string
	for i, tree := range []*Tree{commit, worktree} {
		f := tree.FS()
		defer f.Close()
		for _, c := range []struct{ name, reason, same string }{
			{"a.yaml", "a file", "a.yaml"}, {"d/file", "a link to a file", "a.yaml"}, {"link/c.yaml", "a file below a link", "d/e/c.yaml"},
		} {
			scanned := ""
			scanErr := f.Scan(c.name, func(data []byte) { scanned = string(data) })
			data, err := f.ReadFile(c.name)
			if scanErr != nil || scanned != string(data) {
				t.Errorf("%s, scanned: %q, %v", c.reason, scanned, scanErr)
			}
			want, _ := f.ReadFile(c.same)
			if err != nil || string(data) != string(want) {
				t.Errorf("%s: %q, %v", c.reason, data, err)
			}
			id, err := f.ID(c.name)
			if other, _ := f.ID(c.same); err != nil || id != other {
				t.Errorf("%s: ID %q, want %q, %v", c.reason, id, other, err)
			}
		}
		for _, name := range []string{"d", ".", "link", "out", "missing", "a.yaml/b", "../a.yaml"} {
			if id, err := f.ID(name); err == nil {
				t.Errorf("%s has the ID %q", name, id)
			}
			if data, err := f.ReadFile(name); err == nil {
				t.Errorf("%s holds %q", name, data)
			}
			if err := f.Scan(name, func([]byte) {}); err == nil {
				t.Errorf("%s can be scanned", name)
			}
		}
		for _, name := range []string{"missing", "missing/x", "a.yaml/b", "d/missing"} {
			_, openErr := f.Open(name)
			_, listErr := f.ReadDir(name)
			_, statErr := f.Stat(name)
			_, lstatErr := f.Lstat(name)
			_, readErr := f.ReadFile(name)
			_, linkErr := f.ReadLink(name)
			for _, err := range []error{openErr, listErr, statErr, lstatErr, readErr, linkErr} {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if dir, err := f.Open("d"); err != nil {
			t.Error(err)
		} else if n, err := dir.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes of a directory are read", n)
		}
		for _, name := range []string{"a.yaml", "d/b.yaml"} {
			if _, err := f.ReadDir(name); err == nil {
				t.Errorf("%s is listed as a directory", name)
			}
		}
		for _, name := range []string{"./link", "d//file", "d/../link"} {
			_, statErr := f.Lstat(name)
			_, linkErr := f.ReadLink(name)
			if !errors.Is(statErr, fs.ErrInvalid) || !errors.Is(linkErr, fs.ErrInvalid) {
				t.Errorf("%s: %v, %v", name, statErr, linkErr)
			}
		}
		if _, err := f.ReadLink("a.yaml"); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("a file is read as a link: %v", err)
		}
		var sources []string
		for _, file := range f.Sources([]string{".", "d"}) {
			sources = append(sources, file.Path)
		}
		if want := []string{"a.yaml", "d/b.yaml", "d/e/c.yaml", "link/c.yaml", "out"}; !slices.Equal(sources, want) {
			t.Errorf("the sources are %q, want %q", sources, want)
		}
		f.Close()
		if f.batch.cmd != nil {
			t.Error("git runs on")
		}
		ids[i], _ = f.ID("d/b.yaml")
		if data, err := f.ReadFile("d/b.yaml"); err != nil || string(data) != object+"\n" {
			t.Errorf("after Close: %q, %v", data, err)
		}
	}
	if ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("one file has the IDs %q", ids)
	}
}

// TestSHA256: the two trees of a repository whose IDs are longer give a file the same one.
func TestSHA256(t *testing.T) {
	t.Setenv("GIT_DEFAULT_HASH", "sha256")
	commit, worktree := bothTrees(t, repository(t, map[string]string{"a.yaml": object}))
	committed, written := commit.FS(), worktree.FS()
	defer committed.Close()
	defer written.Close()
	want, _ := committed.ID("a.yaml")
	if got, err := written.ID("a.yaml"); err != nil || got != want || len(got) != 64 {
		t.Errorf("the ID is %q, want %q: %v", got, want, err)
	}
}

// TestKept: what is kept of what was read is bounded, and counted once.
func TestKept(t *testing.T) {
	var c contents
	c.keep("large", make([]byte, maxKeptFile+1))
	for range 2 {
		c.keep("a", []byte("x"))
	}
	for i := range maxKept/maxKeptFile + 1 {
		c.keep(string(rune('b'+i)), make([]byte, maxKeptFile))
	}
	if _, large := c.get("large"); large || c.size > maxKept || c.size != 1+maxKeptFile*(len(c.of)-1) {
		t.Errorf("%d bytes of %d files are kept, a large one: %t", c.size, len(c.of), large)
	}
}

// TestIDOfAChangedFile: a file of the work tree that is gone, or a directory now, has no ID.
func TestIDOfAChangedFile(t *testing.T) {
	r := repository(t, map[string]string{"gone.yaml": object, "directory.yaml": object})
	write(t, r.Root, map[string]string{"gone.yaml": object + "# changed\n", "directory.yaml": object + "# changed\n"})
	tree, err := r.WorkTree()
	if err != nil {
		t.Fatal(err)
	}
	f := tree.FS()
	defer f.Close()
	for _, name := range []string{"gone.yaml", "directory.yaml"} {
		if err := os.Remove(filepath.Join(r.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, r.Root, map[string]string{"directory.yaml/x.yaml": object})
	if id, err := f.ID("gone.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %q, %v", id, err)
	}
	if id, err := f.ID("directory.yaml"); err == nil {
		t.Errorf("a directory has the ID %q", id)
	}
}

// copied gives each reader a content of its own to change, as fstest does.
type copied struct{ *FS }

func (c copied) ReadFile(name string) ([]byte, error) {
	data, err := c.FS.ReadFile(name)
	return bytes.Clone(data), err
}

// TestFSConforms: the standard library's test of file systems passes on both kinds of trees, once the sizes of the
// files are known.
func TestFSConforms(t *testing.T) {
	names := []string{"a.yaml", "d/b.yaml", "d/e/c.yaml", "d/file", "link", "run.sh"}
	commit, worktree := bothTrees(t, repository(t, map[string]string{"a.yaml": object, "d/b.yaml": object + "\n", "d/e/c.yaml": "x", "run.sh": "", "link": "-> d/e", "d/file": "-> ../a.yaml"}))
	for side, tree := range map[string]*Tree{"commit": commit, "work tree": worktree} {
		f := tree.FS()
		defer f.Close()
		for _, name := range f.Paths() {
			if _, err := f.ReadFile(name); err != nil && name != "link" {
				t.Fatal(err)
			}
		}
		if err := fstest.TestFS(copied{f}, names...); err != nil {
			t.Errorf("%s: %v", side, err)
		}
	}
}
