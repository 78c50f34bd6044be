package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	r := repository(t, map[string]string{"x.yaml": object})
	first := git(t, r.Root, "rev-parse", "HEAD")
	git(t, r.Root, "tag", "v1")
	git(t, r.Root, "commit", "-q", "--allow-empty", "-m", "two")
	second := git(t, r.Root, "rev-parse", "HEAD")
	git(t, r.Root, "checkout", "-q", "-b", "side", "v1")
	git(t, r.Root, "commit", "-q", "--allow-empty", "-m", "side")
	git(t, r.Root, "checkout", "-q", "--orphan", "alone")
	git(t, r.Root, "commit", "-q", "--allow-empty", "-m", "alone")
	git(t, r.Root, "checkout", "-q", "side")
	for _, test := range []struct {
		text string
		want Range
		err  string
	}{
		{"v1", Range{first, ""}, ""},
		{"v1..main", Range{first, second}, ""},
		{"main...", Range{first, ""}, ""},
		{"main...side", Range{first, git(t, r.Root, "rev-parse", "side")}, ""},
		{"nope", Range{}, `the revision "nope" is not known here`},
		{"v1..nope", Range{}, `the revision "nope" is not known here`},
		{"v1...nope", Range{}, `the revision "nope" is not known here`},
		{"nope...", Range{}, `the revision "nope" is not known here`},
		{"main...alone", Range{}, "main and alone have no common ancestor here"},
		{"alone...", Range{}, "alone and HEAD have no common ancestor here"},
		{"...main", Range{}, "it is REV"},
		{"--output=/tmp/x", Range{}, "is not known here"},
		{"..main", Range{}, "it is REV"},
		{"main..", Range{}, "it is REV"},
	} {
		got, err := r.Resolve(test.text)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: got %v, %v", test.text, got, err)
		}
	}
}

// TestResolveWithoutHead: a revision is compared with the work tree also on a branch that has no commit yet.
func TestResolveWithoutHead(t *testing.T) {
	r := repository(t, map[string]string{"x.yaml": object})
	first := git(t, r.Root, "rev-parse", "HEAD")
	git(t, r.Root, "checkout", "-q", "--orphan", "empty")
	if got, err := r.Resolve("main"); err != nil || got != (Range{first, ""}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestShallow(t *testing.T) {
	origin := repository(t, map[string]string{"x.yaml": object})
	git(t, origin.Root, "commit", "-q", "--allow-empty", "-m", "two")
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "--depth=1", "file://"+origin.Root, "clone")
	r, err := Open(filepath.Join(dir, "clone"))
	if err != nil {
		t.Fatal(err)
	}
	const whole = "fetch the whole history with git fetch --unshallow"
	id := strings.Repeat("0123456789", 4)
	for rev, want := range map[string]string{
		"origin/release":              "git fetch --depth=1 origin release:refs/remotes/origin/release,", // depth implies one branch
		"refs/remotes/origin/release": "git fetch --depth=1 origin release:refs/remotes/origin/release,",
		"feature/x":                   "git fetch --depth=1 origin feature/x (and name FETCH_HEAD),", // no remote has the name feature
		"v1.0.0":                      "git fetch --depth=1 origin v1.0.0 (and name FETCH_HEAD),",
		"refs/tags/v1":                "git fetch --depth=1 origin refs/tags/v1:refs/tags/v1,",
		id:                            "git fetch --depth=1 origin " + id + ",",
		"HEAD~1":                      whole, "HEAD^": whole, "main@{1}": whole, "HEAD^{/fix}": whole, id[:12]: whole, "-x": whole, "a b": whole,
	} {
		if _, err := r.Resolve(rev); err == nil || !strings.Contains(err.Error(), want) || want == whole && strings.Contains(err.Error(), "--depth=1") {
			t.Errorf("%s: got %v, want %s", rev, err, want)
		}
	}
}

// TestUnknownRevision: the message names what helps, and what it names does.
func TestUnknownRevision(t *testing.T) {
	origin := repository(t, map[string]string{"x.yaml": object})
	git(t, origin.Root, "branch", "release")
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "--single-branch", "file://"+origin.Root, "clone")
	alone := repository(t, map[string]string{"x.yaml": object})
	git(t, alone.Root, "branch", "trunk")
	empty := t.TempDir()
	git(t, empty, "init", "-q", "-b", "main")
	for _, c := range []struct{ dir, rev, want string }{
		{alone.Root, "HEAD~1", "its history does not go back that far"},
		{alone.Root, "HEAD^^", "its history does not go back that far"},
		{alone.Root, "nope~1", "such as main, trunk"},
		{alone.Root, "origin/main", "name a revision that this clone has, such as main, trunk"}, // the clone has no remote
		{filepath.Join(dir, "clone"), "origin/release", "such as main, origin/HEAD, origin/main, or fetch it: git fetch origin release:refs/remotes/origin/release"},
		{empty, "main", "the repository has no commits yet"},
	} {
		r, err := Open(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Resolve(c.rev)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(c.want, "fetch") && strings.Contains(err.Error(), "fetch") {
			t.Errorf("%s: got %v, want %s", c.rev, err, c.want)
			continue
		}
		if _, command, ok := strings.Cut(err.Error(), "or fetch it: git "); ok {
			git(t, c.dir, strings.Fields(command)...)
			if _, err := r.Resolve(c.rev); err != nil {
				t.Errorf("%s: after git %s: %v", c.rev, command, err)
			}
		}
	}
}

// TestFirstCommit: before the first commit, HEAD has no files, so that pre-commit can run.
func TestFirstCommit(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := r.Resolve("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Commit(resolved.Old, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if files, err := tree.Files([]string{"."}); err == nil && len(files) > 0 {
		t.Errorf("it has %v", files)
	}
	other := repository(t, map[string]string{"x.yaml": object})
	git(t, other.Root, "checkout", "-q", "--orphan", "empty")
	if _, err := other.Resolve("HEAD"); err == nil {
		t.Error("a branch without a commit counts as an empty one, though the repository has others")
	}
}

func TestOpen(t *testing.T) {
	broken := t.TempDir()
	write(t, broken, map[string]string{".git": "gitdir: nowhere\n"})
	if _, err := Open(broken); err == nil || !strings.Contains(err.Error(), "cannot read a git repository here: not a git repository: ") {
		t.Errorf("a .git that leads nowhere: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot read a git repository here: not a git repository") {
		t.Errorf("got %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot read a git repository here") {
		t.Errorf("git runs where there is no repository: %v", err)
	}
	if _, err := Open("."); err == nil || !strings.Contains(err.Error(), "git, which is not installed") {
		t.Errorf("got %v", err)
	}
}

// TestRootOfNoDirectory: a working directory that somebody has removed is in no repository.
func TestRootOfNoDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Skip("the system does not remove a working directory: ", err)
	}
	if root, ok := Root("."); ok {
		t.Errorf("the repository is %q", root)
	}
}

// TestRefs: a clone has the branches of its remotes, too.
func TestRefs(t *testing.T) {
	origin := repository(t, map[string]string{"x.yaml": object})
	git(t, origin.Root, "tag", "v1")
	git(t, origin.Root, "branch", "release/1")
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "file://"+origin.Root, "clone")
	r, err := Open(filepath.Join(dir, "clone"))
	if err != nil {
		t.Fatal(err)
	}
	git(t, r.Root, "branch", "local")
	tags, branches := r.Refs()
	if want := []string{"v1"}; !slices.Equal(tags, want) {
		t.Errorf("the tags are %q, want %q", tags, want)
	}
	for _, name := range []string{"main", "local", "release/1"} {
		if !slices.Contains(branches, name) {
			t.Errorf("the branches %q lack %s", branches, name)
		}
	}
}

// TestPath: paths are given from the working directory, and named as seen from there.
func TestPath(t *testing.T) {
	root := repository(t, map[string]string{"a/b/x.yaml": object}).Root
	for _, row := range []struct{ dir, arg, want, shown string }{
		{".", "a", "a", "a"},
		{".", ".", ".", "."},
		{".", "./a/../b/", "b", "b"},
		{"a/b", ".", "a/b", "."},
		{"a/b", "x.yaml", "a/b/x.yaml", "x.yaml"},
		{"a/b", "../c.yaml", "a/c.yaml", "../c.yaml"},
		{"a/b", "../..", ".", "../.."},
		{"a/b", root + "/a", "a", ".."},
		{"a/b", "../../..", "", ""},
		{".", "..", "", ""},
		{".", "/etc", "", ""},
		{"a", root + "-other/x.yaml", "", ""},
	} {
		r, err := Open(filepath.Join(root, row.dir))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Path(row.arg)
		if got != row.want || (err != nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), "it is outside of the repository") {
			t.Errorf("%s in %s: %q, %v, want %q", row.arg, row.dir, got, err, row.want)
		}
		if row.want != "" && r.Display(got) != row.shown {
			t.Errorf("%s in %s is shown as %s, want %s", got, row.dir, r.Display(got), row.shown)
		}
	}
}
