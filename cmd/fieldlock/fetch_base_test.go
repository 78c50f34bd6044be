package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch/repotest"
)

// TestFetchBase: with --fetch, a kustomization's remote bases come from their repositories if a tag or a full commit is
// named. In each row NEW has another revision, whose claim has another storage class.
func TestFetchBase(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	base := func(class string) map[string]string {
		return map[string]string{
			"base/kustomization.yaml": "resources: [claim.yaml, ../common]\n", "base/claim.yaml": claim("data", class),
			"common/kustomization.yaml": "resources: [map.yaml]\nconfigMapGenerator: [{name: made, files: [some.txt]}]\n", "common/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
			"common/some.txt": "text", "other/big.txt": "not read", "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: part-\n",
			"out/kustomization.yaml": "resources: [../../x.yaml]\n",
		}
	}
	server, ids := repotest.Git(t, base("fast"), base("slow"))
	url := server.URL + "/base.git//base?ref="
	nested := map[string]string{
		"top/kustomization.yaml": "resources: ['" + url + "v1.0.0']\nnameSuffix: -n\n", "file/kustomization.yaml": "resources: [claim.yaml]\n", "file/claim.yaml": claim("data", "fast"),
	}
	second := map[string]string{"top/kustomization.yaml": "resources: ['" + url + "v2.0.0']\nnameSuffix: -n\n"}
	outer, _ := repotest.Git(t, nested, second)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		class := strings.TrimSuffix(filepath.Base(r.URL.Path), ".yaml")
		if class != "fast" && class != "slow" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(claim("data", class)))
	}))
	defer files.Close()
	of := func(text string) string { return "resources: ['" + text + "']\nnamePrefix: x-\n" }
	for _, c := range []struct {
		name     string
		old, new string // kustomizations
		status   int
		says     string
	}{
		{"a tag", of(url + "v1.0.0"), of(url + "v2.0.0"), exitRefused, "x-data"},
		{"a full commit", of(url + ids[0]), of(url + ids[1]), exitRefused, "x-data"},
		{"the other name of ref", of(url + "v1.0.0"), of(server.URL + "/base.git//base?version=v2.0.0&submodules=true"), exitRefused, "x-data"},
		{"a component", "resources: ['" + url + "v1.0.0']\ncomponents: ['" + server.URL + "/base.git//part?ref=v1.0.0']\n", "resources: ['" + url + "v2.0.0']\ncomponents: ['" + server.URL + "/base.git//part?ref=v1.0.0']\n", exitRefused, "part-data"},
		{"a base of a base", of(outer.URL + "/base.git//top?ref=v1.0.0"), of(outer.URL + "/base.git//top?ref=v2.0.0"), exitRefused, "x-data-n"},
		{"a file", of(files.URL + "/fast.yaml"), of(files.URL + "/slow.yaml"), exitRefused, "x-data"},
		{"a branch", of(url + "main"), of(url+"main") + "nameSuffix: -y\n", exitClean, "main is neither a tag nor a full commit"},
		{"no revision", of(server.URL + "/base.git//base"), of(server.URL+"/base.git//base") + "nameSuffix: -y\n", exitClean, "names no tag or full commit"},
		{"a short commit", of(url + ids[0][:10]), of(url + ids[1][:10]), exitClean, "cannot be fetched"},
		{"no such tag", of(url + "v9.0.0"), of(url + "v9.0.1"), exitClean, "cannot be fetched"},
		{"no such file", of(files.URL + "/none.yaml"), of(files.URL + "/no.yaml"), exitClean, "cannot be fetched"},
		{"an option in the place of a revision", of(url + "--upload-pack=touch%20pwned"), of(url + "--upload-pack=touch%20pwned2"), exitClean, "names no tag or full commit"},
		{"a repository of the disk", of("file:///tmp//x?ref=v1.0.0"), of("file:///tmp//x?ref=v1.0.1"), exitClean, "only https, http and github.com/ are fetched"},
		{"ssh", of("git@127.0.0.1:a/b//x?ref=v1.0.0"), of("git@127.0.0.1:a/b//x?ref=v1.0.1"), exitClean, "only https, http and github.com/ are fetched"},
		{"a base that reads outside of its repository", of(server.URL + "/base.git//out?ref=v1.0.0"), of(server.URL + "/base.git//out?ref=v2.0.0"), exitClean, "cannot be fetched"},
		{"a patch", "resources: [own.yaml]\npatches: [{path: '" + files.URL + "/fast.yaml'}]\n", "resources: [own.yaml]\npatches: [{path: '" + files.URL + "/slow.yaml'}]\n", exitClean, "is read from the network"},
		{"a transformer of a transformer", "resources: [own.yaml]\ntransformers: [../lib]\n", "resources: [own.yaml]\ntransformers: [../lib]\nnameSuffix: -y\n", exitClean, "is not in this repository"},
		{"a transformer", "resources: [own.yaml]\ntransformers: ['" + files.URL + "/fast.yaml']\n", "resources: [own.yaml]\ntransformers: ['" + files.URL + "/slow.yaml']\n", exitClean, "is not in this repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, withLoopback(map[string]string{
				"deploy/kustomization.yaml": c.old, "deploy/own.yaml": claim("own", "a"), "lib/kustomization.yaml": of(files.URL + "/fast.yaml"),
			}), nil)
			writeFile(t, "deploy/kustomization.yaml", c.new)
			server.Requests.Store(0)
			if got := runCommand("", "check", "--git", "HEAD"); got.status != exitClean || !strings.Contains(got.out, "not covered") || server.Requests.Load() > 0 {
				t.Errorf("without --fetch: status %d, %d requests\n%s%s", got.status, server.Requests.Load(), got.out, got.err)
			}
			cache := filepath.Join(t.TempDir(), "cache")
			got := runCommand("", "check", "--git", "HEAD", "--fetch", "--fetch-cache", cache)
			if got.status != c.status || !strings.Contains(got.out, c.says) || c.status == exitRefused && !strings.Contains(got.out, "deploy/kustomization.yaml") {
				t.Errorf("status %d, want %d with %q\n%s%s", got.status, c.status, c.says, got.out, got.err)
			}
			if strings.Contains(got.out+got.err, ".fieldlock-fetched") {
				t.Errorf("a place that nobody has:\n%s%s", got.out, got.err)
			}
			if c.status == exitRefused && c.name != "a file" {
				server.Requests.Store(0)
				if again := runCommand("", "check", "--git", "HEAD", "--fetch", "--fetch-cache", cache); again.out != got.out || server.Requests.Load() > 0 {
					t.Errorf("%d requests, although the cache has the bases\n%s%s", server.Requests.Load(), again.out, again.err)
				}
			}
		})
	}
}
