package git

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPartialClone: git fetches what a clone without contents lacks, at once; where it cannot, the error says so.
func TestPartialClone(t *testing.T) {
	origin := repository(t, map[string]string{"a.yaml": object, "b.yaml": object + "\n", "dir/c.yaml": object + "\n\n"})
	write(t, origin.Root, map[string]string{"a.yaml": object + "# next\n", "b.yaml": object + "# next\n\n", "dir/c.yaml": object + "# next\n\n\n"})
	git(t, origin.Root, "commit", "-q", "-a", "-m", "two")
	git(t, origin.Root, "config", "uploadpack.allowFilter", "true")
	git(t, origin.Root, "config", "uploadpack.allowAnySHA1InWant", "true")
	for _, filter := range []string{"blob:none", "tree:0"} {
		dir := t.TempDir()
		clone := func(name string) *Repository {
			t.Helper()
			git(t, dir, "clone", "-q", "--filter="+filter, "file://"+origin.Root, name)
			r, err := Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		lacks := func(r *Repository) int {
			return len(r.lacks("HEAD~1"))
		}
		r := clone("clone")
		if lacks(r) == 0 {
			t.Fatalf("%s: the clone has everything", filter)
		}
		tree, err := r.Commit("HEAD~1", "v1")
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		if n := lacks(r); n > 0 {
			t.Errorf("%s: the clone lacks %d objects after the tree was opened", filter, n)
		}
		if got := read(t, tree, "."); len(got) != 3 || strings.Contains(strings.Join(got, "\n"), "error") {
			t.Errorf("%s: %q", filter, got)
		}

		offline := clone("offline")
		git(t, offline.Root, "remote", "set-url", "origin", "file://"+filepath.Join(dir, "gone"))
		tree, err = offline.Commit("HEAD~1", "v1")
		switch {
		case filter == "tree:0":
			if err == nil || !strings.Contains(err.Error(), "gone") {
				t.Errorf("%s: got %v", filter, err)
			}
		case err != nil:
			t.Errorf("%s: %v", filter, err)
		default:
			for _, line := range read(t, tree, ".") {
				if !strings.Contains(line, "its content is not in this clone, which is partial (--filter), and git fetch origin failed") {
					t.Errorf("%s: %s", filter, line)
				}
			}
		}
	}
}
