package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/kustomize/api/pkg/loader"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
)

// Base is what a kustomization names by a URL: a kustomization in another repository with all files that it reads, or
// one file.
type Base struct {
	// Files are below the root of the repository, and At is the directory of the kustomization there, or the file.
	Files map[string][]byte
	At    string
	// Elsewhere is what the kustomization needs in turn.
	Elsewhere []helm.Dependency
}

// maxBase bounds the files of a base together.
const maxBase = 100 << 20

// Base gets what a kustomization names by a URL, with kustomize's own code, which runs git. Of a repository it has to
// be a tag or a full commit. Nobody may change the result.
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
			return c.file(ref)
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
	if err := c.hosts.public(at); err != nil {
		return nil, err
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
func (c *Client) file(ref string) (*Base, error) {
	data, err := c.download(ref)
	if err != nil {
		return nil, err
	}
	return &Base{Files: map[string][]byte{"resource.yaml": data}, At: "resource.yaml"}, nil
}

// silenceGit keeps git, which kustomize runs, from asking questions, and from following redirects: to which host they
// lead is known to git alone.
var silenceGit = sync.OnceFunc(func() {
	for name, value := range map[string]string{
		"GIT_TERMINAL_PROMPT": "0",
		"GIT_CONFIG_COUNT":    "1", "GIT_CONFIG_KEY_0": "http.followRedirects", "GIT_CONFIG_VALUE_0": "false",
	} {
		os.Setenv(name, value)
	}
})

// clone gets a kustomization of a repository.
func clone(ref, revision string) (*Base, error) {
	silenceGit()
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
