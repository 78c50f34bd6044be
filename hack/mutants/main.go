// Command mutants changes packages in small ways, one at a time, and prints the changes that no test notices:
//
//	go run ./hack/mutants -n 60 -seed 1 -with ./internal/suite ./internal/check
//
// It takes a random sample of the mutants of each package and compiles all of them into the test binaries, where the
// variable MUTANT picks one. A mutant dies when a test fails, panics or takes too long.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

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
	list := output(append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, targets...)...)
	for line := range strings.Lines(list) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		try(mutants, dir, path, folder)
	}
	survivors := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.died })
	for _, m := range survivors {
		fmt.Println(m)
	}
	fmt.Printf("%d mutants, %d survived\n", len(mutants), len(survivors))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal("mutants: ", err)
	}
	return v
}

// output runs the go command.
func output(args ...string) string {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	return string(must(cmd.Output()))
}

// try runs the tests of a package: without a mutant, when they must pass, and then with each mutant that they reach.
func try(mutants []*mutant, dir, path, folder string) {
	binary, reached, overlay := filepath.Join(dir, "test"), must(os.MkdirTemp(dir, "reached")), "-overlay="+filepath.Join(dir, "overlay.json")
	output("test", "-c", "-vet=off", overlay, "-o", binary, path)
	run := func(limit time.Duration, variable string, args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		shell := []string{"-c", `ulimit -v 16000000; exec "$0" "$@"`, binary} // a mutant may take all memory
		cmd := exec.CommandContext(ctx, "sh", slices.Concat(shell, strings.Fields(*flags), args)...)
		// A mutant may run git in the wrong folder: it must not find the repository of the package, and change that.
		cmd.Env = append(os.Environ(), variable, "GOFLAGS="+overlay, "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder))
		cmd.Dir, cmd.WaitDelay = folder, time.Second
		return cmd.CombinedOutput()
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
			m.reached, m.died = true, err != nil
			<-free
		})
	}
	wait.Wait()
}
