package git

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const object = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\n"

// repository makes a repository whose first commit has files; a text that begins with "-> " is a link.
func repository(t *testing.T, files map[string]string) *Repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, files)
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bothTrees returns the tree of HEAD and the work tree.
func bothTrees(t *testing.T, r *Repository) (commit, worktree *Tree) {
	t.Helper()
	commit, err := r.Commit("HEAD", "")
	if err != nil {
		t.Fatal(err)
	}
	if worktree, err = r.WorkTree(); err != nil {
		t.Fatal(err)
	}
	return commit, worktree
}

// git runs git in a directory of the test.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := gitCommand(t, dir, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// gitCommand refuses a directory that is not one of the test: where the code under test has found a wrong one, the test
// may not change the repository that is there.
func gitCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	temp, err := filepath.EvalSymlinks(filepath.Dir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !strings.HasPrefix(real, temp+string(filepath.Separator)) {
		t.Fatalf("git %v: %q is not a directory of this test: %v", args, dir, err)
	}
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+temp)
	return cmd
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// read lists the files at paths of a tree: their names, or what is wrong with them.
func read(t *testing.T, tree *Tree, paths ...string) []string {
	t.Helper()
	files, err := tree.Files(paths)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range files {
		if f.Err != nil {
			lines = append(lines, "error "+f.Err.Error())
			if elsewhere := strings.Contains(f.Err.Error(), "whose files are in another repository"); elsewhere != f.Elsewhere || elsewhere && !f.Found {
				t.Errorf("%s is elsewhere: %t, found: %t", f.Name, f.Elsewhere, f.Found)
			}
			if !strings.HasPrefix(f.Err.Error(), f.Name+": ") {
				t.Errorf("the file %s has the error %v", f.Name, f.Err)
			}
			continue
		}
		if named := slices.Contains(paths, f.Path); !f.Found && !named || f.Found && named && len(paths) == 1 {
			t.Errorf("%s is found in a directory: %t", f.Path, f.Found)
		}
		lines = append(lines, f.Name)
	}
	slices.Sort(lines)
	return lines
}

// chain is a file behind as many links.
func chain(links int) map[string]string {
	files := map[string]string{fmt.Sprintf("%d.yaml", links): object}
	for i := range links {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("-> %d.yaml", i+1)
	}
	return files
}

// TestFiles: a commit and the work tree read alike, whatever the repository configures.
func TestFiles(t *testing.T) {
	const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	for _, test := range []struct {
		name, reason string
		files        map[string]string
		paths, want  []string
	}{
		{"a directory", "YAML and JSON, but for directories with a dot",
			map[string]string{"a/x.yaml": object, "a/b/y.json": "{}", "a/notes.txt": "", "a/.b/z.yaml": object, "z.yaml": object}, []string{"a"}, []string{"a/b/y.json", "a/x.yaml"}},
		{"the root", "objects count in a file with the name of the settings, too", map[string]string{"x.yaml": object, ".fieldlock.yaml": "accept: []"}, []string{"."}, []string{".fieldlock.yaml", "x.yaml"}},
		{"one file", "whatever its name", map[string]string{"x.txt": object}, []string{"x.txt"}, []string{"x.txt"}},
		{"export-ignore", "an attribute of the repository hides nothing",
			map[string]string{"x.yaml": object, ".gitattributes": "*.yaml export-ignore filter=evil\n"}, []string{"."}, []string{"x.yaml"}},
		{"a link to a file", "it is followed", map[string]string{"a/x.yaml": "-> ../b/y.yaml", "b/y.yaml": object}, []string{"a"}, []string{"a/x.yaml"}},
		{"a link to a directory", "it is followed", map[string]string{"a/c": "-> ../b", "b/y.yaml": object}, []string{"a"}, []string{"a/c/y.yaml"}},
		{"a link up", "a circle ends", map[string]string{"a/x.yaml": object, "a/up": "-> ..", "a/self": "-> self"}, []string{"a"}, []string{"a/x.yaml"}},
		{"a link out", "nothing outside is read",
			map[string]string{"a/x.yaml": "-> ../../secret.yaml"}, []string{"a"}, []string{"error a/x.yaml: it is a link that leads out of the repository, to ../../secret.yaml"}},
		{"an absolute link", "nothing outside is read",
			map[string]string{"a/x": "-> /etc"}, []string{"a"}, []string{"error a/x: it is a link that leads out of the repository, to /etc"}},
		{"a pointer of Git LFS", "the content is not here",
			map[string]string{"x.yaml": lfs}, []string{"."}, []string{"error x.yaml: it is a pointer of Git LFS, not the file itself; fetch the file with git lfs pull"}},
		{"a link to what is beside it", "only a link back up is left out", map[string]string{"a/new": "-> ne", "a/ne/y.yaml": object}, []string{"a"}, []string{"a/ne/y.yaml", "a/new/y.yaml"}},
		{"a link to nothing", "an object may be missing", map[string]string{"a/x.yaml": "-> y.yaml", "a/x.txt": "-> y.txt"}, []string{"a"}, []string{"error a/x.yaml: it is a link to a/y.yaml, which the tree does not have"}},
		{"a link to nothing by its name", "whatever that is", map[string]string{"x.txt": "-> y.txt"}, []string{"x.txt"}, []string{"error x.txt: it is a link to y.txt, which the tree does not have"}},
		{"a link to a file of any name", "the name of the link decides", map[string]string{"a/x.yaml": "-> ../x.txt", "a/x.txt": "-> ../x.yaml", "x.txt": object, "x.yaml": object}, []string{"a"}, []string{"a/x.yaml"}},
		{"a circle of links by its name", "it leads nowhere", map[string]string{"x.yaml": "-> y.yaml", "y.yaml": "-> x.yaml"}, []string{"x.yaml"}, []string{"error x.yaml: its links lead in a circle"}},
		{"as many links as the system follows", "the last one counts", chain(maxLinks), []string{"0.yaml"}, []string{"0.yaml"}},
		{"one link more", "the system gives up", chain(maxLinks + 1), []string{"0.yaml"}, []string{"error 0.yaml: its links lead in a circle"}},
		{"paths that overlap", "each file counts once", map[string]string{"a/x.yaml": object, "a/y.yaml": "-> z.yaml"}, []string{"a", ".", "a/x.yaml"}, []string{"a/x.yaml", "error a/y.yaml: it is a link to a/z.yaml, which the tree does not have"}},
		{"a path that is not there", "the other side has it", map[string]string{"x.yaml": object}, []string{"y.yaml", "x.yaml"}, []string{"x.yaml"}},
		{"names around a directory", "only what is in it counts", map[string]string{"a-b.yaml": object, "a/x.yaml": object, "a0/x.yaml": object}, []string{"a"}, []string{"a/x.yaml"}},
		{"a large file", "it cannot fill the memory, and the rest is read", map[string]string{"x.yaml": strings.Repeat("\n", maxFile+1), "y.yaml": object}, []string{"."}, []string{"error x.yaml: cannot be read: it has more than 33554432 bytes", "y.yaml"}},
		{"a file as large as may be", "the bound is the largest size", map[string]string{"x.yaml": "#" + strings.Repeat("x", maxFile-1)}, []string{"."}, []string{"x.yaml"}},
		{"directories in directories", "each of them can be named and linked", map[string]string{"a/b/c/y.yaml": object, "l": "-> a"}, []string{"a", "l"}, []string{"a/b/c/y.yaml", "l/b/c/y.yaml"}},
		{"a link by way of a link", "the way up begins where that link leads", map[string]string{"deploy/w.yaml": "-> b/../y.txt", "deploy/b": "-> ../c/d", "c/d/x.txt": "", "c/y.txt": object, "deploy/y.txt": "text"}, []string{"deploy"}, []string{"deploy/w.yaml"}},
		{"a link by way of a link to nothing", "a text beside it does not count", map[string]string{"deploy/w.yaml": "-> b/../y.txt", "deploy/b": "-> ../c/d", "c/d/x.txt": "", "deploy/y.txt": object}, []string{"deploy"}, []string{"error deploy/w.yaml: it is a link to c/y.txt, which the tree does not have"}},
		{"a link through a link to a hidden directory", "the names of links decide", map[string]string{"deploy/d": "-> ../l/sub", "l": "-> .real", ".real/sub/x.yaml": object}, []string{"deploy"}, []string{"deploy/d/x.yaml"}},
		{"a path through links", "it leads where the system finds it", map[string]string{"deploy/d": "-> ../l/sub", "l": "-> .real", ".real/sub/x.yaml": object}, []string{"deploy/d", "l/sub/x.yaml"}, []string{"deploy/d/x.yaml", "l/sub/x.yaml"}},
		{"a link that leaves by way of a link", "step by step it is outside", map[string]string{"a/b/x.yaml": "-> l/../../y.yaml", "a/b/l": "-> ../../", "y.yaml": object}, []string{"a"}, []string{"a/b/l/y.yaml", "error a/b/x.yaml: it is a link that leads out of the repository, to ../../"}},
		{"the repository of git itself", "the tree has no such path, and no link leads there", map[string]string{"x.yaml": object}, []string{".git/config"}, nil},
		{"a link into the repository of git", "that is not in the tree", map[string]string{"a/d": "-> ../.git"}, []string{"a"}, []string{"error a/d: it is a link that leads out of the repository, to ../.git"}},
		{"directories that link to each other", "the circle ends", map[string]string{"a/l": "-> ../b", "b/m": "-> ../a", "b/x.yaml": object}, []string{"a"}, []string{"a/l/x.yaml"}},
		{"a link below a file", "a file has nothing below it", map[string]string{"a/x.yaml": "-> ../y.yaml/", "y.yaml": object}, []string{"a"}, []string{"error a/x.yaml: it is a link to y.yaml, but y.yaml is a file"}},
		{"odd names", "names are not quoted", map[string]string{"a \"b\"\tä.yaml": object}, []string{"."}, []string{"a \"b\"\tä.yaml"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := repository(t, test.files)
			git(t, r.Root, "config", "filter.evil.smudge", "touch smudged; cat")
			git(t, r.Root, "config", "filter.evil.clean", "touch cleaned; cat")
			git(t, r.Root, "config", "core.fsmonitor", "touch monitored")
			commit, err := r.Commit(git(t, r.Root, "rev-parse", "HEAD"), "")
			if err != nil {
				t.Fatal(err)
			}
			worktree, err := r.WorkTree()
			if err != nil {
				t.Fatal(err)
			}
			for side, tree := range map[string]*Tree{"commit": commit, "work tree": worktree} {
				if diff := cmp.Diff(test.want, read(t, tree, test.paths...)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", side, test.reason, diff)
				}
			}
			for _, name := range []string{"smudged", "cleaned", "monitored"} {
				if _, err := os.Stat(filepath.Join(r.Root, name)); err == nil {
					t.Errorf("git ran a command of the repository: %s", name)
				}
			}
		})
	}
}

// TestHidden: what Files leaves out below the paths that are named.
func TestHidden(t *testing.T) {
	r := repository(t, map[string]string{"a.yaml": object, "d/b.yaml": object, "d/.h/c.yaml": object, ".top/d.yaml": object})
	commit, worktree := bothTrees(t, r)
	for _, tree := range []*Tree{commit, worktree} {
		for name, want := range map[string]string{".": ".top/d.yaml d/.h/c.yaml", "d": "d/.h/c.yaml", ".top": "", "a.yaml": ""} {
			files, err := tree.Hidden([]string{name})
			var got []string
			for _, f := range files {
				got = append(got, f.Path)
			}
			if slices.Sort(got); err != nil || strings.Join(got, " ") != want {
				t.Errorf("below %s: %q, want %q, %v", name, got, want, err)
			}
		}
	}
}

// TestWorkTree: what git ignores is left out, what is new counts, what is deleted does not.
func TestWorkTree(t *testing.T) {
	r := repository(t, map[string]string{".gitignore": "ignored/\n", "x.yaml": object, "y.yaml": object, "file": "text"})
	write(t, r.Root, map[string]string{"ignored/z.yaml": object, "new.yaml": object})
	for _, name := range []string{"y.yaml", "file"} {
		if err := os.Remove(filepath.Join(r.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, r.Root, map[string]string{"file/z.yaml": object}) // a directory in the place of a file
	tree, err := r.WorkTree()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"file/z.yaml", "new.yaml", "x.yaml"}, read(t, tree, ".")); diff != "" {
		t.Error(diff)
	}
}

// TestReadsAsGitHolds: a file that git holds unchanged is read as its blob, whatever the disk has of it; a changed one
// from the disk. No program that .gitattributes names is run.
func TestReadsAsGitHolds(t *testing.T) {
	const changed = object + "# changed\n"
	touch := func(t *testing.T, name string) {
		t.Helper()
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(name, past, past); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, reason string
		attributes   string
		change       func(t *testing.T, r *Repository)
		want         string // content of x.yaml, "" for no such file
		held         bool   // read as a blob
	}{
		{"checked out in another encoding", "the blob counts", "*.yaml working-tree-encoding=UTF-16LE\n", func(t *testing.T, r *Repository) {
			os.Remove(filepath.Join(r.Root, "x.yaml"))
			git(t, r.Root, "checkout", "x.yaml")
			if data, _ := os.ReadFile(filepath.Join(r.Root, "x.yaml")); !bytes.Contains(data, []byte("k\x00i\x00n\x00d\x00")) {
				t.Fatal("the disk has the file as git holds it")
			}
		}, object, true},
		{"other ends of lines, and other times", "converted, it is the same", "*.yaml eol=crlf\n", func(t *testing.T, r *Repository) {
			write(t, r.Root, map[string]string{"x.yaml": strings.ReplaceAll(object, "\n", "\r\n")})
			touch(t, filepath.Join(r.Root, "x.yaml"))
		}, object, true},
		{"other times", "it is the same", "", func(t *testing.T, r *Repository) { touch(t, filepath.Join(r.Root, "x.yaml")) }, object, true},
		{"changed", "the disk counts", "", func(t *testing.T, r *Repository) { write(t, r.Root, map[string]string{"x.yaml": changed}) }, changed, false},
		{"changed and staged", "the index has the change", "", func(t *testing.T, r *Repository) {
			write(t, r.Root, map[string]string{"x.yaml": changed})
			git(t, r.Root, "add", "x.yaml")
		}, changed, true},
		{"deleted", "", "", func(t *testing.T, r *Repository) { os.Remove(filepath.Join(r.Root, "x.yaml")) }, "", false},
		{"left out by a sparse checkout", "the index has it", "", func(t *testing.T, r *Repository) {
			git(t, r.Root, "update-index", "--skip-worktree", "x.yaml")
			os.Remove(filepath.Join(r.Root, "x.yaml"))
		}, object, true},
		{"with a conflict", "the disk counts", "", func(t *testing.T, r *Repository) {
			git(t, r.Root, "checkout", "-q", "-b", "other")
			write(t, r.Root, map[string]string{"x.yaml": object + "# a\n"})
			git(t, r.Root, "commit", "-qam", "a")
			git(t, r.Root, "checkout", "-q", "main")
			write(t, r.Root, map[string]string{"x.yaml": object + "# b\n"})
			git(t, r.Root, "commit", "-qam", "b")
			gitCommand(t, r.Root, "merge", "other").Run()
			write(t, r.Root, map[string]string{"x.yaml": changed})
		}, changed, false},
		{"a filter, and other times", "it is not run", "*.yaml filter=evil\n", func(t *testing.T, r *Repository) {
			git(t, r.Root, "config", "filter.evil.clean", "touch cleaned; cat")
			git(t, r.Root, "config", "filter.evil.process", "touch cleaned; cat")
			git(t, r.Root, "config", "filter.evil.required", "true")
			touch(t, filepath.Join(r.Root, "x.yaml"))
		}, object, true},
		{"a filter, and a file as new as the index", "git compares contents, and does not run it", "*.yaml filter=evil\n", func(t *testing.T, r *Repository) {
			touch(t, filepath.Join(r.Root, "x.yaml"))
			git(t, r.Root, "update-index", "--refresh")
			git(t, r.Root, "config", "filter.evil.clean", "touch cleaned; cat")
			git(t, r.Root, "config", "filter.evil.required", "true")
			info, err := os.Stat(filepath.Join(r.Root, "x.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(r.Root, ".git/index"), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, object, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := repository(t, map[string]string{"x.yaml": object, "other.yaml": object})
			if test.attributes != "" {
				write(t, r.Root, map[string]string{".gitattributes": test.attributes})
			}
			test.change(t, r)
			tree, err := r.WorkTree()
			if err != nil {
				t.Fatal(err)
			}
			files := tree.FS()
			defer files.Close()
			data, err := files.ReadFile("x.yaml")
			if string(data) != test.want || (err != nil) != (test.want == "") || (tree.entries["x.yaml"].id != "") != test.held {
				t.Errorf("%s: got %q, %v, entry %+v", test.reason, data, err, tree.entries["x.yaml"])
			}
			if _, err := os.Stat(filepath.Join(r.Root, "cleaned")); err == nil {
				t.Error("git ran a filter")
			}
		})
	}
}

// TestOddNames: names of files are bytes on Linux.
func TestOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has such names")
	}
	names := []string{`a\b.yaml`, "caf\xe9.yaml", "d\xff/x.yaml"}
	r := repository(t, map[string]string{names[0]: object, names[1]: object, names[2]: object})
	commit, worktree := bothTrees(t, r)
	write(t, r.Root, map[string]string{names[1]: object + "# changed\n"})
	changed, err := r.WorkTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range []*Tree{commit, worktree, changed} {
		if diff := cmp.Diff(names, read(t, tree, ".")); diff != "" {
			t.Error(diff)
		}
		files := tree.FS()
		for _, name := range names {
			if data, err := files.ReadFile(name); err != nil || !strings.HasPrefix(string(data), object) {
				t.Errorf("%q: %q, %v", name, data, err)
			}
		}
		files.Close()
	}
}

// TestWorkTreeChanges: a file that goes away while the work tree is read is an error, not an empty file.
func TestWorkTreeChanges(t *testing.T) {
	r := repository(t, map[string]string{"x.yaml": object})
	write(t, r.Root, map[string]string{"x.yaml": object + "# changed\n"}) // otherwise git has it
	tree, err := r.WorkTree()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Root, "x.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no such file", "is a directory"} {
		if lines := read(t, tree, "."); len(lines) != 1 || !strings.HasPrefix(lines[0], "error x.yaml: cannot be read: ") || !strings.Contains(lines[0], want) {
			t.Errorf("got %q, want %s", lines, want)
		}
		if err := os.MkdirAll(filepath.Join(r.Root, "x.yaml"), 0o755); err != nil { // in its place
			t.Fatal(err)
		}
	}
}

// TestWorkTreeBehindALink: a directory that became a link leads nowhere.
func TestWorkTreeBehindALink(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"x.yaml": object})
	r := repository(t, map[string]string{"a/x.yaml": object})
	if err := os.RemoveAll(filepath.Join(r.Root, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(r.Root, "a")); err != nil {
		t.Fatal(err)
	}
	tree, err := r.WorkTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range read(t, tree, ".") {
		if !strings.Contains(line, "leads out of the repository") {
			t.Errorf("read %s", line)
		}
	}
}

// TestWorkTreeLinkWithin: what git has of a directory that became a link is read through the link.
func TestWorkTreeLinkWithin(t *testing.T) {
	r := repository(t, map[string]string{"a/x.yaml": object, "a/c/y.yaml": object, "b/x.yaml": object})
	if err := os.RemoveAll(filepath.Join(r.Root, "a")); err != nil {
		t.Fatal(err)
	}
	write(t, r.Root, map[string]string{"a": "-> b", "b/c/y.yaml": object})
	tree, err := r.WorkTree()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a/c/y.yaml", "a/x.yaml", "b/c/y.yaml", "b/x.yaml"}, read(t, tree, ".")); diff != "" {
		t.Error(diff)
	}
}

// TestLinkIntoSubmodule: a link into a submodule that does not change counts where it leads elsewhere on the other
// side.
func TestLinkIntoSubmodule(t *testing.T) {
	other := repository(t, map[string]string{"x.yaml": object, "y.yaml": object})
	r := repository(t, map[string]string{"a/same.yaml": "-> ../sub/x.yaml", "a/moved.yaml": "-> ../sub/x.yaml", "a/z.yaml": object})
	git(t, r.Root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Root, "sub")
	git(t, r.Root, "commit", "-q", "-m", "two")
	old, err := r.Commit("HEAD", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Root, "a", "moved.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, r.Root, map[string]string{"a/moved.yaml": "-> ../sub/y.yaml", "a/added.yaml": "-> ../sub/x.yaml", "a/dir": "-> ../sub"})
	git(t, r.Root, "add", "-A")
	git(t, r.Root, "commit", "-q", "-m", "three")
	commit, worktree := bothTrees(t, r)
	const into = ": it is a link into a submodule, whose files are in another repository; check them there, or name the paths to check"
	dir := "error a/dir" + into
	added, moved, same := "error a/added.yaml"+into, "error a/moved.yaml"+into, "error a/same.yaml"+into
	if diff := cmp.Diff([]string{"a/z.yaml", added, dir, moved, same}, read(t, commit, "a")); diff != "" {
		t.Errorf("nothing to compare with (-want +got):\n%s", diff)
	}
	for side, tree := range map[string]*Tree{"commit": commit, "work tree": worktree} {
		before, err := r.Commit("HEAD~1", "")
		if err != nil {
			t.Fatal(err)
		}
		SkipUnchanged(tree, before)
		if diff := cmp.Diff([]string{"a/z.yaml", added, dir, moved}, read(t, tree, "a")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", side, diff)
		}
		if diff := cmp.Diff([]string{"a/z.yaml", moved}, read(t, before, "a")); diff != "" {
			t.Errorf("before, against the %s (-want +got):\n%s", side, diff)
		}
	}
	if lines := read(t, old, "a"); len(lines) != 3 {
		t.Errorf("before: %q", lines)
	}
}

// TestSubmodule: the files of a submodule are in another repository. That matters where its commit changes.
func TestSubmodule(t *testing.T) {
	other := repository(t, map[string]string{"x.yaml": object})
	r := repository(t, map[string]string{"y.yaml": object, "a/z.yaml": object, "a/by.yaml": "-> ../sub/../y.yaml"})
	git(t, r.Root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Root, "sub")
	git(t, r.Root, "commit", "-q", "-m", "two")
	bare := t.TempDir()
	git(t, bare, "clone", "-q", r.Root, "clone") // without the files of the submodule
	sub := filepath.Join(r.Root, "sub")
	for _, step := range []struct {
		name, dir string
		change    func()
		want      []string
		below     []string // at a
	}{
		{"the same commit", r.Root, func() {}, []string{"a/by.yaml", "a/z.yaml", "y.yaml"}, []string{"a/by.yaml", "a/z.yaml"}},
		{"not checked out", filepath.Join(bare, "clone"), func() {}, []string{"a/by.yaml", "a/z.yaml", "y.yaml"}, []string{"a/by.yaml", "a/z.yaml"}},
		{"another commit", r.Root, func() { git(t, sub, "commit", "-q", "--allow-empty", "-m", "three") },
			[]string{"a/by.yaml", "a/z.yaml", "error sub: it is a submodule at another commit, whose files are in another repository; check them there, or name the paths to check", "y.yaml"}, []string{"a/by.yaml", "a/z.yaml"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.change()
			r, err := Open(step.dir)
			if err != nil {
				t.Fatal(err)
			}
			commit, worktree := bothTrees(t, r)
			SkipUnchanged(commit, worktree)
			for side, tree := range map[string]*Tree{"commit": commit, "work tree": worktree} {
				if diff := cmp.Diff(step.want, read(t, tree, ".")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", side, diff)
				}
				if diff := cmp.Diff(step.below, read(t, tree, "a")); diff != "" {
					t.Errorf("%s, below a (-want +got):\n%s", side, diff)
				}
				if err := tree.Write(t.TempDir()); err != nil {
					t.Errorf("%s: %v", side, err)
				}
			}
		})
	}
	one, err := r.Commit("HEAD", "")
	if err != nil {
		t.Fatal(err)
	}
	same, err := r.Commit("HEAD", "")
	if err != nil {
		t.Fatal(err)
	}
	SkipUnchanged(one, same)
	if diff := cmp.Diff([]string{"a/by.yaml", "a/z.yaml", "y.yaml"}, read(t, one, ".")); diff != "" {
		t.Errorf("files of two equal commits are read (-want +got):\n%s", diff)
	}
}
