// Package page reads the README and the pages in docs, for the tests that run what they show: those of the command in
// cmd/fieldlock, and those with an API server in examples/e2e.
package page

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// Block is a fenced block of a page, or text in a sentence that is set as code.
type Block struct {
	File     string // from the root of the repository
	Line     int    // of its opening fence, from 1
	Language string // of a fenced block, "" for commands; Span in a sentence
	Text     string
}

// Span is the language of code in a sentence.
const Span = "span"

// Read returns the code of README.md and of all pages below docs in the repository at root.
func Read(root string) ([]Block, error) {
	files := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			file, err := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(file))
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var blocks []Block
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, blocksOf(file, string(text))...)
	}
	return blocks, nil
}

var spans = regexp.MustCompile("`([^`\n]+)`")

func blocksOf(file, text string) (blocks []Block) {
	open, number, indent := false, 0, ""
	for line := range strings.Lines(text) {
		number++
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case isFence && !open:
			indent = line[:strings.Index(line, "`")] // of a block in a list
			open, blocks = true, append(blocks, Block{File: file, Line: number, Language: strings.TrimSpace(fence)})
		case isFence:
			open = false
		case open:
			blocks[len(blocks)-1].Text += strings.TrimPrefix(line, indent)
		default:
			for _, span := range spans.FindAllStringSubmatch(line, -1) {
				blocks = append(blocks, Block{File: file, Line: number, Language: Span, Text: span[1]})
			}
		}
	}
	return blocks
}

var continued = regexp.MustCompile(`\\\n\s*`)

// Session returns the command of a block that shows one with its output: its first line begins with "$ ".
func (b Block) Session() (command, output string, ok bool) {
	rest, ok := strings.CutPrefix(b.Text, "$ ")
	if !ok || b.Language != "" {
		return "", "", false
	}
	command, output, _ = strings.Cut(continued.ReplaceAllString(rest, ""), "\n")
	return command, output, true
}

// Commands returns the commands of a block without language that is not a session: one per line, without comments.
// Lines that end in a backslash are joined, and commands that && joins are apart. In a sentence, code is a command if
// it can be run as it is. Of GitLab's and Jenkins' pipelines, the lines of their scripts are commands.
func (b Block) Commands() []string {
	_, _, session := b.Session()
	switch {
	case b.Language == Span && complete(b.Text):
		return []string{b.Text}
	case b.Language == "yaml":
		return b.scripts()
	case b.Language == "groovy":
		var commands []string
		for _, match := range step.FindAllStringSubmatch(b.Text, -1) {
			commands = append(commands, match[1])
		}
		return commands
	case b.Language != "" || session:
		return nil
	}
	var commands []string
	for line := range strings.Lines(continued.ReplaceAllString(b.Text, "")) {
		line, _, _ = strings.Cut(" "+line, " #") // a comment
		for command := range strings.SplitSeq(line, " && ") {
			if command = strings.TrimSpace(command); command != "" {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

var step = regexp.MustCompile(`\bsh '([^'\n]*)'`)

// scripts returns the scripts of GitLab's jobs; other YAML has none.
func (b Block) scripts() (commands []string) {
	var jobs map[string]struct{ Script []string }
	if err := yaml.Unmarshal([]byte(b.Text), &jobs); err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		commands = append(commands, jobs[name].Script...)
	}
	return commands
}

var (
	program     = regexp.MustCompile(`^(fieldlock|kubectl|helm|go|git|brew|flux|argocd) `)
	placeholder = regexp.MustCompile(`[A-Z]{2,}|…|\[|\|`)
)

// complete tells a command from the name of one, such as "kubectl apply": it names files or objects, and no
// placeholders.
func complete(text string) bool {
	if !program.MatchString(text) || placeholder.MatchString(text) {
		return false
	}
	words := 0
	for _, word := range strings.Fields(text)[1:] {
		if !strings.HasPrefix(word, "-") {
			words++
		}
		if strings.ContainsAny(word, "/.") {
			return true
		}
	}
	return words > 2
}

// Place is what a command of the pages needs in order to run.
type Place string

const (
	PlaceFolder     Place = "folder"     // a folder that Folder makes
	PlaceProject    Place = "project"    // a Go module with an API, controller-gen and make
	PlaceRepository Place = "repository" // a clone of this repository
	PlaceCluster    Place = "cluster"    // a folder, an API server, kubectl and Helm
	PlaceFlux       Place = "flux"       // the same, and the command of Flux: hack/appliers runs it
	PlaceRelease    Place = "release"    // a release of this tree, which the tests of FIELDLOCK_INSTALL make
	PlaceCI         Place = "ci"         // .ci/run, whose first step it is: it runs the tests of the pages
)

// PlaceOf returns where a command runs.
func PlaceOf(command string) Place {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(command, word) })
	}
	switch {
	case strings.HasPrefix(command, "go test ./... "):
		return PlaceCI
	case has("curl ", "@latest", "go get "):
		return PlaceRelease
	case has("flux "):
		return PlaceFlux
	case has("kubectl ", "helm ", "--live"):
		return PlaceCluster
	case has("controller-gen"):
		return PlaceProject
	case has("./cmd/fieldlock", "./immutability"):
		return PlaceRepository
	default:
		return PlaceFolder
	}
}

// examples are files of testdata/examples, and the names that the pages give them. The others are in
// testdata/world.txtar.
var examples = [][2]string{
	{"crd.yaml", "crd.yaml"}, {"crd.yaml", "widgets.yaml"}, {"crd.yaml", "vendor-crd.yaml"},
	{"crd.yaml", "config/crd/databases.yaml"},
	{"old.yaml", "old.yaml"}, {"new.yaml", "new.yaml"},
	{"shop/old/orders.yaml", "old/orders.yaml"}, {"shop/new/orders.yaml", "new/orders.yaml"},
	{"params/v1.yaml", "params.yaml"}, {"params/v1.yaml", "v1/params.yaml"}, {"params/v2.yaml", "v2/params.yaml"},
	{"params/stored.yaml", "instance.yaml"},
}

// changed are files that have one text in the first commit and another one in the work tree.
var changed = [][3]string{
	{"old.yaml", "new.yaml", "orders.yaml"},
	{"shop/old/orders.yaml", "shop/new/orders.yaml", "deploy/orders.yaml"},
}

// Folder makes dir a git repository with the files that the pages name, from the repository at root. Its first commit
// is origin/main and the releases; its work tree differs.
func Folder(root, dir string) error {
	world, err := txtar.ParseFile(filepath.Join(root, "internal/testing/page/testdata/world.txtar"))
	if err != nil {
		return err
	}
	for _, file := range world.Files {
		if err := write(filepath.Join(dir, file.Name), file.Data); err != nil {
			return err
		}
	}
	place := func(source, target string) error {
		data, err := os.ReadFile(filepath.Join(root, "testdata/examples", source))
		if err != nil {
			return err
		}
		return write(filepath.Join(dir, target), data)
	}
	for _, e := range examples {
		if err := place(e[0], e[1]); err != nil {
			return err
		}
	}
	for _, c := range changed {
		if err := place(c[0], c[2]); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "--template=", "-b", "main"}, {"remote", "add", "origin", "."}, {"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"}, {"tag", "v1.0.0"}, {"tag", "v1.2.0"},
	} {
		git := exec.Command("git", args...)
		git.Dir = dir
		if err := git.Run(); err != nil {
			return err
		}
	}
	for _, c := range changed {
		if err := place(c[1], c[2]); err != nil {
			return err
		}
	}
	return nil
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
