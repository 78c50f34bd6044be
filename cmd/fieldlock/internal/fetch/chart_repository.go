package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v4/pkg/helmpath"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"sigs.k8s.io/yaml"
)

// Charts are found in the two kinds of repositories as Helm finds them: https://helm.sh/docs/topics/chart_repository/
// and https://helm.sh/docs/topics/registries/. Helm's own code for it links its plugins, a WebAssembly runtime and
// OpenPGP.

// index is what the index.yaml of a classic repository lists: the versions of each chart.
type index map[string][]indexEntry

type indexEntry struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

// fromIndex gets a chart from a classic repository.
func (c *Client) fromIndex(want Chart) ([]byte, error) {
	c.mu.Lock()
	read, ok := c.indexes[want.Repo]
	if !ok {
		read = sync.OnceValues(func() (index, error) { return c.readIndex(want.Repo) })
		c.indexes[want.Repo] = read
	}
	c.mu.Unlock()
	charts, err := read()
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, e := range charts[want.Name] {
		versions = append(versions, e.Version)
	}
	version, err := choose(versions, want.Version)
	if err != nil {
		return nil, err
	}
	entry := charts[want.Name][slices.Index(versions, version)]
	if len(entry.URLs) == 0 {
		return nil, errors.New("the index of the repository has no URL for it")
	}
	at, err := resolve(want.Repo, entry.URLs[0])
	if err != nil {
		return nil, err
	}
	if below, isOCI := strings.CutPrefix(at, "oci://"); isOCI {
		repository, name := splitLast(below, "/")
		name, version, _ := strings.Cut(name, ":")
		return c.fromRegistry(Chart{Repo: "oci://" + repository, Name: name, Version: version})
	}
	data, err := c.download(at)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); entry.Digest != "" &&
		strings.TrimPrefix(entry.Digest, "sha256:") != hex.EncodeToString(sum[:]) {
		return nil, errors.New("it is not what the index of the repository says: its digest is another one")
	}
	return data, nil
}

// readIndex reads the index of a classic repository.
func (c *Client) readIndex(repository string) (index, error) {
	data, err := c.download(repository + "/index.yaml")
	if err != nil {
		return nil, err
	}
	var file struct {
		APIVersion string `json:"apiVersion"`
		Entries    index  `json:"entries"`
	}
	if err = yaml.Unmarshal(data, &file); err == nil && file.APIVersion == "" {
		err = errors.New("it has no apiVersion")
	}
	if err != nil {
		return nil, fmt.Errorf("the index of the repository cannot be read: %w", err)
	}
	return file.Entries, nil
}

// resolve returns the URL of a chart, which may be relative to the directory of the index.
func resolve(repository, reference string) (string, error) {
	to, err := url.Parse(reference)
	if err != nil || to.IsAbs() {
		return reference, err
	}
	base, err := url.Parse(repository + "/")
	if err != nil {
		return "", err
	}
	return base.ResolveReference(to).String(), nil
}

// splitLast cuts text around the last separator.
func splitLast(text, separator string) (before, after string) {
	i := strings.LastIndex(text, separator)
	return text[:max(i, 0)], text[i+1:]
}

// choose returns the version that Helm takes of those that a repository has: want itself, or else the newest one in the
// range want; "" is any release.
func choose(versions []string, want string) (string, error) {
	constraint, err := semver.NewConstraint(cmp.Or(want, "*"))
	if err != nil {
		return "", fmt.Errorf("%q is no version and no range: %w", want, err)
	}
	if slices.Contains(versions, want) {
		return want, nil
	}
	chosen, newest := "", (*semver.Version)(nil)
	for _, text := range versions {
		version, err := semver.NewVersion(text)
		if err == nil && constraint.Check(version) && (newest == nil || version.GreaterThan(newest)) {
			chosen, newest = text, version
		}
	}
	if newest == nil {
		return "", errors.New("the repository has no such version")
	}
	return chosen, nil
}

// fromRegistry gets a chart from an OCI registry.
func (c *Client) fromRegistry(want Chart) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	repository, err := remote.NewRepository(strings.TrimPrefix(want.Repo, "oci://") + "/" + want.Name)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = want.Plain
	repository.Client = &auth.Client{Client: c.http, Cache: auth.NewCache(), Credential: stored()}
	reference := tag(want.Version)
	if !want.Tag && !want.pinned() {
		if reference, err = newestTag(ctx, repository, want.Version); err != nil {
			return nil, err
		}
	}
	described, reader, err := repository.FetchReference(ctx, reference)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	data, err := content.ReadAll(reader, described)
	if err != nil {
		return nil, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	for _, layer := range manifest.Layers {
		switch layer.MediaType {
		case "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip": // the latter by old versions of Helm
			if layer.Size > maxDownload {
				return nil, fmt.Errorf("it has more than %d MB", maxDownload>>20)
			}
			return content.FetchAll(ctx, repository, layer)
		}
	}
	return nil, errors.New("its manifest has no layer with a chart")
}

// newestTag returns the tag of the newest version in a range.
func newestTag(ctx context.Context, repository *remote.Repository, want string) (string, error) {
	var versions []string
	err := repository.Tags(ctx, "", func(tags []string) error {
		for _, t := range tags {
			version := strings.ReplaceAll(t, "_", "+")
			if _, err := semver.StrictNewVersion(version); err == nil {
				versions = append(versions, version)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	version, err := choose(versions, want)
	return tag(version), err
}

// tag returns the tag of a version: tags have no plus signs, and Helm writes underscores.
func tag(version string) string { return strings.ReplaceAll(version, "+", "_") }

// stored returns the credentials that `helm registry login` has stored, or else `docker login`.
func stored() auth.CredentialFunc {
	options := credentials.StoreOptions{DetectDefaultNativeStore: true}
	var stores []credentials.Store
	if store, err := credentials.NewStore(helmpath.ConfigPath("registry/config.json"), options); err == nil {
		stores = append(stores, store)
	}
	if store, err := credentials.NewStoreFromDocker(options); err == nil {
		stores = append(stores, store)
	}
	if len(stores) == 0 {
		return nil
	}
	return credentials.Credential(credentials.NewStoreWithFallbacks(stores[0], stores[1:]...))
}
