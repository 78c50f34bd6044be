// Package repotest serves charts on loopback, for tests.
package repotest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	ocireg "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v4/pkg/registry"
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
		if err := w.WriteHeader(&tar.Header{Name: c.Name + "/" + file, Mode: 0o644, Size: int64(len(text))}); err != nil {
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
		entries[c.Name] += fmt.Sprintf("  - {apiVersion: v2, name: %s, version: %s, digest: '%s', urls: ['%s']}\n", c.Name, c.Version, digest, file)
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

// OCI serves a registry without TLS. repo is the URL of a repository with the charts, and digests are those of their manifests.
func OCI(t testing.TB, charts ...Chart) (s *Server, repo string, digests []string) {
	t.Helper()
	s = serve(t, ocireg.New(ocireg.Logger(log.New(io.Discard, "", 0))))
	client, err := registry.NewClient(registry.ClientOptPlainHTTP())
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(s.URL, "http://")
	for _, c := range charts {
		pushed, err := client.Push(c.Pack(t), host+"/charts/"+c.Name+":"+c.Version)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, pushed.Manifest.Digest)
	}
	s.Requests.Store(0)
	return s, "oci://" + host + "/charts", digests
}
