// Package kustomize renders the kustomizations of a tree of files, with kustomize's own code.
//
// A kustomization is a directory with one of the files kustomization.yaml, kustomization.yml and Kustomization. The
// file names resources, patches, generators and other kustomizations. [Find] lists the kustomizations of a tree and
// says which of them others include. [Files] lists the files that one of them reads. [Build] renders it: it returns the
// objects that `kubectl kustomize DIR` prints, in the same order, and the file that each comes from.
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
// # Origins
//
// Kustomize can keep the origin of each object in annotations of it while it builds. [Build] asks for that and takes
// the annotations out again, unless the kustomization asks for them, too. Where they could change what is built, it
// builds twice, with and without. Kustomize does not tell which objects a patch or another transformer changed, so the
// cause of an object is the last kustomization that changes any, and none where the object is just as it is written in
// its file.
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
//	build    what kustomize prints, and where each object comes from
//	find     the kustomizations of a tree
//	files    the files that a kustomization reads: references are followed
//	chart    charts in place of helmCharts
//	plugin   generators, transformers and validators
//	remote   what was fetched in the place of URLs
//	lacking  what a kustomization is built without
//	print    objects as JSON
//	walk     the state of a walk along references, and its looks at single files
//	disk     the tree as kustomize sees it
package kustomize

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// maxMessage is how much of an error of kustomize is kept: some quote whole files.
const maxMessage = 2000

// Build renders the kustomization in dir and returns its objects in the order in which `kubectl kustomize` prints them.
// The files are those that [Files] lists, or any tree that has them. Each object tells the file that it was written in,
// or the kustomization file that generates it, and, if it differs from what is written there, the last kustomization
// file that had the chance to change it: kustomize does not tell which objects a transformer really changed.
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
	if err := w.replaceRemotes(); err != nil {
		return nil, err
	}
	if err := w.renderCharts(o); err != nil {
		return nil, err
	}
	if content, ok := w.disk.generated[k.file]; ok {
		k.content = content
	}
	built, origins, err := w.build(k, o)
	if err != nil {
		return nil, &rendered.Invalid{File: k.file, Err: shorten(err)}
	}
	written := map[string][]any{}
	objects := make([]rendered.Object, 0, built.Size())
	for i, r := range built.Resources() {
		content, err := o.print(r)
		if err != nil {
			return nil, &rendered.Invalid{File: k.file, Err: shorten(err)}
		}
		object := rendered.Object{YAML: content}
		if origins != nil {
			object.File = origins[i]
			object.Cause = w.cause(k.dir, object, written)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// print returns the text of an object.
func (o Options) print(r *resource.Resource) ([]byte, error) {
	if o.JSON {
		return printJSON(r)
	}
	return r.AsYAML()
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
	k, _, err = w.read(dir)
	return k, err
}

// build builds the kustomization, and returns the origins of its objects; nil where they cannot be told. Kustomize
// keeps origins in annotations of the objects while it builds. Where these could change what is built, it builds twice.
func (w *walk) build(k *kustomization, o Options) (built resmap.ResMap, origins []string, err error) {
	if o.NoOrigins {
		built, err = w.disk.build(k.dir, o)
		return built, nil, err
	}
	content, err := withOrigins(k.content)
	if err != nil {
		return nil, nil, err
	}
	tracked := &disk{schema: w.disk.schema, tree: w.disk.tree, generated: maps.Clone(w.disk.generated), sources: maps.Clone(w.disk.sources)}
	tracked.generate(k.file, content, k.file)
	if len(k.BuildMetadata) > 0 || w.readsAnnotations() {
		if built, err = w.disk.build(k.dir, o); err != nil {
			return nil, nil, err
		}
		second, err := tracked.build(k.dir, o)
		if err != nil || !sameObjects(built, second) {
			return built, nil, nil
		}
		return built, tracked.origins(second, k.dir), nil
	}
	if built, err = tracked.build(k.dir, o); err != nil {
		return nil, nil, err
	}
	origins = tracked.origins(built, k.dir)
	return built, origins, built.RemoveOriginAnnotations() // as kustomize does at the end of a build
}

// readsAnnotations tells whether what is built can depend on the annotations that keep origins: a file names them, the
// hash of a name is made of a whole object, or something copies or compares all annotations of an object. Patches of
// single annotations cannot tell whether there are others: kustomize has some of its own on every object that it
// patches.
func (w *walk) readsAnnotations() bool {
	for name := range w.files {
		content, err := w.anyContent(name)
		if err != nil {
			continue // a directory that a link leads to
		}
		if bytes.Contains(content, []byte("needsHashSuffix")) || originAnnotation.Match(content) {
			return true
		}
		if !w.objects[name] && (allAnnotations.Match(content) || annotationsPointer.Match(content) && readingPatch.Match(content)) {
			return true
		}
	}
	return false
}

// originAnnotation is a part of the name of an annotation that keeps an origin, also in a JSON patch.
var originAnnotation = regexp.MustCompile(`config\.kubernetes\.io(/|~1)(origin|transformations)`)

// allAnnotations is the path of a replacement to the annotations of an object, at the end of a line or of a JSON value.
var allAnnotations = regexp.MustCompile(`(?m)metadata\.annotations["']?[ \t\r]*($|[,}\]#])`)

// annotationsPointer is such a path in a JSON patch, and readingPatch a word of operations that depend on what is
// there.
var (
	annotationsPointer = regexp.MustCompile(`(?m)/metadata/annotations["']?[ \t\r]*($|[,}\]#])`)
	readingPatch       = regexp.MustCompile(`\b(test|copy|move)\b`)
)

// sameObjects tells whether two builds gave objects of the same names in the same order.
func sameObjects(a, b resmap.ResMap) bool {
	return slices.EqualFunc(a.Resources(), b.Resources(), func(a, b *resource.Resource) bool { return a.CurId() == b.CurId() })
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
	if o.Anywhere {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	return krusty.MakeKustomizer(options).Run(d, path.Join(top, dir))
}

// withOrigins adds the fields that ask for origins to a kustomization file.
func withOrigins(content []byte) ([]byte, error) {
	return withFields(content, func(fields map[string]json.RawMessage) (err error) {
		for key := range fields {
			if strings.EqualFold(key, "buildMetadata") {
				delete(fields, key)
			}
		}
		fields["buildMetadata"], err = json.Marshal([]string{types.OriginAnnotations})
		return err
	})
}

// origins returns the files of all objects, "" where kustomize does not tell.
func (d *disk) origins(built resmap.ResMap, dir string) []string {
	all := make([]string, built.Size())
	for i, r := range built.Resources() {
		if o, err := r.GetOrigin(); err == nil && o != nil {
			all[i] = d.originFile(o, dir)
		}
	}
	return all
}

// cause returns the last kustomization file that had the chance to change an object, if that is not the file of the
// object, and the object is not in its file just as it was rendered. Kustomize could tell, but notes each transformer
// on every object, which takes longer than the build.
func (w *walk) cause(dir string, o rendered.Object, written map[string][]any) string {
	_, cause := w.changed(dir, o.File, map[string]bool{})
	if cause == "" || cause == o.File || w.unchanged(o, written) {
		return ""
	}
	return cause
}

// changed tells whether the objects of a file are among those of the kustomization in dir, and which kustomization file
// below it changes them last.
func (w *walk) changed(dir, file string, seen map[string]bool) (found bool, cause string) {
	k := w.known[dir]
	if k == nil || seen[dir] {
		return false, ""
	}
	seen[dir] = true
	found = k.holds[file]
	for _, included := range k.includes {
		among, below := w.changed(included, file, seen)
		if among {
			found, cause = true, below
		}
	}
	for _, included := range k.includes {
		if c := w.known[included]; c != nil && c.Kind == types.ComponentKind && c.transforms() {
			cause = c.file
		}
	}
	if k.transforms() {
		cause = k.file
	}
	return found, cause
}

// transforms tells whether a kustomization changes objects that it does not make.
func (k *kustomization) transforms() bool {
	rest := k.Kustomization
	rest.MetaData, rest.OpenAPI, rest.Resources, rest.Components, rest.Crds, rest.Configurations = nil, nil, nil, nil, nil, nil
	rest.ConfigMapGenerator, rest.SecretGenerator, rest.Generators, rest.GeneratorOptions = nil, nil, nil, nil
	rest.HelmGlobals, rest.HelmCharts, rest.Validators, rest.SortOptions, rest.BuildMetadata = nil, nil, nil, nil, nil
	return rest.CheckEmpty() == nil
}

// maxWritten is the largest file that unchanged reads.
const maxWritten = 1 << 20

// unchanged tells whether an object is in its file as it was rendered. It keeps the objects of files that it has read.
func (w *walk) unchanged(o rendered.Object, written map[string][]any) bool {
	objects, ok := written[o.File]
	if !ok {
		content, err := w.content(o.File, maxWritten)
		if err != nil {
			return false
		}
		for _, document := range documentEnd.Split(string(content), -1) {
			var object any
			if yaml.Unmarshal([]byte(document), &object) == nil {
				objects = append(objects, object)
			}
		}
		written[o.File] = objects
	}
	var object any
	if len(objects) == 0 || yaml.Unmarshal(o.YAML, &object) != nil {
		return false
	}
	return slices.ContainsFunc(objects, func(have any) bool { return reflect.DeepEqual(have, object) })
}

// documentEnd separates the documents of a file.
var documentEnd = regexp.MustCompile(`(?m)^---`)

// originFile returns the name of the file that an origin names, relative to dir.
func (d *disk) originFile(o *resource.Origin, dir string) string {
	p := o.Path
	if p == "" {
		p = o.ConfiguredIn
	}
	if p == "" {
		return ""
	}
	name, isDir, err := d.find(path.Join(top, dir, p))
	if err != nil || isDir {
		return ""
	}
	if source, ok := d.sources[name]; ok {
		return source
	}
	return name
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
