package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// top is where kustomize sees the root of the tree. It is not "/", since "/a/../../b" would then lead back into the
// tree.
const top = "/tree"

// maxLinks bounds the links that one path may pass, as Linux does.
const maxLinks = 40

// errOutside is the error of a path that leaves the tree.
var errOutside = errors.New("outside of the repository")

// maxKustomization is the largest kustomization file that is read. Those of people are a thousand times smaller.
const maxKustomization = 8 << 20

// disk shows a tree to kustomize as a disk that cannot be written. It finds what a real disk would find: links are
// followed, and a path that leaves the tree leads nowhere.
type disk struct {
	filesys.FileSystem // nil: the methods that a build does not use
	tree               fs.FS
	// generated are files, by name, that replace those of the tree or are added to it.
	generated map[string][]byte
	// passed is called with the name of every link that a path passes, and of the file or directory at its end; may be
	// nil.
	passed func(name string)
	// found, unless nil, keeps what paths lead to. Kustomize asks for most of them many times, and nothing changes
	// while it builds.
	found map[string]place
	// schema tells that a kustomization brings an OpenAPI schema of its own.
	schema bool
}

// place is what a path leads to.
type place struct {
	name string
	dir  bool
	err  error
}

var _ filesys.FileSystem = (*disk)(nil)

// generate adds a file, or replaces one of the tree.
func (d *disk) generate(name string, content []byte) {
	if d.generated == nil {
		d.generated = map[string][]byte{}
	}
	d.generated[name] = content
}

// name returns the name in the tree of a path as kustomize writes it.
func (d *disk) name(p string) (string, error) {
	p = path.Clean(p)
	if p == top {
		return ".", nil
	}
	name, inside := strings.CutPrefix(p, top+"/")
	if !inside {
		return "", errOutside
	}
	return name, nil
}

// resolve follows the links of a name, from the root of the tree down, and returns the name that they lead to.
func (d *disk) resolve(name string) (string, error) {
	if _, ok := d.generated[name]; ok {
		return name, nil
	}
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%q is no path of a tree", name)
	}
	links, ok := d.tree.(fs.ReadLinkFS)
	if !ok {
		return name, nil
	}
	done, rest := ".", strings.Split(name, "/")
	for followed := 0; len(rest) > 0; {
		if rest[0] == ".." {
			if done == "." {
				return "", errOutside
			}
			done, rest = path.Dir(done), rest[1:]
			continue
		}
		next := path.Join(done, rest[0])
		if _, ok := d.generated[next]; ok {
			done, rest = next, rest[1:]
			continue
		}
		info, err := links.Lstat(next)
		if err != nil {
			return "", err
		}
		rest = rest[1:]
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if followed++; followed > maxLinks {
			return "", fmt.Errorf("%s: more than %d links", name, maxLinks)
		}
		target, err := links.ReadLink(next)
		if err != nil {
			return "", err
		}
		if d.passed != nil {
			d.passed(next)
		}
		if path.IsAbs(target) {
			return "", errOutside
		}
		rest = append(strings.Split(path.Clean(target), "/"), rest...)
	}
	return done, nil
}

// find returns the name that a path leads to, and whether it is a directory.
func (d *disk) find(p string) (name string, dir bool, err error) {
	at, known := d.found[p]
	if !known {
		at.name, at.dir, at.err = d.look(p)
		if d.found != nil {
			d.found[p] = at
		}
	}
	return at.name, at.dir, at.err
}

// look finds what find returns.
func (d *disk) look(p string) (name string, dir bool, err error) {
	if name, err = d.name(p); err != nil {
		return "", false, err
	}
	if name, err = d.resolve(name); err != nil {
		return "", false, err
	}
	if _, ok := d.generated[name]; ok {
		return name, false, nil
	}
	info, err := fs.Stat(d.tree, name)
	if err != nil {
		return "", false, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return "", false, fmt.Errorf("%s is neither a file nor a directory", name)
	}
	return name, info.IsDir(), nil
}

// CleanedAbs returns the directory that a path leads to, and the name of the file there unless it is a directory.
func (d *disk) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	name, dir, err := d.find(p)
	if err != nil {
		return "", "", err
	}
	if dir {
		return filesys.ConfirmedDir(path.Join(top, name)), "", nil
	}
	return filesys.ConfirmedDir(path.Join(top, path.Dir(name))), path.Base(name), nil
}

// ReadFile returns the content of a file.
func (d *disk) ReadFile(p string) ([]byte, error) {
	name, dir, err := d.find(p)
	if err != nil {
		return nil, err
	}
	if dir {
		return nil, fmt.Errorf("%s is a directory", name)
	}
	if content, ok := d.generated[name]; ok {
		return content, nil
	}
	return fs.ReadFile(d.tree, name)
}

// IsDir tells whether a path leads to a directory.
func (d *disk) IsDir(p string) bool {
	_, dir, err := d.find(p)
	return err == nil && dir
}

// Exists tells whether a path leads anywhere.
func (d *disk) Exists(p string) bool {
	_, _, err := d.find(p)
	return err == nil
}

// line returns the line of the first scalar in a YAML document that equals ref, or 0 if no scalar does.
func line(content []byte, ref string) int {
	if ref == "" || len(content) > maxKustomization {
		return 0
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return 0
	}
	return lineBelow(&document, ref)
}

// lineBelow looks below one node. Aliases are not followed: what they stand for is found where it is written.
func lineBelow(n *yaml.Node, ref string) int {
	if n.Kind == yaml.ScalarNode && n.Value == ref {
		return n.Line
	}
	for _, child := range n.Content {
		if found := lineBelow(child, ref); found > 0 {
			return found
		}
	}
	return 0
}

// yamlLine is how the YAML reader tells the line of a mistake.
var yamlLine = regexp.MustCompile(`\byaml: line (\d+):`)

// lineOfError returns the line that an error of the YAML reader names, or 0.
func lineOfError(err error) int {
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		return 0
	}
	n, _ := strconv.Atoi(match[1])
	return n
}

// maxNodes is how many nodes the documents of one text may have with all aliases in full.
const maxNodes = 1_000_000

// checkAliases returns an error if the aliases of a text stand for too much: kustomize writes them out. Texts that are
// not YAML are left to others.
func checkAliases(content []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for nodes := 0; ; {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return nil
		}
		if nodes += size(&document, map[*yaml.Node]int{}); nodes > maxNodes {
			return fmt.Errorf("with its aliases written out, it has more than %d nodes", maxNodes)
		}
	}
}

// size counts the nodes below one, those of aliases each time; it stops at maxNodes.
func size(n *yaml.Node, anchors map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		if _, ok := anchors[n.Alias]; !ok {
			anchors[n.Alias] = maxNodes + 1 // an alias within its own anchor never ends
			anchors[n.Alias] = size(n.Alias, anchors)
		}
		return anchors[n.Alias]
	}
	nodes := 1
	for _, child := range n.Content {
		if nodes += size(child, anchors); nodes > maxNodes {
			return maxNodes + 1
		}
	}
	return nodes
}
