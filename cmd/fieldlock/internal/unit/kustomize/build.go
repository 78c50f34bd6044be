// Package kustomize renders the kustomizations of a tree of files, with kustomize's own code.
//
// A kustomization is a directory with one of the files kustomization.yaml, kustomization.yml and Kustomization. The
// file names resources, patches, generators and other kustomizations. [Find] lists the kustomizations of a tree and
// says which of them others include. [Files] lists the files that one of them reads. [Build] renders it: it returns the
// objects that `kubectl kustomize DIR` prints, in the same order.
//
// # What it touches
//
// A tree is an fs.FS. Nothing but the tree is read: no disk, no network, no environment; no program runs. Kustomize
// itself would clone remote bases with git, download URLs and run plugins, so [Files] and [Build] check every reference
// of every kustomization before kustomize sees it. A reference that the tree cannot serve is a *rendered.NotCovered;
// one that kustomize refuses, too, is a *rendered.Invalid. Both tell the file and the line of the reference.
//
// Links are followed where the tree shows them (fs.ReadLinkFS); they may not leave the tree. Kustomize looks up
// relative references from where a link leads to, so [Files] lists the links that it passes beside the files. A copy of
// the tree that is handed to [Build] must keep them as links.
//
// # Charts
//
// The charts of helmCharts that the tree has are rendered by Helm's engine; others are not covered. A release without a
// name, for which helm makes one up, is named after the chart. Objects of charts come after the resources of the
// kustomization and before what it generates.
//
// # Global state
//
// Kustomize keeps the OpenAPI schema of the kustomization that it builds in package variables and panics on some
// inputs. [Build] therefore builds one kustomization at a time, resets the schema before and after, and turns panics
// into errors: it may be called from several goroutines, which wait for each other. It cannot be interrupted, and a
// hostile kustomization can keep it busy or make it use much memory; call it in a process that can be killed. Kustomize
// prints warnings about deprecated fields to standard error, and logs others. [Files] and [Find] use no global state,
// and their cost is bounded by the size of the kustomization files that they read.
//
// # Chapters
//
// The chapters, each of which uses only those below it:
//
//	build    what kustomize prints
//	find     the kustomizations of a tree
//	files    the files that a kustomization reads: references are followed
//	chart    charts in place of helmCharts
//	plugin   generators, transformers and validators
//	remote   what was fetched in the place of URLs
//	lacking  what a kustomization is built without
//	walk     the state of a walk along references, and its looks at single files
//	disk     the tree as kustomize sees it
package kustomize

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// maxMessage is how much of an error of kustomize is kept: some quote whole files.
const maxMessage = 2000

// Build renders the kustomization in dir and returns its objects in the order in which `kubectl kustomize` prints them.
// The files are those that [Files] lists, or any tree that has them. Which file an object was written in is not told:
// kustomize would keep that in annotations, which takes several times as long and can change what is built.
//
// It checks all references again and returns the errors of [Files]; a kustomization that kustomize refuses is a
// *rendered.Invalid. Kustomize cannot be interrupted: ctx is looked at before it starts.
func Build(ctx context.Context, files fs.FS, dir string, o Options) ([]rendered.Object, error) {
	w := newWalk(files, dir, o)
	k, err := w.check(dir)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := w.leaveOutEncrypted(); err != nil {
		return nil, err
	}
	if err := w.renderCharts(o); err != nil {
		return nil, err
	}
	if err := w.rewrite(); err != nil {
		return nil, err
	}
	built, err := w.disk.build(k.dir, o)
	if err != nil {
		return nil, &rendered.Invalid{File: k.file, Err: shorten(err)}
	}
	objects := make([]rendered.Object, 0, built.Size())
	for _, r := range built.Resources() {
		content, err := o.print(r)
		if err != nil {
			return nil, &rendered.Invalid{File: k.file, Err: shorten(err)}
		}
		objects = append(objects, rendered.Object{YAML: content})
	}
	return objects, nil
}

// print returns the text of an object. Kustomize's MarshalJSON prints YAML and reads it again, so only objects whose YAML
// has more than JSON, such as a repeated key, are left to it.
func (o Options) print(r *resource.Resource) ([]byte, error) {
	if !o.JSON {
		return r.AsYAML()
	}
	var object map[string]any
	if r.YNode().Decode(&object) == nil {
		if text, err := json.Marshal(object); err == nil {
			return text, nil
		}
	}
	return r.MarshalJSON()
}

// check follows all references and returns the kustomization of dir.
func (w *walk) check(dir string) (k *kustomization, err error) {
	defer recovered(dir, &err)
	if err := w.start(dir); err != nil {
		return nil, err
	}
	if err := w.checkNamespaces(); err != nil {
		return nil, err
	}
	w.disk.passed = nil
	dir, _, err = w.disk.find(path.Join(top, dir))
	if err != nil {
		return nil, err
	}
	return w.read(dir)
}

// rewrite replaces the kustomization files that name what kustomize does not get: references to what is elsewhere,
// generators without their files, and charts.
func (w *walk) rewrite() error {
	for _, k := range w.known {
		if len(k.replaced)+len(k.without)+len(k.HelmCharts) == 0 {
			continue
		}
		content, err := k.rewritten()
		if err != nil {
			return &rendered.Invalid{File: k.file, Err: err}
		}
		w.disk.generate(k.file, content)
	}
	return nil
}

// rewritten returns the kustomization as kustomize gets it. It always has a list of resources: a file without any field
// would be a mistake.
func (k *kustomization) rewritten() ([]byte, error) {
	spec := struct {
		types.Kustomization `json:",inline"`
		Resources           []string `json:"resources"`
	}{withGenerators(k.Kustomization, func(of [2]string) bool { return !k.without[of] }),
		append(k.replacedIn(k.Resources), k.charts...)}
	spec.Components, spec.Generators = k.replacedIn(k.Components), k.replacedIn(k.Generators)
	spec.HelmCharts, spec.HelmGlobals = nil, nil
	return json.Marshal(spec)
}

// replacedIn returns a list of references with what takes the place of some.
func (k *kustomization) replacedIn(list []string) []string {
	kept := []string{}
	for _, ref := range list {
		if by, ok := k.replaced[ref]; ok {
			ref = by
		}
		if ref != "" {
			kept = append(kept, ref)
		}
	}
	return kept
}

// building is held while kustomize builds: its OpenAPI schema is a package variable.
var building sync.Mutex

// build runs kustomize.
func (d *disk) build(dir string, o Options) (built resmap.ResMap, err error) {
	building.Lock()
	defer building.Unlock()
	if d.schema { // otherwise the builtin schema stays, which takes long to read
		openapi.ResetOpenAPI()
		defer openapi.ResetOpenAPI()
	}
	d.found = map[string]place{}
	defer func() { d.found = nil }()
	defer recovered(dir, &err)
	options := krusty.MakeDefaultOptions()
	if o.Anywhere || o.Outside != nil && *o.Outside != nil {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	return krusty.MakeKustomizer(options).Run(d, path.Join(top, dir))
}

// pointer is how kustomize names a generator in some errors: by addresses in memory, of it and of its origin.
var pointer = regexp.MustCompile(` &\{(?:0x[0-9a-f]+|<nil>)(?: (?:0x[0-9a-f]+|<nil>))*\}`)

// shorten returns an error of kustomize without the place where it sees the tree, and without the files that it quotes.
func shorten(err error) error {
	text := pointer.ReplaceAllString(strings.ReplaceAll(err.Error(), top+"/", ""), "")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return errors.New(strings.TrimSpace(text))
}
