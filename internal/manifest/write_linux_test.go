package manifest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

func TestWriteFile(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		prepare      func(t *testing.T, dir string)
		path         string
		want         string // of the error, "" for none
		real         string // the file that holds the new text
	}{
		{"new file", "it is made", func(*testing.T, string) {}, "crds/a.yaml", "", "crds/a.yaml"},
		{"file", "its mode stays", func(t *testing.T, dir string) { write(t, dir+"/crds/a.yaml") }, "crds/a.yaml", "", "crds/a.yaml"},
		{"link within", "it stays a link", func(t *testing.T, dir string) { write(t, dir+"/crds/b.yaml"); link(t, "b.yaml", dir+"/crds/a.yaml") }, "crds/a.yaml", "", "crds/b.yaml"},
		{"link out", "another project's file is not ours", func(t *testing.T, dir string) { write(t, dir+"/b.yaml"); link(t, "../b.yaml", dir+"/crds/a.yaml") }, "crds/a.yaml", "leads out of", ""},
		{"folder that is a link out", "so is what is in it", func(t *testing.T, dir string) {
			if err := os.Mkdir(dir+"/other", 0o755); err != nil {
				t.Fatal(err)
			}
			link(t, "../other", dir+"/crds/sub")
		}, "crds/sub/a.yaml", "leads out of", ""},
		{"dangling link", "nobody meant that", func(t *testing.T, dir string) { link(t, "none", dir+"/crds/a.yaml") }, "crds/a.yaml", "a link to a file that does not exist", ""},
		{"directory", "it holds no text", func(t *testing.T, dir string) {
			if err := os.Mkdir(dir+"/crds/a.yaml", 0o755); err != nil {
				t.Fatal(err)
			}
		}, "crds/a.yaml", "not a regular file", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "crds"), 0o755); err != nil {
				t.Fatal(err)
			}
			c.prepare(t, dir)
			err := manifest.WriteFile(filepath.Join(dir, c.path), []byte("new"), filepath.Join(dir, "crds"))
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: error %v, want %q", c.reason, err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(filepath.Join(dir, c.real)); string(got) != "new" {
				t.Errorf("%s: the file holds %q", c.reason, got)
			}
			if info, _ := os.Lstat(filepath.Join(dir, c.real)); c.name != "new file" && info.Mode().Perm() != 0o600 {
				t.Errorf("the mode is %v, want that of before", info.Mode())
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "crds", "*.tmp")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
			open, _ := filepath.Glob("/proc/self/fd/*")
			for _, fd := range open {
				if name, _ := os.Readlink(fd); strings.HasPrefix(name, dir) {
					t.Errorf("%s is still open", name)
				}
			}
		})
	}
}

// TestWriteFileErrors: an error names the file once, and says what went wrong.
func TestWriteFileErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.yaml")
	for _, c := range []struct{ path, dir, want string }{
		{"none/a.yaml", "", "none/a.yaml cannot be written, it stays as it is: no such file or directory"},
		{"a.yaml", "none", "a.yaml cannot be written, it stays as it is: no such file or directory"},
		{strings.Repeat("a", 250) + ".yaml", "", strings.Repeat("a", 250) + ".yaml cannot be written, it stays as it is: file name too long"}, // with .tmp
		{"a.yaml/b.yaml", "", "a.yaml/b.yaml cannot be written, it stays as it is: not a directory"},
	} {
		within := c.dir
		if within != "" {
			within = filepath.Join(dir, within)
		}
		err := manifest.WriteFile(filepath.Join(dir, c.path), []byte("new"), within)
		if err == nil || err.Error() != filepath.Join(dir, c.want) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	if got, _ := os.ReadFile(dir + "/a.yaml"); string(got) != "old" {
		t.Errorf("the file holds %q", got)
	}
}

// TestWriteFileLeftovers: temporary files of a process that had the same number are passed over, up to a limit.
func TestWriteFileLeftovers(t *testing.T) {
	const tries = 102
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path)
	for i := range tries - 1 {
		write(t, fmt.Sprintf("%s.%d-%d.tmp", path, os.Getpid(), i))
	}
	if err := manifest.WriteFile(path, []byte("new"), ""); err != nil {
		t.Errorf("the last try fails: %v", err)
	}
	write(t, fmt.Sprintf("%s.%d-%d.tmp", path, os.Getpid(), tries-1))
	if err := manifest.WriteFile(path, []byte("newer"), ""); err == nil || !strings.Contains(err.Error(), "file exists") {
		t.Errorf("one try more: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("the file holds %q", got)
	}
}

// TestWriteFileFullDisk: when the text does not fit, the old one stays, and no temporary file. The limit holds for a
// process, so it is a process of its own.
func TestWriteFileFullDisk(t *testing.T) {
	if path := os.Getenv("FIELDLOCK_TEST_FULL_DISK"); path != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10, Max: 10}); err != nil {
			t.Fatal(err)
		}
		if err := manifest.WriteFile(path, []byte(strings.Repeat("x", 1000)), ""); err == nil {
			t.Error("the text was written, over the limit")
		}
		return
	}
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path)
	command := exec.Command(os.Args[0], "-test.run=^TestWriteFileFullDisk$")
	command.Env = append(os.Environ(), "FIELDLOCK_TEST_FULL_DISK="+path)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q", got)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
