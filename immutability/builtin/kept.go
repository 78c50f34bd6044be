package builtin

import (
	"slices"
	"strconv"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// A server-side apply removes what the manifest owned, and leaves what only the server has set. Some objects are not
// valid with what is left:
//
//	old     {name: a}                           stored  {name: a, emptyDir: {}}                        a default
//	new     {name: a, configMap: {name: c}}     applied {name: a, emptyDir: {}, configMap: {name: c}}  two sources
//
//	old     {name: a, secret: {secretName: s}}  stored  {name: a, secret: {secretName: s, defaultMode: 420}}
//	new     {name: a, secret: null}             applied {name: a, secret: {defaultMode: 420}}          no name
//
//	old     {preStop: {sleep: {seconds: 5}}}    stored  {preStop: {sleep: {seconds: 5}}}
//	new     {preStop: {sleep: {}}}              applied {preStop: {}}                                  no handler
//
// A client-side apply stores both manifests: null removes all of an object, and its patch says which sources of a
// volume to retain.

// keptSource is what the data says about objects that are not valid with nothing but defaults, or without an object
// that the manifest has empty.
type keptSource struct {
	Fields []string `json:"fields"`
	// Defaults are what the server sets in each; an object that names all of them goes as a whole.
	Defaults []string `json:"defaults"`
	Says     string   `json:"says"`   // the server's text
	Beside   string   `json:"beside"` // its text where another object, or a url, stands beside it
	Type     string   `json:"type"`   // the entry is for objects beside this type
	Since    string   `json:"since"`  // the first minor of the entry
	Until    string   `json:"until"`  // the last minor of the entry
	// Cause is the path that the server names; "" is the object, and "..", or "" with Beside, the one around it.
	Cause string `json:"cause"`
	// Emptied marks an object that goes as a whole, since the manifest has {}.
	Emptied bool `json:"emptied"`
	// Initial marks what the server makes where the object around it has no other object.
	Initial bool `json:"initial"`

	paths []fieldpath.Path // Fields, read
}

// keptOf returns the entries of a kind in a minor.
func keptOf(source *kindSource, minor int) ([]keptSource, error) {
	var pods podSource
	if source.Template != "" {
		if err := kind.Read(files, podSpecFile, &pods); err != nil {
			return nil, err
		}
	}
	for i := range pods.Kept {
		kept := &pods.Kept[i]
		for j, path := range kept.Fields {
			kept.Fields[j] = source.Template + "." + path
		}
		if kept.Cause != "" && kept.Cause != ".." {
			kept.Cause = source.Template + "." + kept.Cause
		}
	}
	var all []keptSource
	for _, kept := range append(pods.Kept, source.Kept...) {
		s, err := spanOf(kept.Since, kept.Until)
		if err != nil {
			return nil, err
		}
		if s.has(minor) {
			for _, path := range kept.Fields {
				kept.paths = append(kept.paths, fieldpath.Parse(path))
			}
			all = append(all, kept)
		}
	}
	return all, nil
}

// keptDefaults returns an objection for each object that a server-side apply does not remove whole. Where it is not
// known who applies, only the applier decides.
func keptDefaults(sources []keptSource, u *update) []kind.Objection {
	if u.by != "" && u.by != ApplierServerSide {
		return nil
	}
	var all []kind.Objection
	for i := range sources {
		source := &sources[i]
		for _, path := range source.paths {
			eachPair(path, "", u.newObj, u.oldObj, func(parent, name string, newIn, oldIn map[string]any) {
				at := parent + "." + name
				found := kind.Objection{Violation: result.Violation{
					Path: at, Lock: string(kind.LockRule), Message: source.Says, Cause: at,
					Rule: "a server-side apply keeps no default that makes the object invalid",
				}}
				found.WaysOut.Edit = "leave {path} out of the manifest: where it is null, a server-side apply " +
					"keeps the " +
					"server's defaults in it"
				if source.Beside != "" && (hasObject(newIn, name) || newIn["url"] != nil) {
					found.Message, found.Cause = source.Beside, parent
				}
				if found.Message == "" || !source.keeps(name, newIn, oldIn) {
					return
				}
				switch source.Cause {
				case "":
				case "..":
					found.Cause = parent
				default:
					found.Cause = source.Cause
				}
				if source.Initial {
					found.WaysOut.Edit = "set {path} to null in the manifest, or rename the volume: otherwise a " +
						"server-side " +
						"apply keeps the server's default"
				}
				if u.by == "" {
					found.Open = "a server-side apply leaves the server's defaults in place and is refused; a " +
						"client-side apply removes them"
				}
				if source.Emptied {
					found.Rule = "a server-side apply removes no object that the server requires"
					found.WaysOut.Edit = "name the fields of {path} in the manifest: where it is {}, a server-side " +
						"apply removes it"
					if u.by == "" {
						found.Open = "a server-side apply removes what the old manifest had in the object and the " +
							"object with it, and is refused; a client-side apply leaves it empty"
					}
				}
				all = append(all, found)
			})
		}
	}
	return all
}

// keeps reports whether the server keeps a part of an object that newIn does not have, or removes one that newIn has.
func (s *keptSource) keeps(name string, newIn, oldIn map[string]any) bool {
	is, named := newIn[name]
	if s.Initial {
		_, owned := oldIn[name]
		return !named && !owned && !hasObject(oldIn, "")
	}
	if s.Type != "" && newIn["type"] != s.Type {
		return false
	}
	was, had := oldIn[name].(map[string]any)
	stays := slices.ContainsFunc(s.Defaults, func(member string) bool { _, owned := was[member]; return !owned })
	if s.Emptied {
		now, ok := is.(map[string]any)
		return ok && len(now) == 0 && had && !stays
	}
	return named && is == nil && had && stays
}

// hasObject reports whether a manifest has an object in an object, under another name.
func hasObject(in map[string]any, name string) bool {
	for other, member := range in {
		if _, ok := member.(map[string]any); ok && other != name {
			return true
		}
	}
	return false
}

// eachPair calls f for the objects of two manifests that hold what is at the end of steps. Items of lists pair by their
// names.
func eachPair(steps fieldpath.Path, path string, newVal, oldVal any,
	f func(path, name string, newIn, oldIn map[string]any)) {
	if steps[0] == fieldpath.EachItem {
		olds := map[string]map[string]any{}
		for _, item := range fieldpath.Objects(oldVal) {
			olds[fieldpath.Text(item, "name")] = item
		}
		news, _ := newVal.([]any)
		for i, item := range news {
			if old, ok := olds[fieldpath.Text(item, "name")]; ok {
				eachPair(steps[1:], path+"["+strconv.Itoa(i)+"]", item, old, f)
			}
		}
		return
	}
	newIn, _ := newVal.(map[string]any)
	oldIn, _ := oldVal.(map[string]any)
	name := fieldpath.Name(steps[0])
	switch {
	case newIn == nil || oldIn == nil:
	case len(steps) == 1:
		f(path, name, newIn, oldIn)
	case path == "":
		eachPair(steps[1:], name, newIn[name], oldIn[name], f)
	default:
		eachPair(steps[1:], path+"."+name, newIn[name], oldIn[name], f)
	}
}
