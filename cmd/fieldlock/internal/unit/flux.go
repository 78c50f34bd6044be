package unit

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// definedSpec is how a unit is rendered that an object defines.
type definedSpec struct {
	Object map[string]any
	// InTree tells of each source whether it is the tree.
	InTree []bool
	// Paths are those of the sources in an ApplicationSet's templates, without those of other repositories.
	Paths []string
	// Referenced are the ConfigMaps and Secrets that the object refers to, as far as the tree has them.
	Referenced []map[string]any
	Ignore     string         // of the source
	Chart      map[string]any // the HelmChart of a HelmRelease that refers to one
	// Sources tell what decides about a source that is not in the tree.
	Sources []map[string]any
	// Fetched has, for each source that is a chart of a repository, the directory to which it is fetched, otherwise "".
	Fetched     []string
	KubeVersion string
	APIVersions []string
	Upgrade     bool // of a HelmRelease
}

// undecided are the fields of definitions that decide when a unit is applied and what is done about failures, not what it applies.
var undecided = [...]string{"interval", "timeout", "retryInterval", "dependsOn", "wait", "healthChecks", "healthCheckExprs", "maxHistory", "test", "rollback", "driftDetection", "revisionHistoryLimit", "info"}

// deciding returns the specification without what does not decide about the objects of the unit.
func (s definedSpec) deciding() []byte {
	spec, _ := s.Object["spec"].(map[string]any)
	spec = maps.Clone(spec)
	for _, field := range undecided {
		delete(spec, field)
	}
	s.Object = map[string]any{"apiVersion": s.Object["apiVersion"], "kind": s.Object["kind"], "name": nameOf(s.Object), "spec": spec}
	return encode(s)
}

// referenced returns the objects of a reference by kind, namespace and name. A namespace that an object does not give is any.
func (s *definedSpec) referenced(kind, namespace, name string) (map[string]any, bool) {
	for _, o := range s.Referenced {
		in, _ := yamldoc.At(o, "metadata", "namespace").(string)
		if o["kind"] == kind && yamldoc.At(o, "metadata", "name") == name && (in == "" || in == namespace) {
			return o, true
		}
	}
	return nil, false
}

// defines returns the specification of a unit that an object defines.
func (d *definer) defines(o Object, references []flux.Reference) *definedSpec {
	spec := &definedSpec{Object: o.Object, KubeVersion: d.KubeVersion, APIVersions: d.APIVersions}
	for _, r := range references {
		if found, ok := d.lookup(r); ok {
			spec.Referenced = append(spec.Referenced, found)
		}
	}
	return spec
}

// deciding returns the fields that decide about the content of a source, not how often it is read.
func deciding(spec map[string]any) map[string]any {
	decides := map[string]any{}
	for _, field := range [...]string{
		"url", "ref", "chart", "version", "sourceRef", "valuesFile", "valuesFiles", "layerSelector", "include", "ignore", "endpoint", "bucketName", "prefix",
	} {
		if value, ok := spec[field]; ok {
			decides[field] = value
		}
	}
	return decides
}

// sources returns what decides about the content of a source, and of its own source.
func (d *definer) sources(r flux.Reference) []map[string]any {
	source, ok := d.lookup(r)
	if !ok {
		return nil
	}
	spec, _ := yamldoc.At(source, "spec").(map[string]any)
	all := []map[string]any{deciding(spec)}
	if r.Kind == "HelmChart" {
		of := flux.Reference{Namespace: r.Namespace}
		of.Kind, _ = yamldoc.At(source, "spec", "sourceRef", "kind").(string)
		of.Name, _ = yamldoc.At(source, "spec", "sourceRef", "name").(string)
		all = append(all, d.sources(of)...)
	}
	return all
}

// unread returns the unit of a definition that has a field of the wrong type, nil for one that is incomplete. Another unit may read the file
// and print the definition as it should be, with a variable or with text that YAML takes for a boolean.
func (k *kind) unread(d *definer, o Object, err error) *Unit {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return nil
	}
	return &Unit{
		Kind: k.name, Name: nameOf(o.Object), File: o.File, kind: k, spec: encode(d.defines(o, nil)), unread: true,
		missing: &rendered.NotCovered{File: o.File, Reason: "a field of its definition has the wrong type, " + wrong.Value},
	}
}

// nameOf returns namespace and name of an object.
func nameOf(object map[string]any) string {
	name, _ := yamldoc.At(object, "metadata", "name").(string)
	if namespace, _ := yamldoc.At(object, "metadata", "namespace").(string); namespace != "" {
		return namespace + "/" + name
	}
	return name
}

// fluxKustomizations are Flux's Kustomizations.
func fluxKustomizations() *kind {
	k := &kind{name: "Flux Kustomization", group: "kustomize.toolkit.fluxcd.io", object: "Kustomization"}
	k.from = func(d *definer, o Object) *Unit {
		f, err := flux.ParseKustomization(o.Object)
		if err != nil || f.Source.Kind == "" { // a patch of one: no API server stores it
			return k.unread(d, o, err)
		}
		u := &Unit{Kind: k.name, Name: nameOf(o.Object), File: o.File, kind: k, dir: f.Path}
		u.Prune, u.Force, u.Applier = f.Prune, f.Force, "server-side"
		spec := d.defines(o, f.Variables())
		if f.Source.Kind == "GitRepository" {
			source, _ := d.lookup(f.Source)
			spec.Ignore, _ = yamldoc.At(source, "spec", "ignore").(string)
		}
		if u.tree, err = d.fluxSource(f.Source); err != nil {
			u.missing = at(o.File, err)
			spec.Sources = d.sources(f.Source)
		}
		u.spec = encode(spec)
		return u
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		if u.missing != nil {
			return nil, u.missing
		}
		if !isDir(t, u.dir) {
			return nil, &rendered.NotCovered{File: u.File, Reason: "the tree has no directory " + u.dir}
		}
		spec := decode[definedSpec](u.spec)
		f, err := flux.ParseKustomization(spec.Object)
		if err != nil {
			return nil, err
		}
		f.Ignore, f.Lacking = spec.Ignore, &u.lacking
		if u.fetches {
			f.Elsewhere = &u.elsewhere
		}
		return f.Files(t)
	}
	k.render = renderer(func(ctx context.Context, files fs.FS, job *worker.Job, s *definedSpec) ([]rendered.Object, error) {
		f, err := flux.ParseKustomization(s.Object)
		if err != nil {
			return nil, err
		}
		f.NoOrigins, f.Ignore, f.Lacking = !job.Origins, s.Ignore, job.Lacking
		return f.Build(ctx, files, s.referenced)
	})
	return k
}

// fluxSource returns the tree of a source of Flux, nil for the tree under check, and a *rendered.NotCovered for a source that is not here.
func (d *definer) fluxSource(r flux.Reference) (Tree, error) {
	switch r.Kind {
	case "GitRepository":
		source, ok := d.lookup(r)
		url, _ := yamldoc.At(source, "spec", "url").(string)
		if ok && url != "" && !d.inTree(url) {
			return nil, &rendered.NotCovered{Reason: "its source is the repository " + url}
		}
		return d.fluxRevision(source)
	case "":
		return nil, nil
	}
	return nil, &rendered.NotCovered{Reason: "its source is the " + r.Kind + " " + r.Name}
}

// inTree reports whether the tree is a repository of that URL.
func (o *Options) inTree(url string) bool {
	return !strings.HasPrefix(url, "oci://") && (o.InTree == nil || o.InTree(url))
}

func isDir(t Tree, name string) bool {
	info, err := t.Stat(name)
	return err == nil && info.IsDir()
}
