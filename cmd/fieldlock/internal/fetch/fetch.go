// Package fetch gets charts from classic repositories and OCI registries, with Helm's own code, and bases of kustomizations from
// other repositories, with kustomize's. A version that is pinned is kept in a cache for good; a range is resolved anew in each
// run. It is the only package that downloads anything, and only --fetch asks for it.
//
// Registries get the credentials that `helm registry login` or `docker login` have stored; classic repositories get none.
package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/repo/v1"
)

// Chart names a chart of a repository.
type Chart struct {
	// Repo is the URL of a repository: http, https, or oci for a registry and the path there without the name of the chart.
	Repo, Name string
	// Version is a version, a range of versions, or "" for the newest one. In a registry, it can be a digest, "sha256:…", or
	// with Tag any tag.
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

	mu      sync.Mutex
	charts  map[Chart]func() (map[string][]byte, error)
	indexes map[string]func() (*repo.IndexFile, error)
	bases   map[string]func() (*Base, error)
}

// New returns a client with a cache in a directory, which it makes when it has something to keep; "" for none.
func New(dir string) *Client {
	slog.SetLogLoggerLevel(slog.LevelError) // Helm's remarks about charts are not for users of fieldlock
	os.Setenv("GIT_TERMINAL_PROMPT", "0")   // kustomize runs git, which nobody can answer
	return &Client{
		dir: dir, until: time.Now().Add(total), charts: map[Chart]func() (map[string][]byte, error){}, indexes: map[string]func() (*repo.IndexFile, error){}, bases: map[string]func() (*Base, error){},
	}
}

// Chart returns the files of a chart by their names below its directory. Nobody may change them. The error says why the chart
// cannot be had.
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
		data, err = c.pull(want)
	case "http", "https":
		data, err = c.download(want)
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

// pull gets a chart from a registry.
func (c *Client) pull(want Chart) ([]byte, error) {
	options := []registry.ClientOption{registry.ClientOptWriter(io.Discard), registry.ClientOptHTTPClient(&http.Client{Transport: registry.NewTransport(false), Timeout: timeout})}
	if want.Plain {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return nil, err
	}
	ref := strings.TrimPrefix(want.Repo, "oci://") + "/" + want.Name
	switch {
	case strings.HasPrefix(want.Version, "sha256:"):
		ref += "@" + want.Version
	case want.Tag, want.pinned():
		ref += ":" + want.Version
	default:
		tags, err := client.Tags(ref)
		if err != nil {
			return nil, err
		}
		tag, err := registry.GetTagMatchingVersionOrConstraint(tags, want.Version)
		if err != nil {
			return nil, err
		}
		ref += ":" + tag
	}
	result, err := client.Pull(ref)
	if err != nil {
		return nil, err
	}
	return result.Chart.Data, nil
}

// download gets a chart from a classic repository.
func (c *Client) download(want Chart) ([]byte, error) {
	c.mu.Lock()
	index, ok := c.indexes[want.Repo]
	if !ok {
		index = sync.OnceValues(func() (*repo.IndexFile, error) { return c.index(want.Repo) })
		c.indexes[want.Repo] = index
	}
	c.mu.Unlock()
	entries, err := index()
	if err != nil {
		return nil, err
	}
	entry, err := entries.Get(want.Name, want.Version)
	if err != nil {
		return nil, fmt.Errorf("the repository has no such version: %w", err)
	}
	if len(entry.URLs) == 0 {
		return nil, errors.New("the index of the repository has no URL for it")
	}
	at, err := repo.ResolveReferenceURL(want.Repo, entry.URLs[0])
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(at, "oci://") {
		name := at[strings.LastIndexByte(at, '/')+1:]
		name, version, _ := strings.Cut(name, ":")
		return c.pull(Chart{Repo: at[:strings.LastIndexByte(at, '/')], Name: name, Version: version})
	}
	data, err := httpGet(at)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); entry.Digest != "" && strings.TrimPrefix(entry.Digest, "sha256:") != hex.EncodeToString(sum[:]) {
		return nil, errors.New("it is not what the index of the repository says: its digest is another one")
	}
	return data, nil
}

// index reads the index of a classic repository.
func (c *Client) index(repository string) (*repo.IndexFile, error) {
	data, err := httpGet(repository + "/index.yaml")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fieldlock-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "index.yaml")
	if err := write(name, data); err != nil {
		return nil, err
	}
	index, err := repo.LoadIndexFile(name)
	if err != nil {
		return nil, fmt.Errorf("the index of the repository cannot be read: %w", err)
	}
	index.SortEntries()
	return index, nil
}

// httpGet gets what is at a URL.
func httpGet(at string) ([]byte, error) {
	g, err := getter.NewHTTPGetter(getter.WithTimeout(timeout))
	if err != nil {
		return nil, err
	}
	data, err := g.Get(at)
	if err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}
