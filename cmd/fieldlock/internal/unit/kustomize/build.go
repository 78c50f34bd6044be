package kustomize

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
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

// Build renders the kustomization in dir and returns its objects in the order in which `kubectl kustomize` prints them. The
// files are those that [Files] lists, or any tree that has them. With [Options].Origins, each object tells the file that it was
// written in, or the kustomization file that generates it, and the kustomization file that changed it last.
//
// It checks all references again and returns the errors of [Files]; a kustomization that kustomize refuses is a
// *rendered.Invalid. Kustomize cannot be interrupted: ctx is looked at before it starts.
//
// For origins the kustomization is built a second time, since the annotations in which kustomize keeps the origin of objects can change what is
// built: a JSON patch can test them, and hashes of names can depend on them.
func Build(ctx context.Context, files fs.FS, dir string, o Options) ([]rendered.Object, error) {
	w := newWalk(files, dir, o)
	file, err := w.check(dir)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	built, err := w.disk.build(dir, o)
	if err != nil {
		return nil, &rendered.Invalid{File: file.file, Err: shorten(err)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects := make([]rendered.Object, 0, built.Size())
	for _, r := range built.Resources() {
		content, err := r.AsYAML()
		if err != nil {
			return nil, &rendered.Invalid{File: file.file, Err: shorten(err)}
		}
		objects = append(objects, rendered.Object{YAML: content})
	}
	if o.Origins {
		w.disk.addOrigins(objects, built, dir, file, o)
	}
	return objects, nil
}

// check follows all references and returns the kustomization file of dir.
func (w *walk) check(dir string) (file reference, err error) {
	defer recovered(dir, &err)
	if err := w.directory(path.Join(top, dir), reference{}); err != nil {
		return file, err
	}
	w.disk.passed = nil
	_, file, err = w.read(dir)
	return file, err
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
	defer recovered(dir, &err)
	options := krusty.MakeDefaultOptions()
	if o.Anywhere {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	return krusty.MakeKustomizer(options).Run(d, path.Join(top, dir))
}

// addOrigins builds a second time, with origins, and adds them to the objects. Where that does not give the same objects,
// they stay without.
func (d *disk) addOrigins(objects []rendered.Object, built resmap.ResMap, dir string, file reference, o Options) {
	content, err := withOrigins(file.content)
	if err != nil {
		return
	}
	second := &disk{tree: d.tree, schema: d.schema, generated: map[string][]byte{file.file: content}}
	withOrigin, err := second.build(dir, o)
	if err != nil || withOrigin.Size() != built.Size() {
		return
	}
	plain := built.Resources()
	for i, r := range withOrigin.Resources() {
		if r.CurId() != plain[i].CurId() {
			return
		}
		objects[i].File, objects[i].Cause = second.origin(r, dir)
	}
}

// withOrigins adds the fields that ask for origins to a kustomization file.
func withOrigins(content []byte) ([]byte, error) {
	j, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(j, &fields); err != nil {
		return nil, err
	}
	for key := range fields {
		if strings.EqualFold(key, "buildMetadata") {
			delete(fields, key)
		}
	}
	fields["buildMetadata"], err = json.Marshal([]string{types.OriginAnnotations, types.TransformerAnnotations})
	if err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// origin returns the file that an object was written or generated in, and the kustomization that changed it last, if that is
// another file.
func (d *disk) origin(r *resource.Resource, dir string) (file, cause string) {
	if o, err := r.GetOrigin(); err == nil && o != nil {
		file = d.originFile(o, dir)
	}
	transformations, err := r.GetTransformations()
	if err != nil || len(transformations) == 0 {
		return file, ""
	}
	if cause = d.originFile(transformations[len(transformations)-1], dir); cause == file {
		cause = ""
	}
	return file, cause
}

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
	return name
}

// shorten returns an error of kustomize without the place where it sees the tree, and without the files that it quotes.
func shorten(err error) error {
	text := strings.ReplaceAll(err.Error(), top+"/", "")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return errors.New(strings.TrimSpace(text))
}
