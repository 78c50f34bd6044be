package fetch

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch/repotest"
)

// TestPrivateAddresses: what a change names in a private network is not asked, by any way that leads there.
func TestPrivateAddresses(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("HELM_CONFIG_HOME", t.TempDir())
	asked := 0
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer inside.Close()
	port := inside.URL[strings.LastIndex(inside.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1", "100.100.100.200", "[fd00::1]"} {
		for _, chart := range []Chart{
			{Repo: "http://" + host + port, Name: "shop", Version: "1.0.0"},
			{Repo: "oci://" + host + port, Name: "shop", Version: "1.0.0", Plain: true},
		} {
			if _, err := New("").Chart(chart); !errors.Is(err, errPrivate) {
				t.Errorf("%s: %v", chart.Repo, err)
			}
		}
		for _, base := range []string{"http://" + host + port + "/a/b?ref=v1.0.0", "http://" + host + port + "/a.yaml"} {
			if _, err := New("").Base(base); !errors.Is(err, errPrivate) {
				t.Errorf("%s: %v", base, err)
			}
		}
	}
	if asked > 0 {
		t.Errorf("%d requests to a private address", asked)
	}

	// A host that the settings name leads to another one that they do not name.
	outside := httptest.NewServer(http.RedirectHandler("http://localhost"+port+"/index.yaml", http.StatusFound))
	defer outside.Close()
	if _, err := New("", "127.0.0.1").Chart(Chart{Repo: outside.URL, Name: "shop", Version: "1.0.0"}); !errors.Is(err, errPrivate) || asked > 0 {
		t.Errorf("a redirect: %v, %d requests", err, asked)
	}
	git, _ := repotest.Git(t, map[string]string{"kustomization.yaml": "resources: []\n"})
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, git.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	defer redirecting.Close()
	if _, err := New("", "127.0.0.1").Base(redirecting.URL + "/base.git?ref=v1.0.0"); err == nil || git.Requests.Load() > 0 {
		t.Errorf("git follows a redirect: %v, %d requests", err, git.Requests.Load())
	}
}

// TestRedirects: charts may be kept on another host than their index, as those in releases of GitHub are, so redirects
// to other hosts are followed, but none from https to http.
func TestRedirects(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("HELM_CONFIG_HOME", t.TempDir())
	site := repotest.Classic(t, charts("1.0.0")...)
	elsewhere := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	leads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+r.URL.RequestURI(), http.StatusFound)
	})
	plain, secure := httptest.NewServer(leads), httptest.NewTLSServer(leads)
	defer plain.Close()
	defer secure.Close()
	client := New("", "127.0.0.1", "localhost")
	if _, err := client.Chart(Chart{Repo: plain.URL, Name: "shop", Version: "1.0.0"}); err != nil || site.Requests.Load() == 0 {
		t.Errorf("another host: %v, %d requests", err, site.Requests.Load())
	}
	client.http.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	asked := site.Requests.Load()
	_, err := client.Chart(Chart{Repo: secure.URL, Name: "shop", Version: "1.0.0"})
	if err == nil || !strings.Contains(err.Error(), "redirects from https to http") || site.Requests.Load() != asked {
		t.Errorf("from https to http: %v, %d requests", err, site.Requests.Load()-asked)
	}
}

// TestPublic: addresses that only some can reach are private, in every spelling.
func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "172.32.0.1": true, "100.128.0.1": true,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false, "0.0.0.0": false,
		"100.64.0.1": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false, "224.0.0.1": false, "ff02::1": false,
		"::ffff:10.0.0.1": false, "255.255.255.255": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestProxy: a proxy may be in a private network, and is not asked for what is.
func TestProxy(t *testing.T) {
	var hosts []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hosts = append(hosts, r.Host) }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	client := New("").http
	for at, fails := range map[string]bool{"http://charts.test/index.yaml": false, "http://10.0.0.1/index.yaml": true} {
		if _, err := client.Get(at); (err != nil) != fails {
			t.Errorf("%s: %v", at, err)
		}
	}
	if len(hosts) != 1 || hosts[0] != "charts.test" {
		t.Errorf("the proxy was asked for %v", hosts)
	}
}
