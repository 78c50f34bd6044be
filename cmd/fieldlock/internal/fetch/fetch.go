// Package fetch gets charts from classic repositories and OCI registries, and bases of kustomizations from other
// repositories, with kustomize's code. A version that is pinned is kept in a cache for good; a range is resolved anew
// in each run. It is the only package that downloads anything, and only --fetch asks for it.
//
// Registries get the credentials that `helm registry login` or `docker login` have stored; classic repositories get
// none. A change under test chooses the URLs, so addresses of private networks are refused unless the settings name
// their hosts.
package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
)

// Chart names a chart of a repository.
type Chart struct {
	// Repo is the URL of a repository: http, https, or oci for a registry and the path there without the name of the
	// chart.
	Repo, Name string
	// Version is a version, a range of versions, or "" for the newest one. In a registry, it can be a digest,
	// "sha256:…", or with Tag any tag.
	Version string
	Tag     bool
	// Plain connects to a registry without TLS.
	Plain bool
}

func (c Chart) String() string {
	return strings.TrimSpace(c.Name + " " + c.Version)
}

// pinned reports whether the chart never changes, as far as its publisher is honest.
func (c Chart) pinned() bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(c.Version, "v"))
	return err == nil || strings.HasPrefix(c.Version, "sha256:")
}

// timeout bounds one download, and total all of a run: after that nothing is begun.
const (
	timeout = time.Minute
	total   = 5 * time.Minute
)

var errTotal = fmt.Errorf("downloads have taken more than %v", total)

// Client gets charts, each one once. Safe for concurrent use.
type Client struct {
	dir   string
	until time.Time
	hosts hosts
	http  *http.Client

	mu      sync.Mutex
	charts  map[Chart]func() (map[string][]byte, error)
	indexes map[string]func() (index, error)
	bases   map[string]func() (*Base, error)
}

// New returns a client with a cache in a directory, which it makes when it has something to keep; "" for none. It
// connects to addresses of private networks only for the given hosts: names or addresses, without ports.
func New(dir string, private ...string) *Client {
	allowed := hosts(private)
	return &Client{
		dir: dir, until: time.Now().Add(total), hosts: allowed, http: allowed.client(),
		charts: map[Chart]func() (map[string][]byte, error){}, indexes: map[string]func() (index, error){},
		bases: map[string]func() (*Base, error){},
	}
}

// Chart returns the files of a chart by their names below its directory. Nobody may change them. The error says why the
// chart cannot be had.
func (c *Client) Chart(want Chart) (map[string][]byte, error) {
	want.Repo = strings.TrimSuffix(want.Repo, "/")
	c.mu.Lock()
	get, ok := c.charts[want]
	if !ok {
		get = sync.OnceValues(func() (map[string][]byte, error) { return c.get(want) })
		c.charts[want] = get
	}
	c.mu.Unlock()
	return get()
}

// get gets a chart from the cache or its repository.
func (c *Client) get(want Chart) (map[string][]byte, error) {
	at, err := url.Parse(want.Repo)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of a repository", want.Repo)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", want.Repo, want.Name, want.Version))
	kept := filepath.Join(c.dir, "charts", hex.EncodeToString(sum[:])+".tgz")
	keep := want.pinned() && c.dir != ""
	if keep {
		if data, err := os.ReadFile(kept); err == nil {
			if files, err := unpack(data); err == nil {
				return files, nil
			}
		}
	}
	if time.Now().After(c.until) {
		return nil, errTotal
	}
	var data []byte
	switch at.Scheme {
	case "oci":
		data, err = c.fromRegistry(want)
	case "http", "https":
		data, err = c.fromIndex(want)
	default:
		err = fmt.Errorf("charts are not fetched from %s URLs", at.Scheme)
	}
	if err != nil {
		return nil, err
	}
	files, err := unpack(data)
	if err == nil && keep {
		err = write(kept, data)
	}
	return files, err
}

// unpack returns the files of a packed chart. Helm's reader bounds their size.
func unpack(data []byte) (map[string][]byte, error) {
	list, err := archive.LoadArchiveFiles(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is not a packed chart: %w", err)
	}
	files := map[string][]byte{}
	for _, f := range list {
		files[f.Name] = f.Data
	}
	delete(files, ".helmignore") // Helm has left out what it names
	return files, nil
}

// write writes a file as a whole, or not at all.
func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// download gets what is at a URL.
func (c *Client) download(at string) ([]byte, error) {
	response, err := c.http.Get(at)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", at, response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxDownload+1))
	if err == nil && len(data) > maxDownload {
		err = fmt.Errorf("it has more than %d MB", maxDownload>>20)
	}
	return data, err
}

// maxDownload bounds one download.
const maxDownload = 100 << 20
