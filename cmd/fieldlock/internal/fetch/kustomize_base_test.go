package fetch

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch/repotest"
)

// TestBase: what is read of a repository, and that the cache has it for good.
func TestBase(t *testing.T) {
	server, ids := repotest.Git(t, map[string]string{
		"a/kustomization.yaml": "resources: [x.yaml, 'https://example.com/c/d//e?ref=v1.0.0']\nhelmCharts: [{name: store, repo: 'https://example.com', version: 1.0.0}]\n",
		"a/x.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "b/y.yaml": "a: b\n",
	})
	dir := t.TempDir()
	for _, ref := range []string{"v1.0.0", ids[0]} {
		for range 2 {
			b, err := New(dir, "127.0.0.1").Base(server.URL + "/base.git//a?ref=" + ref)
			if err != nil {
				t.Fatal(err)
			}
			if b.At != "a" || len(b.Files) != 2 || b.Files["a/x.yaml"] == nil || len(b.Elsewhere) != 2 || b.Elsewhere[0].Repository != "https://example.com/c/d//e?ref=v1.0.0" {
				t.Errorf("got %+v", b)
			}
		}
	}
	if n := server.Requests.Load(); n > 10 {
		t.Errorf("%d requests for two bases", n)
	}
	server.Close()
	if _, err := New(dir, "127.0.0.1").Base(server.URL + "/base.git//a?ref=v1.0.0"); err != nil {
		t.Errorf("the cache does not have it: %v", err)
	}
	if _, err := New("", "127.0.0.1").Base(server.URL + "/base.git//a?ref=v1.0.0"); err == nil {
		t.Error("without a cache it comes from nowhere")
	}
	for _, ref := range []string{"https://a/b?ref=-x", "https://a/b?ref=a%20b", "https://a/b?ref=%00", "https://a/b", "ext::sh -c x//?ref=v1", "/a/b?ref=v1", "git::https://a/b//c?ref=v1.0.0"} {
		if _, err := New("").Base(ref); err == nil || !strings.Contains(err.Error(), "fetched") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
