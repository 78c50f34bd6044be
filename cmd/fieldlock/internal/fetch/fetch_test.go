package fetch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch/repotest"
)

// charts are versions of the chart shop.
func charts(versions ...string) []repotest.Chart {
	var list []repotest.Chart
	for _, version := range versions {
		list = append(list, repotest.Chart{Name: "shop", Version: version, Files: map[string]string{"templates/a.yaml": "# " + version + "\n", ".helmignore": "templates\n"}})
	}
	return list
}

func TestChart(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("HELM_CONFIG_HOME", t.TempDir())
	wrong := charts("3.0.0")[0]
	wrong.Digest = strings.Repeat("0", 64)
	site := repotest.Classic(t, append(charts("1.0.0", "1.2.0", "2.0.0-rc.1", "1.1.0"), wrong)...)
	_, registryURL, digests := repotest.OCI(t, charts("1.0.0", "1.2.0", "1.1.0", "2.0.0-rc.1")...)
	noChart := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "apiVersion: v1\nentries: {shop: [{apiVersion: v2, name: shop, version: 1.0.0, urls: [index.yaml]}]}\n")
	}))
	defer noChart.Close()
	for _, c := range []struct {
		reason         string
		chart          Chart
		version, fails string
	}{
		{"a version", Chart{Repo: site.URL, Name: "shop", Version: "1.1.0"}, "1.1.0", ""},
		{"a range", Chart{Repo: site.URL + "/", Name: "shop", Version: "~1"}, "1.2.0", ""},
		{"a range", Chart{Repo: site.URL, Name: "shop", Version: ">=1.0.0 <1.2.0"}, "1.1.0", ""},
		{"a version before a release", Chart{Repo: site.URL, Name: "shop", Version: "2.0.0-rc.1"}, "2.0.0-rc.1", ""},
		{"no such version", Chart{Repo: site.URL, Name: "shop", Version: "9.0.0"}, "", "no such version"},
		{"no such chart", Chart{Repo: site.URL, Name: "cart", Version: "1.0.0"}, "", "no such version"},
		{"another digest", Chart{Repo: site.URL, Name: "shop", Version: "3.0.0"}, "", "its digest is another one"},
		{"no chart", Chart{Repo: noChart.URL, Name: "shop", Version: "1.0.0"}, "", "not a packed chart"},
		{"no index", Chart{Repo: site.URL + "/charts", Name: "shop", Version: "1.0.0"}, "", "404"},
		{"nobody listens", Chart{Repo: "http://127.0.0.1:1", Name: "shop", Version: "1.0.0"}, "", "refused"},
		{"another scheme", Chart{Repo: "file:///etc", Name: "shop", Version: "1.0.0"}, "", "not the URL of a repository"},
		{"another scheme", Chart{Repo: "ftp://a/b", Name: "shop", Version: "1.0.0"}, "", "not fetched from ftp URLs"},
		{"a tag", Chart{Repo: registryURL, Name: "shop", Version: "1.1.0", Plain: true}, "1.1.0", ""},
		{"a tag as it is written", Chart{Repo: registryURL, Name: "shop", Version: "1.1.0", Plain: true, Tag: true}, "1.1.0", ""},
		{"a range of tags", Chart{Repo: registryURL, Name: "shop", Version: "1.x", Plain: true}, "1.2.0", ""},
		{"the newest tag", Chart{Repo: registryURL, Name: "shop", Plain: true}, "1.2.0", ""},
		{"a digest", Chart{Repo: registryURL, Name: "shop", Version: digests[0], Plain: true}, "1.0.0", ""},
		{"no such tag", Chart{Repo: registryURL, Name: "shop", Version: "9.0.0", Plain: true}, "", "not found"},
		{"no such repository", Chart{Repo: registryURL, Name: "cart", Version: "1.x", Plain: true}, "", "404"},
		{"TLS is not left out by itself", Chart{Repo: registryURL, Name: "shop", Version: "1.1.0"}, "", "HTTP"},
	} {
		files, err := New(t.TempDir(), "127.0.0.1").Chart(c.chart)
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v: got %v, want %q", c.reason, c.chart, err, c.fails)
			}
		case err != nil:
			t.Errorf("%s: %v: %v", c.reason, c.chart, err)
		case string(files["templates/a.yaml"]) != "# "+c.version+"\n" || len(files) != 2:
			t.Errorf("%s: %v: got %q", c.reason, c.chart, files)
		}
	}
}

// TestCache: a pinned version is got once, ever; a range once in a run.
func TestCache(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	site := repotest.Classic(t, charts("1.0.0", "1.2.0")...)
	registry, registryURL, _ := repotest.OCI(t, charts("1.0.0", "1.2.0")...)
	dir := filepath.Join(t.TempDir(), "below", "it")
	pinned := []Chart{{Repo: site.URL, Name: "shop", Version: "1.0.0"}, {Repo: registryURL, Name: "shop", Version: "1.0.0", Plain: true}}
	ranges := []Chart{{Repo: site.URL, Name: "shop", Version: "1.x"}, {Repo: registryURL, Name: "shop", Version: "1.x", Plain: true}}
	first := New(dir, "127.0.0.1")
	for _, c := range append(pinned, ranges...) {
		if _, err := first.Chart(c); err != nil {
			t.Fatal(err)
		}
	}
	if n := site.Requests.Load(); n != 3 { // the index once
		t.Errorf("%d requests to the classic repository", n)
	}
	n := registry.Requests.Load()
	for _, c := range append(pinned, ranges...) {
		if _, err := first.Chart(c); err != nil {
			t.Fatal(err)
		}
	}
	if n != registry.Requests.Load() || site.Requests.Load() != 3 {
		t.Error("a chart is got twice in a run")
	}
	kept, err := filepath.Glob(filepath.Join(dir, "charts", "*"))
	if err != nil || len(kept) != 2 {
		t.Errorf("the cache has %v, %v", kept, err)
	}
	site.Close()
	registry.Close()
	second := New(dir, "127.0.0.1")
	for _, c := range pinned {
		if files, err := second.Chart(c); err != nil || string(files["templates/a.yaml"]) != "# 1.0.0\n" {
			t.Errorf("%v is not in the cache: %v", c, err)
		}
	}
	for _, c := range ranges {
		if _, err := second.Chart(c); err == nil {
			t.Errorf("%v is in the cache", c)
		}
	}
	for _, name := range kept {
		if err := os.WriteFile(name, []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(dir, "127.0.0.1").Chart(pinned[0]); err == nil {
		t.Error("a broken file of the cache is a chart")
	}
}
