// Package repotest serves charts on loopback, for tests.
package repotest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	ocireg "github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
)

// Chart is a chart to serve.
type Chart struct {
	Name, Version string
	Files         map[string]string // besides Chart.yaml
	Digest        string            // in the index, in place of its own
}

// Pack returns a chart as `helm package` packs it.
func (c Chart) Pack(t testing.TB) []byte {
	t.Helper()
	files := maps.Clone(c.Files)
	if files == nil {
		files = map[string]string{}
	}
	files["Chart.yaml"] = "apiVersion: v2\nname: " + c.Name + "\nversion: " + c.Version + "\n"
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text := files[file]
		if err := w.WriteHeader(&tar.Header{Name: c.Name + "/" + file, Mode: 0o644,
			Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Server is a server with the number of requests that it has had.
type Server struct {
	*httptest.Server
	Requests atomic.Int64
}

func serve(t testing.TB, handler http.Handler) *Server {
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Classic serves a classic repository.
func Classic(t testing.TB, charts ...Chart) *Server {
	t.Helper()
	files := map[string][]byte{}
	entries := map[string]string{}
	for _, c := range charts {
		data := c.Pack(t)
		file := "charts/" + c.Name + "-" + c.Version + ".tgz"
		digest := c.Digest
		if digest == "" {
			digest = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		files["/"+file] = data
		entries[c.Name] += fmt.Sprintf("  - {apiVersion: v2, name: %s, version: %s, digest: '%s', urls: ['%s']}\n",
			c.Name, c.Version, digest, file)
	}
	index := "apiVersion: v1\nentries:\n"
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		index += "  " + name + ":\n" + entries[name]
	}
	files["/index.yaml"] = []byte(index)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
		}
		_, _ = w.Write(data)
	}))
}

// OCI serves a registry without TLS. repo is the URL of a repository with the charts, and digests are those of their
// manifests.
func OCI(t testing.TB, charts ...Chart) (s *Server, repo string, digests []string) {
	t.Helper()
	s = serve(t, ocireg.New(ocireg.Logger(log.New(io.Discard, "", 0))))
	host := strings.TrimPrefix(s.URL, "http://")
	for _, c := range charts {
		repository, err := remote.NewRepository(host + "/charts/" + c.Name)
		if err != nil {
			t.Fatal(err)
		}
		repository.PlainHTTP = true
		push := func(mediaType string, data []byte, tag string) ocispec.Descriptor {
			described := content.NewDescriptorFromBytes(mediaType, data)
			err := repository.Push(t.Context(), described, bytes.NewReader(data))
			if err == nil && tag != "" {
				err = repository.Tag(t.Context(), described, tag)
			}
			if err != nil {
				t.Fatal(err)
			}
			return described
		}
		manifest := ocispec.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
			Config: push("application/vnd.cncf.helm.config.v1+json", []byte("{}"), ""),
			Layers: []ocispec.Descriptor{push("application/vnd.cncf.helm.chart.content.v1.tar+gzip", c.Pack(t), "")},
		}
		data, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		pushed := push(ocispec.MediaTypeImageManifest, data, strings.ReplaceAll(c.Version, "+", "_"))
		digests = append(digests, pushed.Digest.String())
	}
	s.Requests.Store(0)
	return s, "oci://" + host + "/charts", digests
}

// Git serves a git repository at the path /base.git, with git's own server. Each of commits is files by their names; it
// gets the tag v1.0.0, v2.0.0 and so on, and the branch main the last one. ids are those of the commits.
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
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"},
			args...)...)
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
