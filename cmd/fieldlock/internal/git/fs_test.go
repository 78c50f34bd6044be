package git

import "testing"

// TestFS: both kinds of trees read files through links and give them the same IDs; directories and links that lead nowhere have
// none.
func TestFS(t *testing.T) {
	files := map[string]string{"a.yaml": object, "d/b.yaml": object + "\n", "d/e/c.yaml": "x", "link": "-> d/e", "d/file": "-> ../a.yaml", "out": "-> ../../x"}
	commit, worktree := bothTrees(t, repository(t, files))
	var ids [2]string
	for i, tree := range []*Tree{commit, worktree} {
		f := tree.FS()
		defer f.Close()
		for _, c := range []struct{ name, reason, same string }{
			{"a.yaml", "a file", "a.yaml"}, {"d/file", "a link to a file", "a.yaml"}, {"link/c.yaml", "a file below a link", "d/e/c.yaml"},
		} {
			data, err := f.ReadFile(c.name)
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
		}
		ids[i], _ = f.ID("d/b.yaml")
	}
	if ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("one file has the IDs %q", ids)
	}
}
