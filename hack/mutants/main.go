// Command mutants changes packages in small ways, one at a time, and prints the changes that no test notices:
//
//	go run ./hack/mutants -n 60 -seed 1 -with ./internal/testing/suite ./internal/check
//
// It takes a random sample of the mutants of each package and compiles all of them into the test binaries, where the
// variable MUTANT picks one. A mutant dies when a test fails, panics or takes too long; those of the last sort are
// named, as a busy machine makes them, too: try them again by their numbers, with -only and a larger -limit. A test
// that counts allocations may fail in the woven code: leave it out with -flags "-test.short -test.skip=NAME".
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	number = flag.Int("n", 60, "mutants of each package")
	seed   = flag.Int64("seed", 1, "seed of the sample")
	files  = flag.String("files", "", "mutate only files whose path contains this text")
	limit  = flag.Duration("limit", 10*time.Second,
		"time that a mutant may take, beyond three times the time without one")
	parallel = flag.Int("p", 2, "mutants that are tried at once")
	with     = flag.String("with", "", "other packages whose tests run too, separated by commas")
	only     = flag.String("only", "", "numbers of the mutants to try, separated by commas; \"\" for all")
	flags    = flag.String("flags", "-test.short", "flags of the test binaries, separated by spaces")
)

func main() {
	flag.Parse()
	dir := must(os.MkdirTemp("", "mutants"))
	defer os.RemoveAll(dir)
	mutants, targets := weave(dir, flag.Args())
	if *only != "" {
		numbers := strings.Split(*only, ",")
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool {
			return !slices.Contains(numbers, fmt.Sprint(m.id))
		})
	}
	if *with != "" {
		targets = append(targets, strings.Split(*with, ",")...)
	}
	list := output(append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"},
		targets...)...)
	for line := range strings.Lines(list) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		try(mutants, dir, path, folder)
	}
	survived, late := 0, 0
	for _, m := range mutants {
		if !m.died {
			survived++
		} else if m.late {
			late++
		}
		if !m.died || m.late {
			fmt.Println(m)
		}
	}
	fmt.Printf("%d mutants, %d survived, %d took too long\n", len(mutants), survived, late)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal("mutants: ", err)
	}
	return v
}

// apart returns the environment of tests with mutants. A mutant may run git in the wrong folder, or with the wrong
// arguments: it must find neither the repository of the package nor the user's configuration, and change that.
func apart(dir, folder, overlay string) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
	env = append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE", "GOENV"} { // what HOME decides
		env = append(env, name+"="+strings.TrimSpace(output("env", name)))
	}
	return append(env, "GOFLAGS="+overlay)
}

// output runs the go command.
func output(args ...string) string {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	return string(must(cmd.Output()))
}

// try runs the tests of a package: without a mutant, when they must pass, and then with each mutant that they reach.
func try(mutants []*mutant, dir, path, folder string) {
	binary, reached, overlay := filepath.Join(dir, "test"), must(os.MkdirTemp(dir, "reached")), "-overlay="+
		filepath.Join(dir, "overlay.json")
	output("test", "-c", "-vet=off", overlay, "-o", binary, path)
	environment := apart(dir, folder, overlay)
	run := func(limit time.Duration, variable string, args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		shell := []string{"-c", `ulimit -v 16000000; exec "$0" "$@"`, binary} // a mutant may take all memory
		cmd := exec.CommandContext(ctx, "sh", slices.Concat(shell, strings.Fields(*flags), args)...)
		cmd.Env = append(slices.Clone(environment), variable)
		cmd.Dir, cmd.WaitDelay = folder, time.Second
		out, err := cmd.CombinedOutput()
		return out, cmp.Or(ctx.Err(), err)
	}
	began := time.Now()
	if text, err := run(time.Hour, "MUTANT=0"); err != nil {
		log.Fatalf("the tests of %s fail without a mutant: %v\n%s", path, err, text)
	}
	took := time.Since(began)
	fmt.Printf("%s: %.1f s\n", path, took.Seconds())
	run(time.Hour, "MUTANT_REACHED="+reached)
	var wait sync.WaitGroup
	free := make(chan bool, *parallel)
	for _, m := range mutants {
		if _, err := os.Stat(filepath.Join(reached, fmt.Sprint(m.id))); err != nil || m.died {
			continue
		}
		free <- true
		wait.Go(func() {
			_, err := run(*limit+3*took, fmt.Sprintf("MUTANT=%d", m.id), "-test.failfast")
			m.reached, m.died, m.late = true, err != nil, errors.Is(err, context.DeadlineExceeded)
			<-free
		})
	}
	wait.Wait()
}

// mutant is one change of a file. Its form replaces a node: # is the number, X and Y in brackets are woven nodes.
type mutant struct {
	id, start, end int
	change, form   string
	nodes          []ast.Node
	file           *source
	reached, died  bool
	late           bool // died as the tests took too long
}

func (m *mutant) String() string {
	note := ""
	switch {
	case !m.reached:
		note = " (no test gets there)"
	case m.late:
		note = " (took too long)"
	}
	return fmt.Sprintf("%d %s:%d: %s%s",
		m.id, m.file.path, strings.Count(m.file.text[:m.start], "\n")+1, m.change, note)
}

// finder collects the mutants of files.
type finder struct {
	*source
	info  *types.Info
	found []*mutant
}

func (f *finder) add(n ast.Node, change, form string, nodes ...ast.Node) {
	f.found = append(f.found, &mutant{start: f.offset(n.Pos()), end: f.offset(n.End()), change: change, form: form,
		nodes: nodes, file: f.source})
}

// negate adds the opposite of a condition, once.
func (f *finder) negate(n ast.Expr) {
	if i := len(f.found) - 1; i < 0 || f.found[i].nodes[0] != n || f.found[i].start != f.offset(n.Pos()) {
		f.add(n, "negate "+f.line(n), "(mutantOn(#) != ([X]))", n)
	}
}

// line returns the text of a node in one line, shortened.
func (f *finder) line(n ast.Node) string {
	return fmt.Sprintf("%.120s", strings.Join(strings.Fields(f.text[f.offset(n.Pos()):f.offset(n.End())]), " "))
}

// visit adds the mutants of a node. It reports whether to go on below it.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.Ident)
		return !ok || called.Name != "make" // a capacity changes nothing
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.add(n.Body, "skip the loop", "{ if mutantOn(#) { break }; [X] }", n.Body)
	case *ast.RangeStmt:
		f.add(n.Body, "skip the loop", "{ if mutantOn(#) { break }; [X] }", n.Body)
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			f.negate(n)
		} else if swap, ok := swaps[n.Op]; ok {
			f.add(n, fmt.Sprintf("%s → %s in %s", n.Op, swap.other, f.line(n)), swap.form, n.X, n.Y)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.negate(n)
		}
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			f.negate(n)
		}
	case *ast.BasicLit:
		if t, ok := f.info.TypeOf(n).(*types.Basic); ok && n.Kind == token.INT && t.Info()&types.IsUntyped == 0 {
			f.add(n, n.Value+" → "+n.Value+" + 1", fmt.Sprintf("mutantNext(#, %s([X]))", t), n)
		}
	}
	return true
}

// swaps are the exchanges of operators.
var swaps = map[token.Token]struct {
	other token.Token
	form  string
}{
	token.LAND: {token.LOR, "(mutantOn(#) && (([X]) || ([Y])) || !mutantOn(#) && ([X]) && ([Y]))"},
	token.LOR:  {token.LAND, "(mutantOn(#) && ([X]) && ([Y]) || !mutantOn(#) && (([X]) || ([Y])))"},
	token.LSS:  {token.LEQ, "mutantLess(#, [X], [Y])"},
	token.GTR:  {token.GEQ, "mutantLess(#, [Y], [X])"},
	token.LEQ:  {token.LSS, "(!mutantLess(#, [Y], [X]))"},
	token.GEQ:  {token.GTR, "(!mutantLess(#, [X], [Y]))"},
	token.ADD:  {token.SUB, "mutantSum(#, [X], [Y])"},
	token.SUB:  {token.ADD, "mutantDifference(#, [X], [Y])"},
}

// statements drops statements, and returns the zero value or true for other values.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			for _, result := range s.Results {
				if f.info.Types[result].Value == nil && !strings.HasSuffix(f.line(result), "{}") {
					f.add(result, "return the zero value for "+f.line(result), "mutantZero(#, [X])", result)
					f.add(result, "return true for "+f.line(result), "(mutantOn(#) || ([X]))", result)
				}
			}
		case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.BranchStmt, *ast.DeferStmt, *ast.GoStmt,
			*ast.SendStmt, *ast.IfStmt:
			f.add(s, "drop "+f.line(s), "if !mutantOn(#) { [X] }", s)
		}
	}
}

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
	compiled := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	random := rand.New(rand.NewSource(*seed))
	list := output(append([]string{"list", "-export", "-deps", "-json", "cmp", "os", "path/filepath", "strconv",
		"sync"}, patterns...)...)
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
	must(0, os.WriteFile(filepath.Join(dir, "overlay.json"),
		must(json.Marshal(map[string]any{"Replace": replaced})), 0o600))
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
	slices.SortStableFunc(mutants, func(a, b *mutant) int {
		return cmp.Or(a.start-b.start, b.end-a.end, len(a.nodes)-len(b.nodes))
	})
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
			pairs = append(pairs, []string{"[X]", "[Y]"}[j],
				s.part(s.offset(n.Pos()), s.offset(n.End()), mutants[i+1:]))
		}
		strings.NewReplacer(pairs...).WriteString(&b, m.form)
		start = m.end
	}
	return b.String() + s.text[start:end]
}
