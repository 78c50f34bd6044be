package argo

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Trees returns the tree of a repository at a revision: what a git generator reads. The error is a *rendered.NotCovered
// for one that is not there.
type Trees func(repoURL, revision string) (fs.FS, error)

// gitSpec are the fields of a git generator.
type gitSpec struct {
	RepoURL, Revision, PathParamPrefix string
	Directories, Files                 []struct {
		Path    string
		Exclude bool
	}
	Values map[string]string
}

// git returns parameters for directories or files of a repository.
func (t templating) git(written map[string]any, trees Trees) ([]map[string]any, error) {
	var spec gitSpec
	if err := rendered.Decode(written, &spec); err != nil {
		return nil, err
	}
	if n := len(spec.Directories) + len(spec.Files); n > maxPatterns {
		return nil, fmt.Errorf("%d patterns are more than %d", n, maxPatterns)
	}
	tree, err := trees(spec.RepoURL, spec.Revision)
	if err != nil {
		return nil, err
	}
	switch {
	case len(spec.Directories) > 0:
		return t.directories(tree, &spec)
	case len(spec.Files) > 0:
		return t.files(tree, &spec)
	}
	return nil, errors.New("it has neither directories nor files")
}

// directories returns a set of parameters for each directory that the generator names and does not exclude.
func (t templating) directories(tree fs.FS, spec *gitSpec) ([]map[string]any, error) {
	var sets []map[string]any
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir() || name == ".":
			return nil
		case strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		include, exclude := false, false
		for _, item := range spec.Directories {
			if ok, err := path.Match(item.Path, name); ok && err == nil {
				include, exclude = include || !item.Exclude, exclude || item.Exclude
			}
		}
		if include && !exclude {
			parameters, err := t.withPath(map[string]any{}, name, "", spec)
			if err != nil {
				return err
			}
			sets = append(sets, parameters)
		}
		return nil
	})
	return sets, err
}

// files returns the sets of parameters in the files that the generator names and does not exclude: an object, or a
// list.
func (t templating) files(tree fs.FS, spec *gitSpec) ([]map[string]any, error) {
	found := map[string]bool{}
	for _, exclude := range []bool{false, true} {
		for _, item := range spec.Files {
			if item.Exclude != exclude {
				continue
			}
			names, err := matching(tree, strings.TrimPrefix(item.Path, "/"), false)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				found[name] = !exclude
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, included bool) bool { return !included })
	var sets []map[string]any
	for _, name := range slices.Sorted(maps.Keys(found)) {
		read, err := readParameters(tree, name)
		if err != nil {
			return nil, err
		}
		for _, parameters := range read {
			if !t.goTemplate {
				flat := map[string]any{}
				for name, value := range flattened(parameters) {
					flat[name] = value
				}
				parameters = flat
			}
			parameters, err := t.withPath(parameters, path.Dir(name), path.Base(name), spec)
			if err != nil {
				return nil, err
			}
			sets = append(sets, parameters)
		}
	}
	return sets, nil
}

func readParameters(tree fs.FS, name string) ([]map[string]any, error) {
	content, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	if yaml.Unmarshal(content, &object) == nil {
		return []map[string]any{object}, nil
	}
	var list []map[string]any
	if err := yaml.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("%s: neither an object nor a list of objects", name)
	}
	return list, nil
}

// withPath adds the parameters that describe a directory, and a file in it if there is one, and then the generator's
// values.
func (t templating) withPath(parameters map[string]any, dir, file string, spec *gitSpec) (map[string]any, error) {
	parameters = maps.Clone(parameters)
	if parameters == nil {
		parameters = map[string]any{}
	}
	described := map[string]any{"basename": path.Base(dir), "basenameNormalized": sanitized(path.Base(dir))}
	if file != "" {
		described["filename"], described["filenameNormalized"] = file, sanitized(file)
	}
	segments := strings.Split(dir, "/")
	switch {
	case t.goTemplate:
		described["path"], described["segments"] = dir, segments
		if spec.PathParamPrefix != "" {
			parameters[spec.PathParamPrefix] = map[string]any{"path": described}
		} else {
			parameters["path"] = described
		}
	default:
		name := "path"
		if spec.PathParamPrefix != "" {
			name = spec.PathParamPrefix + ".path"
		}
		parameters[name] = dir
		for field, value := range described {
			parameters[name+"."+field] = value
		}
		for i, segment := range segments {
			parameters[name+"["+strconv.Itoa(i)+"]"] = segment
		}
	}
	return t.withValues(parameters, spec.Values)
}

// withValues adds values, in which the other parameters are replaced.
func (t templating) withValues(parameters map[string]any, values map[string]string) (map[string]any, error) {
	replaced := map[string]any{}
	for name, value := range values {
		text, err := t.text(value, parameters)
		if err != nil {
			return nil, fmt.Errorf("values.%s: %w", name, err)
		}
		if t.goTemplate {
			replaced[name] = text
		} else {
			parameters["values."+name] = text
		}
	}
	if t.goTemplate && len(values) > 0 {
		parameters["values"] = replaced
	}
	return parameters, nil
}

// flattened returns parameters as labels: "a.b" for a field of a table, "a.0" for an item of a list.
func flattened(parameters map[string]any) map[string]string {
	flat := map[string]string{}
	var add func(prefix string, value any)
	add = func(prefix string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, below := range value {
				add(prefix+"."+name, below)
			}
		case []any:
			for i, below := range value {
				add(fmt.Sprintf("%s.%d", prefix, i), below)
			}
		case []string:
			flat[strings.TrimPrefix(prefix, ".")] = fmt.Sprint(value)
		default:
			flat[strings.TrimPrefix(prefix, ".")] = fmt.Sprint(value)
		}
	}
	add("", parameters)
	return flat
}
