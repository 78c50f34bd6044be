package repotest

import (
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Git serves a git repository at the path /base.git, with git's own server. Each of commits is files by their names; it gets the tag v1.0.0, v2.0.0 and so on, and the branch main the last one. ids are those of the commits.
func Git(t testing.TB, commits ...map[string]string) (s *Server, ids []string) {
	t.Helper()
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is not installed")
	}
	program := filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		t.Skip("git's server is not installed")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "base.git")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet", "--initial-branch=main")
	git("config", "uploadpack.allowAnySHA1InWant", "true")
	for i, files := range commits {
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "--all")
		git("commit", "--quiet", "--allow-empty", "-m", "change")
		git("tag", "v"+string(rune('1'+i))+".0.0")
		ids = append(ids, git("rev-parse", "HEAD"))
	}
	handler := &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}}
	return serve(t, http.HandlerFunc(handler.ServeHTTP)), ids
}
