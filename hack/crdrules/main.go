// Command crdrules writes the data of package crdfacts.
//
//	go run ./hack/crdrules [PROJECT...]
//
// For each line of modules.txt it downloads the version of a Go module, finds the CRDs in it, derives what their
// transition rules say, proves it by the API server's validator, and writes one file below internal/crdfacts/data. With
// arguments, it does so for the projects of these names only. A report goes to the standard output.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/hack/crdrules/derive"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
)

//go:embed modules.txt
var modules string

// data is where the files go, from the root of the repository.
const data = "internal/crdfacts/data"

func main() {
	failed := false
	known := map[string]bool{} // the kinds of the projects before
	for line := range strings.Lines(modules) {
		m, err := parse(line)
		switch {
		case err == nil && m.path == "":
			continue
		case err == nil && (len(os.Args) == 1 || slices.Contains(os.Args[1:], m.project)):
			err = m.write(known)
		}
		if err == nil {
			err = m.addKinds(known)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", strings.TrimSpace(line), err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// module is a line of modules.txt.
type module struct {
	path, version, project string
	folders                []string // that have the CRDs, the preferred one first; none for the whole module
}

// parse reads a line; a comment or an empty line gives the zero module.
func parse(line string) (module, error) {
	line, _, _ = strings.Cut(line, "#")
	fields, project, named := strings.Cut(strings.TrimSpace(line), "|")
	words := strings.Fields(fields)
	switch {
	case len(words) == 0:
		return module{}, nil
	case len(words) < 2 || !named:
		return module{}, errors.New("a line is: module version [folders] | project")
	}
	return module{words[0], words[1], strings.TrimSpace(project), words[2:]}, nil
}

// write derives the facts of a module and writes its file.
// known has the kinds that belong to another project.
func (m module) write(known map[string]bool) error {
	dir, err := m.download()
	if err != nil {
		return err
	}
	crds, err := m.crds(dir)
	if err != nil {
		return err
	}
	p := &crdfacts.Project{Name: m.project, Module: m.path, Version: strings.TrimPrefix(m.version, "v")}
	var proof derive.Proof
	for _, c := range crds {
		if known[c.Group+" "+c.Kind] {
			continue
		}
		kinds, one := derive.From(c)
		p.Kinds = append(p.Kinds, kinds...)
		proof.Add(one)
	}
	slices.SortStableFunc(p.Kinds, func(a, b *crdfacts.Kind) int {
		return strings.Compare(a.Group+" "+a.Kind, b.Group+" "+b.Kind)
	})
	ruled := 0
	for _, k := range p.Kinds {
		if len(k.Rows) > 0 {
			ruled++
		}
	}
	fmt.Printf("%s %s: %d CRDs, %d kinds with rules; %d rules: %d as locks, %d open; %d updates: %d of %d refusals "+
		"found, %d of %d false\n",
		m.project, p.Version, len(crds), ruled, proof.Rules, proof.Locks, proof.Open, proof.Updates, proof.Found,
		proof.Refused, proof.False, proof.Refusals)
	for _, name := range proof.Unproved {
		fmt.Println("  unproved:", name)
	}
	if len(crds) == 0 {
		return errors.New("no CRD found")
	}
	text, err := print(p)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, fileName(m.project)), text, 0o644)
}

// addKinds adds the kinds of the module's file to known.
func (m module) addKinds(known map[string]bool) error {
	text, err := os.ReadFile(filepath.Join(data, fileName(m.project)))
	if err != nil {
		return err
	}
	p, err := crdfacts.Parse(text)
	if err != nil {
		return err
	}
	for _, k := range p.Kinds {
		known[k.Group+" "+k.Kind] = true
	}
	return nil
}

var noName = regexp.MustCompile("[^a-z0-9]+")

// fileName returns the name of a project's file.
func fileName(project string) string {
	return strings.Trim(noName.ReplaceAllString(strings.ToLower(project), "-"), "-") + ".yaml"
}

// download returns the directory of the module, which the go command downloads.
func (m module) download() (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir = os.TempDir() // the module is no dependency of this one
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	var result struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &result); jsonErr != nil {
		return "", errors.Join(err, jsonErr)
	}
	if result.Error != "" {
		return "", errors.New(result.Error)
	}
	return result.Dir, nil
}

// noSource are folders whose CRDs the project does not publish as its own.
var noSource = []string{"testdata", "test", "tests", "vendor", "third_party", "node_modules", "e2e", "examples"}

// crds returns the CRDs of a module, by name. Of several with one name the first counts, in the order of the folders
// and of their files.
func (m module) crds(dir string) ([]*crd.CRD, error) {
	byName := map[string]*crd.CRD{}
	folders := m.folders
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, folder := range folders {
		roots, err := filepath.Glob(filepath.Join(dir, folder))
		if err != nil {
			return nil, err
		}
		for _, root := range roots {
			err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				switch ext := filepath.Ext(path); {
				case err != nil:
					return err
				case entry.IsDir() && folder == "." && slices.Contains(noSource, entry.Name()):
					return fs.SkipDir
				case entry.IsDir(), ext != ".yaml" && ext != ".yml":
					return nil
				}
				return readFile(byName, path)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	var all []*crd.CRD
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all, nil
}

// readFile adds the CRDs of a file that byName does not have. A file that cannot be read, such as a template of a
// chart, is reported and left out.
func readFile(byName map[string]*crd.CRD, path string) error {
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("CustomResourceDefinition")) {
		return err
	}
	read, err := crd.Read(path, text)
	if err != nil {
		fmt.Printf("  not read: %v\n", err)
		return nil
	}
	for _, c := range read {
		if byName[c.Name] == nil {
			byName[c.Name] = c
		}
	}
	return nil
}

// print returns the file of a project: a line for each row and field.
func print(p *crdfacts.Project) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	style(&doc, 0)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by `go run ./hack/crdrules`.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// style writes what is deep in one line, and gives texts no quotes that they do not need.
func style(n *yaml.Node, depth int) {
	n.Style &^= yaml.DoubleQuotedStyle
	if n.Kind != yaml.ScalarNode {
		n.Style &^= yaml.FlowStyle
		if depth >= 5 || n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.ScalarNode {
			n.Style |= yaml.FlowStyle
		}
	}
	for _, child := range n.Content {
		style(child, depth+1)
	}
}
