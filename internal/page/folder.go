package page

import (
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/tools/txtar"
)

// examples are files of testdata/examples, and the names that the pages give them. The others are in testdata/world.txtar.
var examples = [][2]string{
	{"crd.yaml", "crd.yaml"}, {"crd.yaml", "widgets.yaml"}, {"crd.yaml", "vendor-crd.yaml"}, {"crd.yaml", "config/crd/databases.yaml"},
	{"old.yaml", "old.yaml"}, {"new.yaml", "new.yaml"},
	{"shop/old/orders.yaml", "old/orders.yaml"}, {"shop/new/orders.yaml", "new/orders.yaml"},
	{"params/v1.yaml", "params.yaml"}, {"params/v1.yaml", "v1/params.yaml"}, {"params/v2.yaml", "v2/params.yaml"},
	{"params/stored.yaml", "instance.yaml"},
}

// changed are files that have one text in the first commit and another one in the work tree.
var changed = [][3]string{
	{"old.yaml", "new.yaml", "orders.yaml"},
	{"shop/old/orders.yaml", "shop/new/orders.yaml", "deploy/orders.yaml"},
}

// Folder makes dir a git repository with the files that the pages name, from the repository at root. Its first commit is
// origin/main and the releases; its work tree differs.
func Folder(root, dir string) error {
	world, err := txtar.ParseFile(filepath.Join(root, "internal/page/testdata/world.txtar"))
	if err != nil {
		return err
	}
	for _, file := range world.Files {
		if err := write(filepath.Join(dir, file.Name), file.Data); err != nil {
			return err
		}
	}
	place := func(source, target string) error {
		data, err := os.ReadFile(filepath.Join(root, "testdata/examples", source))
		if err != nil {
			return err
		}
		return write(filepath.Join(dir, target), data)
	}
	for _, e := range examples {
		if err := place(e[0], e[1]); err != nil {
			return err
		}
	}
	for _, c := range changed {
		if err := place(c[0], c[2]); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "--template=", "-b", "main"}, {"remote", "add", "origin", "."}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"}, {"tag", "v1.0.0"}, {"tag", "v1.2.0"},
	} {
		git := exec.Command("git", args...)
		git.Dir = dir
		if err := git.Run(); err != nil {
			return err
		}
	}
	for _, c := range changed {
		if err := place(c[1], c[2]); err != nil {
			return err
		}
	}
	return nil
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
