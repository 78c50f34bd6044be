package unit

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// With Options.Fetch, a chart that the tree does not have is fetched when a unit that needs it is rendered, so not for
// units that did not change. A worker finds it below helm.Fetched. It is not among the files that a unit reads: its
// repository, name and version are part of what defines the unit.

// chartDir returns the directory of a chart of a repository below helm.Fetched, and notes that the unit needs it.
func (u *Unit) chartDir(c fetch.Chart) string {
	dir := helm.FetchedDir(c.Repo, c.Name, c.Version)
	if u.fetched == nil {
		u.fetched = map[string]fetch.Chart{}
	}
	u.fetched[dir] = c
	return dir
}

// addFetches adds the charts and bases that a unit needs to its job: those that define it, those that its
// kustomizations name, and the dependencies of charts in the tree. A dependency that cannot be had is told only if the
// values enable it.
func (u *Unit) addFetches(client *fetch.Client, t Tree, job *worker.Job) error {
	if client == nil {
		return nil
	}
	add := func(dir string, files map[string][]byte) {
		for name, data := range files {
			job.Files[path.Join(dir, name)] = data
		}
	}
	for dir, c := range u.fetched {
		files, err := client.Chart(c)
		if err != nil {
			return &rendered.NotCovered{File: u.File,
				Reason: fmt.Sprintf("its chart %s of %s cannot be fetched: %v", c, withoutUser(c.Repo), err)}
		}
		add(dir, files)
	}
	wanted := slices.Clone(u.elsewhere)
	for _, name := range u.Reads {
		if path.Base(name) == "Chart.yaml" {
			list, _ := helm.Elsewhere(t, path.Dir(name)) // a mistake shows when the chart is rendered
			wanted = append(wanted, list...)
		}
	}
	for i := 0; i < len(wanted) && i < maxNeeded; i++ {
		d := wanted[i]
		dir := helm.FetchedDir(d.Repository, d.Name, d.Version)
		if slices.Contains(wanted[:i], d) {
			continue
		}
		var files map[string][]byte
		var err error
		if d.Name == "" {
			var b *fetch.Base
			if b, err = client.Base(d.Repository); err == nil {
				add(path.Join(dir, kustomize.FetchedTree), b.Files)
				files = map[string][]byte{kustomize.FetchedAt: []byte(b.At)}
				wanted = append(wanted, b.Elsewhere...)
			}
		} else {
			files, err = client.Chart(fetch.Chart{Repo: d.Repository, Name: d.Name, Version: d.Version})
		}
		if err != nil {
			files = helm.Unfetched(err)
		}
		add(dir, files)
	}
	return nil
}

// maxNeeded bounds what one unit can ask for, since bases can name others.
const maxNeeded = 200

// fluxChart returns the chart of a HelmRelease in a repository, or why it cannot be fetched.
func (d *definer) fluxChart(h *flux.HelmRelease) (c fetch.Chart, reason string) {
	source, ok := d.lookup(h.Source)
	if !ok {
		return c, fmt.Sprintf("the tree has no %s %s", h.Source.Kind, h.Source.Name)
	}
	spec, _ := source["spec"].(map[string]any)
	text := func(steps ...any) string {
		value, _ := fieldpath.Value(spec, steps...).(string)
		return value
	}
	for _, field := range [...]string{"secretRef", "certSecretRef", "proxySecretRef", "serviceAccountName"} {
		if spec[field] != nil {
			return c, fmt.Sprintf("the %s %s needs credentials (%s), which fieldlock does not read",
				h.Source.Kind, h.Source.Name, field)
		}
	}
	if provider := text("provider"); provider != "" && provider != "generic" {
		return c, fmt.Sprintf("the %s %s needs the credentials of %s", h.Source.Kind, h.Source.Name, provider)
	}
	c = fetch.Chart{Repo: text("url"), Name: h.Chart, Version: h.Version()}
	c.Plain, _ = spec["insecure"].(bool)
	switch {
	case strings.Contains(c.Repo+c.Name+c.Version, "${"):
		return c, fmt.Sprintf("the URL of the %s %s, its chart or version has a variable", h.Source.Kind, h.Source.Name)
	case h.Source.Kind == "HelmRepository":
		return c, ""
	case h.Source.Kind != "OCIRepository":
		return c, "charts of a " + h.Source.Kind + " are not fetched"
	}
	c.Repo, c.Name = path.Dir(strings.TrimPrefix(c.Repo, "oci://")), path.Base(c.Repo)
	c.Repo = "oci://" + c.Repo
	switch {
	case text("ref", "digest") != "":
		c.Version = text("ref", "digest")
	case text("ref", "semverFilter") != "":
		return c, fmt.Sprintf("the OCIRepository %s filters versions", h.Source.Name)
	case text("ref", "semver") != "":
		c.Version = text("ref", "semver")
	default:
		c.Tag, c.Version = true, text("ref", "tag")
		if c.Version == "" {
			c.Version = "latest"
		}
	}
	return c, ""
}

// argoChart returns the chart of a source of Argo CD. A repository without a scheme is a registry.
func argoChart(repoURL, name, version string) fetch.Chart {
	if !strings.Contains(repoURL, "://") {
		repoURL = "oci://" + repoURL
	}
	return fetch.Chart{Repo: repoURL, Name: name, Version: version}
}

// withoutUser returns a URL for messages.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "its repository"
	}
	return u.Redacted()
}
