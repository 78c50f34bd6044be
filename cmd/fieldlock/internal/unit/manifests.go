package unit

import (
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/flux"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// What units print, as files of objects: each knows where it is written and who applies it.

// renderedFiles returns what manifests does for a unit that may have to be rendered; nil if that fails.
func (s *side) renderedFiles(u *Unit) []manifest.File {
	objects, err := s.objectsOf(u)
	if err != nil {
		return nil
	}
	return s.manifests(u, objects)
}

// manifests returns the objects of a unit as a file of objects; those that Helm installs once as one of their own.
func (s *side) manifests(u *Unit, objects []Object) []manifest.File {
	name := s.tree.Name(u.File)
	ordinary := manifest.File{
		Name: name, Path: u.pairKey(), Unit: u.String(), AppliedBy: s.applier(u, name), Found: true,
	}
	if by := s.deployer(u); by != nil {
		ordinary.AppliedBy = s.applier(by, name)
		ordinary.AppliedBy.Methods, ordinary.AppliedBy.Forced, ordinary.AppliedBy.Keeps = []tool.Method{tool.ServerSide,
			tool.ClientSide}, false, false
	}
	if s.Tool != nil {
		ordinary.AppliedBy = ordinary.AppliedBy.By(s.Tool(u.File))
	}
	once := ordinary
	once.AppliedBy.InstallsOnce = !ordinary.AppliedBy.Lone || ordinary.AppliedBy.Tool == tool.Helm
	for _, o := range objects {
		into := &ordinary
		if o.Role == rendered.CRD {
			into = &once
		}
		into.Documents = append(into.Documents, s.place(u, o))
	}
	return []manifest.File{ordinary, once}
}

// deployer returns the Flux Kustomization that probably deploys a kustomization, nil for none: its source is not the
// repository but made of it, as an artifact of its directory deploy/, and its path is the end of the kustomization's.
// This decides about words and commands only: how the objects are applied, and what is kept, stays as unknown as
// without it.
func (s *side) deployer(u *Unit) *Unit {
	if u.kind.name != "kustomization" {
		return nil
	}
	for _, by := range slices.Concat(s.elsewhere, s.units) {
		if by.missing == nil || by.unread || by.Kind != "Flux Kustomization" || by.dir == "." ||
			!strings.HasSuffix("/"+u.dir, "/"+by.dir) {
			continue
		}
		f, err := flux.ParseKustomization(decode[definedSpec](by.spec).Object)
		if err == nil && f.Source.Kind != "GitRepository" {
			return by
		}
	}
	return nil
}

// applier returns what is known about who applies the objects of a unit; name is how messages name its file.
func (s *side) applier(u *Unit, name string) tool.Applier {
	by := u.applier(name)
	switch u.Kind {
	case "Flux Kustomization":
		by.Fetch = u.fetchSource()
	case "HelmRelease":
		by.Fetch = tool.FluxReconcile
		if outer := s.kustomizationOf(u); outer != nil {
			by.Fetch = outer.applier("").Apply
		}
	}
	return by
}

// kustomizationOf returns the Flux Kustomization that applies the definition of a unit; nil for none, or several.
func (s *side) kustomizationOf(u *Unit) *Unit {
	if u.parent != nil {
		return onlyKustomization([]*Unit{u.parent})
	}
	return onlyKustomization(s.readers[u.File])
}

// onlyKustomization returns the Flux Kustomization among units; nil for none, or several.
func onlyKustomization(units []*Unit) (only *Unit) {
	for _, u := range units {
		if u.Kind != "Flux Kustomization" {
			continue
		}
		if only != nil && only.Name != u.Name {
			return nil
		}
		only = u
	}
	return only
}

// fetchSource is the command with which Flux fetches the source of a Kustomization, "" for a kind without one.
func (u *Unit) fetchSource() string {
	f, err := flux.ParseKustomization(decode[definedSpec](u.spec).Object)
	if err != nil {
		return ""
	}
	word, ok := map[string]string{"GitRepository": "git", "OCIRepository": "oci", "Bucket": "bucket"}[f.Source.Kind]
	if !ok {
		return ""
	}
	command := "flux reconcile source " + word + " " + shell.Quote(shell.Resolved(f.Source.Name, "SOURCE"))
	if f.Source.Namespace != "" {
		command += " -n " + shell.Quote(shell.Resolved(f.Source.Namespace, "NAMESPACE"))
	}
	return command
}

// applier returns what the definition of a unit tells about who applies its objects. Who applies a kustomization is not
// known; kubectl builds none that has charts or reads files outside of its directory. Helm's method depends on its
// version and on how the release was installed; force is a PUT, and has no effect on a server-side apply.
func (u *Unit) applier(name string) tool.Applier {
	dir := shell.Quote(path.Dir(name))
	own, _, _ := strings.Cut(u.Name, " ") // without the object that it was read again with
	namespace, object := path.Split(own)
	flux := func(command string) string {
		if command += " " + shell.Quote(shell.Resolved(object, "NAME")); namespace != "" {
			command += " -n " + shell.Quote(shell.Resolved(path.Clean(namespace), "NAMESPACE"))
		}
		return command + " --with-source"
	}
	switch u.Kind {
	case "kustomization":
		options := ""
		if u.charts {
			options += "--enable-helm "
		}
		if u.outside != nil {
			options += "--load-restrictor LoadRestrictionsNone "
		}
		if options != "" {
			return tool.Applier{Apply: "kustomize build " + options + dir + " | kubectl apply -f -"}
		}
		return tool.Applier{Apply: "kubectl apply -k " + dir}
	case "Flux Kustomization":
		return tool.Applier{Tool: tool.Flux, Forced: u.Force, Keeps: !u.Prune,
			Apply: flux("flux reconcile kustomization")}
	case "chart":
		release, namespace := "RELEASE", "NAMESPACE"
		spec := decode[chartSpec](u.spec)
		if spec.Name != "" {
			release = shell.Quote(shell.Resolved(spec.Name, release))
		}
		if u.Namespace != "" {
			namespace = shell.Quote(shell.Resolved(u.Namespace, namespace))
		}
		apply := "helm upgrade " + release + " " + dir + " -n " + namespace
		for _, file := range spec.Values { // without them, Helm takes the values of the last release
			apply += " -f " + shell.Quote(strings.TrimSuffix(name, u.File)+file)
		}
		return tool.Applier{Tool: tool.Helm, Namespace: u.Namespace, Lone: true,
			Unplaced: u.Namespace == "", Apply: apply}
	case "HelmRelease":
		by := tool.Applier{Tool: tool.Helm, Namespace: u.Namespace}
		by.Apply = flux("flux reconcile helmrelease") + " --force" // also after failed upgrades
		if u.Force {
			by.Methods = []tool.Method{tool.ServerSide, tool.Replace}
		}
		return by
	case "Application":
		app := shell.Quote(shell.Resolved(strings.TrimPrefix(own, "argocd/"), "APPLICATION"))
		by := tool.Applier{Tool: tool.ArgoCD, Apply: "argocd app sync " + app, Keeps: !u.Prune, Namespace: u.Namespace}
		if u.Applier == "" { // it cannot be read
			by.Methods, by.Keeps = []tool.Method{tool.ServerSide, tool.ClientSide, tool.Replace}, false
			return by
		}
		by.Methods = []tool.Method{tool.Method(u.Applier)}
		return by
	case "ApplicationSet": // what it prints are Applications, with the options of its template
		return tool.Applier{Tool: tool.ArgoCD,
			Methods: []tool.Method{tool.ServerSide, tool.ClientSide}, Keeps: !u.Prune}
	}
	return tool.Applier{}
}
