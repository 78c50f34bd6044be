package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed switch.go.txt
var switchText string

// source is a file to mutate.
type source struct {
	set        *token.FileSet
	path, text string
	tree       *ast.File
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

func parse(set *token.FileSet, path, text string) *source {
	return &source{set, path, text, must(parser.ParseFile(set, path, text, parser.SkipObjectResolution))}
}

// weave writes the packages with samples of their mutants, and the overlay that makes the go command read them.
func weave(dir string, patterns []string) (all []*mutant, packages []string) {
	exports, set, replaced := map[string]string{}, token.NewFileSet(), map[string]string{}
	compiled := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	random := rand.New(rand.NewSource(*seed))
	list := output(append([]string{"list", "-export", "-deps", "-json", "cmp", "os", "path/filepath", "strconv", "sync"}, patterns...)...)
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
		sources := []*source{parse(set, filepath.Join(p.Dir, "mutants_switch.go"), fmt.Sprintf(switchText, p.Name))}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			sources = append(sources, parse(set, path, string(must(os.ReadFile(path)))))
		}
		chosen := sample(sources, len(all), random, &types.Config{Importer: compiled})
		all = append(all, chosen...)
		for _, s := range sources {
			replaced[s.path] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replaced)))
			must(0, os.WriteFile(replaced[s.path], []byte(s.woven(chosen)), 0o600))
		}
	}
	must(0, os.WriteFile(filepath.Join(dir, "overlay.json"), must(json.Marshal(map[string]any{"Replace": replaced})), 0o600))
	return all, packages
}

// sample returns random mutants that compile. The first gets the number after last.
func sample(sources []*source, last int, random *rand.Rand, config *types.Config) (chosen []*mutant) {
	trees := make([]*ast.File, len(sources))
	for i, s := range sources {
		trees[i] = s.tree
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	must(config.Check("mutated", sources[0].set, trees, info))
	f := &finder{info: info}
	for _, f.source = range sources[1:] {
		if strings.Contains(f.path, *files) {
			ast.Inspect(f.tree, f.visit)
		}
	}
	for _, i := range random.Perm(len(f.found)) {
		m := f.found[i]
		if m.id = last + len(chosen) + 1; len(chosen) == *number {
			break
		}
		mutated := slices.Clone(trees)
		mutated[slices.Index(sources, m.file)] = parse(m.file.set, m.file.path, m.file.woven([]*mutant{m})).tree
		if _, err := config.Check("mutated", m.file.set, mutated, nil); err == nil {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// woven returns the text of the file with all its mutants in it.
func (s *source) woven(mutants []*mutant) string {
	mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.file != s })
	slices.SortStableFunc(mutants, func(a, b *mutant) int { return cmp.Or(a.start-b.start, b.end-a.end, len(a.nodes)-len(b.nodes)) })
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
