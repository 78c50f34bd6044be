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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/repo/v1"
	"sigs.k8s.io/kustomize/api/pkg/loader"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
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

// Base is what a kustomization names by a URL: a kustomization in another repository with all files that it reads, or one file.
type Base struct {
	// Files are below the root of the repository, and At is the directory of the kustomization there, or the file.
	Files map[string][]byte
	At    string
	// Elsewhere is what the kustomization needs in turn.
	Elsewhere []helm.Dependency
}

// maxBase bounds the files of a base together.
const maxBase = 100 << 20

// Base gets what a kustomization names by a URL, with kustomize's own code, which runs git. Of a repository it has to be a tag or a
// full commit. Nobody may change the result.
func (c *Client) Base(ref string) (*Base, error) {
	c.mu.Lock()
	get, ok := c.bases[ref]
	if !ok {
		get = sync.OnceValues(func() (*Base, error) { return c.base(ref) })
		c.bases[ref] = get
	}
	c.mu.Unlock()
	return get()
}

func (c *Client) base(ref string) (*Base, error) {
	at, query, _ := strings.Cut(ref, "?")
	lower := strings.ToLower(at)
	isURL := strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://")
	if !isURL && !strings.HasPrefix(lower, "github.com/") {
		return nil, errors.New("only https, http and github.com/ are fetched")
	}
	if time.Now().After(c.until) {
		return nil, errTotal
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	revision := values.Get("ref")
	if revision == "" {
		revision = values.Get("version") // another name of kustomize for it
	}
	switch path.Ext(at) {
	case ".yaml", ".yml", ".json":
		if isURL && revision == "" {
			return file(ref)
		}
	}
	if !isRevision(revision) {
		return nil, errors.New("it names no tag or full commit (?ref=…), and only these are fetched")
	}
	sum := sha256.Sum256([]byte(at + "\x00" + revision))
	kept := filepath.Join(c.dir, "bases", hex.EncodeToString(sum[:])+".json")
	if data, err := os.ReadFile(kept); err == nil && c.dir != "" {
		b := &Base{}
		if json.Unmarshal(data, b) == nil && b.At != "" {
			return b, nil
		}
	}
	b, err := clone(at+"?ref="+revision+"&submodules=false&timeout=60s", revision)
	if err != nil || c.dir == "" {
		return b, err
	}
	data, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return b, write(kept, data)
}

// isRevision reports whether git can take a text for nothing but a revision.
func isRevision(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]*$`).MatchString(text)
}

// file gets one file.
func file(ref string) (*Base, error) {
	data, err := loader.NewFileLoaderAtCwd(filesys.MakeFsOnDisk()).Load(ref)
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBase:
		return nil, fmt.Errorf("it has more than %d MB", maxBase>>20)
	}
	return &Base{Files: map[string][]byte{"resource.yaml": data}, At: "resource.yaml"}, nil
}

// clone gets a kustomization of a repository.
func clone(ref, revision string) (*Base, error) {
	l, err := loader.NewFileLoaderAtCwd(filesys.MakeFsOnDisk()).New(ref)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Cleanup() }()
	top := l.Repo()
	fetched, err := os.ReadFile(filepath.Join(top, ".git", "FETCH_HEAD"))
	if err != nil {
		return nil, err
	}
	commit, what, _ := strings.Cut(string(fetched), "\t")
	if commit != revision && !strings.HasPrefix(strings.TrimLeft(what, "\t"), "tag '") {
		return nil, fmt.Errorf("%s is neither a tag nor a full commit, and only these are fetched", revision)
	}
	below, err := filepath.Rel(top, l.Root())
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b := &Base{Files: map[string][]byte{}, At: filepath.ToSlash(below)}
	names, err := kustomize.Files(root.FS(), b.At, kustomize.Options{Elsewhere: &b.Elsewhere})
	if err != nil {
		return nil, err
	}
	size := 0
	for _, name := range names {
		if name == ".git" || strings.HasPrefix(name, ".git/") {
			return nil, fmt.Errorf("it reads %s", name)
		}
		if b.Files[name], err = fs.ReadFile(root.FS(), name); err != nil {
			return nil, err
		}
		if size += len(b.Files[name]); size > maxBase {
			return nil, fmt.Errorf("its files have more than %d MB", maxBase>>20)
		}
	}
	return b, nil
}
