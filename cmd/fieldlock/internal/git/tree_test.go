package git

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMissingBlob: a clone without some contents reads the others.
func TestMissingBlob(t *testing.T) {
	r := repository(t, map[string]string{"a.yaml": object, "b.yaml": object + "\n", "link": "-> b.yaml"})
	for _, name := range []string{"a.yaml", "link"} {
		id := git(t, r.Root, "rev-parse", "HEAD:"+name)
		if err := os.Remove(filepath.Join(r.Root, ".git", "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := r.Commit("HEAD", "v1")
	if err != nil {
		t.Fatal(err)
	}
	const missing = "its content is not in this clone"
	for i, line := range read(t, tree, "a.yaml", "b.yaml", "link") {
		if want := []string{"error v1:a.yaml: cannot be read: " + missing, "error v1:link: it is a link that cannot be read", "v1:b.yaml"}[i]; !strings.HasPrefix(line, want) {
			t.Errorf("%s, want %s", line, want)
		}
	}
	if _, ok, err := tree.File("a.yaml"); !ok || err == nil || !strings.Contains(err.Error(), "v1:a.yaml: cannot be read: "+missing) {
		t.Errorf("one file: %t, %v", ok, err)
	}
	if data, ok, err := tree.File("b.yaml"); !ok || err != nil || string(data) != object+"\n" {
		t.Errorf("one file: %q, %t, %v", data, ok, err)
	}
	if _, ok, err := tree.File("c.yaml"); ok || err != nil {
		t.Errorf("no file: %t, %v", ok, err)
	}
	for name, want := range map[string]string{"link": "it is a link; it has to be a file", ".": "it is not a file"} {
		if _, ok, err := tree.File(name); !ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %t, %v; want %s", name, ok, err, want)
		}
	}
	f := tree.FS()
	defer f.Close()
	if data, err := f.ReadFile("a.yaml"); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("the file system: %q, %v", data, err)
	}
	if err := f.Scan("a.yaml", func(data []byte) { t.Errorf("the content %q", data) }); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("the file system, scanned: %v", err)
	}
	if data, err := f.ReadFile("b.yaml"); err != nil || string(data) != object+"\n" {
		t.Errorf("the file system, after an error: %q, %v", data, err)
	}
	if text, err := f.ReadLink("link"); err == nil {
		t.Errorf("the file system: a link to %q", text)
	}
	if err := tree.Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "v1:a.yaml: cannot be read: "+missing) {
		t.Errorf("writing the tree: %v", err)
	}
	if _, err := r.Commit("nope", "nope"); err == nil || !strings.Contains(err.Error(), "the files of nope cannot be listed") {
		t.Errorf("an unknown commit: %v", err)
	}
}

// TestReplacedBlob: git shows another file in the place of one for which the clone has a replacement. What is deployed
// is the file itself.
func TestReplacedBlob(t *testing.T) {
	r := repository(t, map[string]string{"a.yaml": object, "b.yaml": object + "\n"})
	git(t, r.Root, "replace", git(t, r.Root, "rev-parse", "HEAD:a.yaml"), git(t, r.Root, "rev-parse", "HEAD:b.yaml"))
	tree, err := r.Commit("HEAD", "v1")
	if err != nil {
		t.Fatal(err)
	}
	if data, ok, err := tree.File("a.yaml"); !ok || err != nil || string(data) != object {
		t.Errorf("%q, %t, %v", data, ok, err)
	}
}

// TestHostileTree: a tree object can name files that no checkout would write.
func TestHostileTree(t *testing.T) {
	for _, name := range []string{"../x.yaml", "/etc/x.yaml", ".git/hooks/post-checkout", "a/.GIT/config", "a//b", "a/./b", "a/..", "a\x00b"} {
		if _, err := newTree(nil, "v1", map[string]entry{name: {}}, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestFileAboveFiles: no checkout has a file with others below it.
func TestFileAboveFiles(t *testing.T) {
	if _, err := newTree(nil, "v1", map[string]entry{"a": {}, "a/b/c.yaml": {}}, nil); err == nil || !strings.Contains(err.Error(), `the tree of v1 has a file "a" and others below it`) {
		t.Errorf("got %v", err)
	}
}

// TestWriteWithoutObjects: nothing is written in the place of files that git can no longer read.
func TestWriteWithoutObjects(t *testing.T) {
	r := repository(t, map[string]string{"a.yaml": object})
	tree, err := r.Commit("HEAD", "v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.Root, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := tree.Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "git cat-file") {
		t.Errorf("got %v", err)
	}
}

// TestTreeForFile: a hostile commit names a tree where it says that there is a file. Git prints the tree, in whose
// names there can be anything, such as the answer to the next request.
func TestTreeForFile(t *testing.T) {
	r := repository(t, map[string]string{"x.yaml": object})
	hash := func(kind, text string) string {
		cmd := gitCommand(t, r.Root, "hash-object", "-t", kind, "-w", "--literally", "--stdin")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	raw := func(id string) string {
		data, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	blob := hash("blob", object)
	inner := hash("tree", "100644 a\n"+blob+" blob 0\n\x00"+raw(blob))
	outer := hash("tree", "100644 a.yaml\x00"+raw(inner)+"100644 b.yaml\x00"+raw(blob))
	tree, err := r.Commit(git(t, r.Root, "commit-tree", "-m", "two", outer), "v1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"error v1:a.yaml: cannot be read: it is a tree in the place of a file", "v1:b.yaml"}, read(t, tree, ".")); diff != "" {
		t.Error(diff)
	}
}

// TestBatch: the output of git that ends early or is not what was asked for is an error, not an empty file.
func TestBatch(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"nothing", "", "git cat-file ended early"},
		{"no size", "id blob x\n", `git cat-file wrote "id blob x\n"`},
		{"cut in a file", "id blob 3\nab", "unexpected EOF"},
		{"cut after a file", "id blob 2\nab", "EOF"},
		{"cut in a tree", "id tree 3\nab", "EOF"},
		{"complete", "id blob 2\nab\n", ""},
	} {
		contents, errs := make([][]byte, 1), make([]error, 1)
		err := new(Repository).readBatch(bufio.NewReader(strings.NewReader(row.text)), contents, errs)
		if row.want == "" {
			if err != nil || errs[0] != nil || string(contents[0]) != "ab" {
				t.Errorf("%s: %q, %v, %v", row.name, contents, errs, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.name, err, row.want)
		}
	}
}

// TestBatchSkips: the data of what is not a file is not kept.
func TestBatchSkips(t *testing.T) {
	contents, errs := make([][]byte, 2), make([]error, 2)
	err := new(Repository).readBatch(bufio.NewReader(strings.NewReader("id tree 3\nabc\nid blob 1\nx\n")), contents, errs)
	if err != nil || errs[0] == nil || contents[0] != nil || string(contents[1]) != "x" {
		t.Errorf("%q, %v, %v", contents, errs, err)
	}
}

// TestEmptyTree: a tree without files has its root.
func TestEmptyTree(t *testing.T) {
	tree, err := newTree(nil, "v1", nil, nil)
	if err != nil || !tree.Has(".") || tree.Has("a") {
		t.Errorf("%+v, %v", tree, err)
	}
}

// TestWrite writes a tree for a command to read, without the links that lead out. What can be executed still can.
func TestWrite(t *testing.T) {
	r := repository(t, map[string]string{"a/x.yaml": object, "run.sh": "#!/bin/sh", "b/c/in.yaml": "-> ../../a/x.yaml", "a/out.yaml": "-> /etc/passwd", "a/none": "-> nothing"})
	if err := os.Chmod(filepath.Join(r.Root, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, r.Root, "commit", "-q", "-a", "-m", "two")
	commit, worktree := bothTrees(t, r)
	if dir, ok := worktree.Directory(); !ok || dir != r.Root {
		t.Errorf("the work tree is at %q, %t", dir, ok)
	}
	if _, ok := commit.Directory(); ok {
		t.Error("a commit is in no directory")
	}
	for side, tree := range map[string]*Tree{"commit": commit, "work tree": worktree} {
		if data, ok, err := tree.File("run.sh"); string(data) != "#!/bin/sh" || !ok || err != nil {
			t.Errorf("%s: one file that can be executed: %q, %t, %v", side, data, ok, err)
		}
		if !tree.Has("a/none") || tree.Has("a/nothing") {
			t.Errorf("%s: a link that leads nowhere is there, what it leads to is not", side)
		}
		dir := t.TempDir()
		if err := tree.Write(dir); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "b", "c", "in.yaml")); err != nil || string(data) != object {
			t.Errorf("%s: got %v, %q", side, err, data)
		}
		for name, want := range map[string]os.FileMode{"run.sh": 0o100, "a/x.yaml": 0} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o100 != want {
				t.Errorf("%s: %s: %v, %v", side, name, info, err)
			}
		}
		for _, name := range []string{"out.yaml", "none"} {
			if _, err := os.Lstat(filepath.Join(dir, "a", name)); err == nil {
				t.Errorf("%s: a link that leads nowhere was written: %s", side, name)
			}
		}
		if err := tree.Write(filepath.Join(dir, "nothing")); err == nil {
			t.Errorf("%s: written to a directory that does not exist", side)
		}
		if err := tree.Write(dir); err == nil {
			t.Errorf("%s: written over files that are there", side)
		}
	}
}

// TestWriteLongName: a tree object can have a name that no file can have. A command would not see the file.
func TestWriteLongName(t *testing.T) {
	r := repository(t, map[string]string{"x.yaml": object})
	blob := git(t, r.Root, "rev-parse", "HEAD:x.yaml")
	git(t, r.Root, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+strings.Repeat("y", 300)+".yaml")
	git(t, r.Root, "commit", "-q", "-m", "two")
	tree, err := r.Commit("HEAD", "v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot be written for --render") {
		t.Errorf("got %v", err)
	}
}

// TestLongLink: a tree object can have a link with a longer text than any file system. The longest one that they have
// counts.
func TestLongLink(t *testing.T) {
	r := repository(t, map[string]string{"x.yaml": object})
	for name, length := range map[string]int{"long.yaml": maxText, "longer.yaml": maxText + 1} {
		cmd := gitCommand(t, r.Root, "hash-object", "-w", "--stdin")
		cmd.Stdin = strings.NewReader("." + strings.Repeat("/", length-len(".x.yaml")) + "x.yaml")
		id, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		git(t, r.Root, "update-index", "--add", "--cacheinfo", "120000,"+strings.TrimSpace(string(id))+","+name)
	}
	git(t, r.Root, "commit", "-q", "-m", "two")
	tree, err := r.Commit("HEAD", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"error longer.yaml: it is a link with more than 4095 bytes", "long.yaml", "x.yaml"}, read(t, tree, ".")); diff != "" {
		t.Error(diff)
	}
}

// TestManyLinks: directories whose links lead to directories with links could make more files than there is memory for.
func TestManyLinks(t *testing.T) {
	const levels = 14 // more than 10,000 ways through two links each
	files := map[string]string{fmt.Sprintf("d%d/x.yaml", levels): object}
	for i := range levels {
		files[fmt.Sprintf("d%d/a", i)], files[fmt.Sprintf("d%d/b", i)] = fmt.Sprintf("-> ../d%d", i+1), fmt.Sprintf("-> ../d%d", i+1)
	}
	commit, worktree := bothTrees(t, repository(t, files))
	for side, tree := range map[string]*Tree{"commit": commit, "work tree": worktree} {
		lines := read(t, tree, "d0")
		if len(lines) > maxFollowed || !strings.HasSuffix(lines[0], "x.yaml") || !strings.HasSuffix(lines[len(lines)-1], "it is one of more than 10000 links; name the paths to check") {
			t.Errorf("%s: %d files, from %s to %s", side, len(lines), lines[0], lines[len(lines)-1])
		}
	}
}

// TestTotal: files that are small enough one by one may not fill the memory together.
func TestTotal(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads half a gigabyte")
	}
	const most, message = maxTotal / maxFile, "--git: the files have more than 268435456 bytes together; name fewer paths"
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var names []string
	var batch []io.Reader
	for i := range most {
		names = append(names, fmt.Sprint(i))
		write(t, dir, map[string]string{names[i]: ""})
		if err := os.Truncate(filepath.Join(dir, names[i]), maxFile); err != nil {
			t.Fatal(err)
		}
		batch = append(batch, strings.NewReader(fmt.Sprintf("id blob %d\n", maxFile)), io.LimitReader(zeros{}, maxFile), strings.NewReader("\n"))
	}
	write(t, dir, map[string]string{"more": "x"})
	d := &disk{root, map[string]entry{}, nil}
	if _, errs, err := d.read(names); err != nil || errors.Join(errs...) != nil {
		t.Errorf("the work tree: %v %v", err, errs)
	}
	if _, _, err := d.read(append(names, "more")); err == nil || err.Error() != message {
		t.Errorf("the work tree: %v", err)
	}
	contents, errs := make([][]byte, most+1), make([]error, most+1)
	all := bufio.NewReader(io.MultiReader(append(batch, strings.NewReader("id blob 1\nx\n"))...))
	if err := new(Repository).readBatch(all, contents, errs); err == nil || err.Error() != message || len(contents[most-1]) != maxFile || errors.Join(errs...) != nil {
		t.Errorf("a commit: %v %v", err, errs)
	}

	// Git itself is still writing when nobody reads on.
	r := repository(t, map[string]string{"0.yaml": strings.Repeat("\n", maxFile)})
	blob := git(t, r.Root, "rev-parse", "HEAD:0.yaml")
	for i := range most {
		git(t, r.Root, "update-index", "--add", "--cacheinfo", fmt.Sprintf("100644,%s,%d.yaml", blob, i+1))
	}
	git(t, r.Root, "commit", "-q", "-m", "two")
	tree, err := r.Commit("HEAD", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Files([]string{"."}); err == nil || err.Error() != message {
		t.Errorf("a commit, read by git: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
