// Command mutants changes packages in small ways, one at a time, and prints the changes that no test notices:
//
//	go run ./hack/mutants -n 60 -seed 1 -with ./internal/suite ./internal/check
//
// It takes a random sample of the mutants of each package and compiles all of them into the test binaries, where the
// variable MUTANT picks one. A mutant dies when a test fails, panics or takes too long.
package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed switch.go.txt
var switchText string

var (
	number   = flag.Int("n", 60, "mutants of each package")
	seed     = flag.Int64("seed", 1, "seed of the sample")
	files    = flag.String("files", "", "mutate only files whose path contains this text")
	limit    = flag.Duration("limit", 10*time.Second, "time that a mutant may take, beyond three times the time without one")
	parallel = flag.Int("p", 2, "mutants that are tried at once")
	with     = flag.String("with", "", "other packages whose tests run too, separated by commas")
	flags    = flag.String("flags", "-test.short", "flags of the test binaries, separated by spaces")
)

func main() {
	flag.Parse()
	dir := must(os.MkdirTemp("", "mutants"))
	defer os.RemoveAll(dir)
	mutants, targets := weave(dir, flag.Args())
	if *with != "" {
		targets = append(targets, strings.Split(*with, ",")...)
	}
	list := output("list", append([]string{"-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, targets...)...)
	for line := range strings.Lines(list) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		try(mutants, dir, path, folder)
	}
	survivors := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.died })
	for _, m := range survivors {
		reached := map[bool]string{false: " (no test gets there)"}[m.reached]
		line := strings.Count(m.file.text[:m.start], "\n") + 1
		fmt.Printf("%s:%d: %s%s\n", must(filepath.Rel(must(os.Getwd()), m.file.path)), line, m.change, reached)
	}
	fmt.Printf("%d mutants, %d survived\n", len(mutants), len(survivors))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal("mutants: ", err)
	}
	return v
}

// weave writes the packages with samples of their mutants, and the overlay that makes the go command read them.
func weave(dir string, patterns []string) (all []*mutant, packages []string) {
	exports, set, replaced := map[string]string{}, token.NewFileSet(), map[string]string{}
	compiled := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	random := rand.New(rand.NewSource(*seed))
	list := output("list", append([]string{"-export", "-deps", "-json", "cmp", "os", "path/filepath", "strconv", "sync"}, patterns...)...)
	for d := json.NewDecoder(strings.NewReader(list)); d.More(); {
		var p struct {
			ImportPath, Dir, Name, Export string
			GoFiles                       []string
			DepOnly, Standard             bool
		}
		must(0, d.Decode(&p))
		if exports[p.ImportPath] = p.Export; p.DepOnly || p.Standard {
			continue
		}
		packages = append(packages, p.ImportPath)
		text := fmt.Sprintf(switchText, p.Name)
		sources := []*source{{set, filepath.Join(p.Dir, "mutants_switch.go"), text, must(parser.ParseFile(set, "", text, 0))}}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			text := string(must(os.ReadFile(path)))
			sources = append(sources, &source{set, path, text, must(parser.ParseFile(set, path, text, parser.SkipObjectResolution))})
		}
		chosen := sample(sources, len(all), random, &types.Config{Importer: compiled})
		all = append(all, chosen...)
		for _, s := range sources {
			file := filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
			replaced[s.path] = file
			must(0, os.WriteFile(file, []byte(s.woven(chosen)), 0o600))
		}
	}
	must(0, os.WriteFile(filepath.Join(dir, "overlay.json"), must(json.Marshal(map[string]any{"Replace": replaced})), 0o600))
	return all, packages
}

// sample returns random mutants that compile. The first gets the number after last.
func sample(sources []*source, last int, random *rand.Rand, config *types.Config) (chosen []*mutant) {
	check := func(changed *source, text string, info *types.Info) error {
		var trees []*ast.File
		for _, s := range sources {
			tree := s.tree
			if s == changed {
				var err error
				if tree, err = parser.ParseFile(s.set, s.path, text, parser.SkipObjectResolution); err != nil {
					return err
				}
			}
			trees = append(trees, tree)
		}
		_, err := config.Check("mutated", sources[0].set, trees, info)
		return err
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	must(0, check(nil, "", info))
	var found []*mutant
	for _, s := range sources[1:] {
		if f := (&finder{source: s, info: info}); strings.Contains(s.path, *files) {
			ast.Inspect(s.tree, f.visit)
			found = append(found, f.found...)
		}
	}
	for _, i := range random.Perm(len(found)) {
		m := found[i]
		m.id = last + len(chosen) + 1
		if len(chosen) < *number && check(m.file, m.file.woven([]*mutant{m}), nil) == nil {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// woven returns the text of the file with all its mutants in it.
func (s *source) woven(mutants []*mutant) string {
	mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.file != s })
	slices.SortStableFunc(mutants, func(a, b *mutant) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	return s.part(0, len(s.text), mutants)
}

// part weaves the mutants, outermost first, into the text between two offsets.
func (s *source) part(start, end int, mutants []*mutant) string {
	var b strings.Builder
	for i, m := range mutants {
		if m.start < start || m.end > end {
			continue
		}
		b.WriteString(s.text[start:m.start])
		pairs := []string{"#", fmt.Sprint(m.id)}
		for j, n := range m.nodes {
			pairs = append(pairs, []string{"[X]", "[Y]"}[j], s.part(s.offset(n.Pos()), s.offset(n.End()), mutants[i+1:]))
		}
		strings.NewReplacer(pairs...).WriteString(&b, m.form)
		start = m.end
	}
	return b.String() + s.text[start:end]
}
