// Command mutants changes packages in small ways, one at a time, and prints the changes that no test notices:
//
//	go run ./hack/mutants -n 60 -seed 1 -with ./internal/suite ./internal/check
//
// It takes a random sample of the mutants of each package and compiles all of them into the test binaries, where the
// variable MUTANT picks one. A mutant dies when a test fails, panics or takes too long; those of the last sort are named, as
// a busy machine makes them, too: try them again by their numbers, with -only and a larger -limit. A test that counts
// allocations may fail in the woven code: leave it out with -flags "-test.short -test.skip=NAME".
package main

import (
	"cmp"
	"context"
	"errors"
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
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return !slices.Contains(numbers, fmt.Sprint(m.id)) })
	}
	if *with != "" {
		targets = append(targets, strings.Split(*with, ",")...)
	}
	list := output(append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"}, targets...)...)
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
	binary, reached, overlay := filepath.Join(dir, "test"), must(os.MkdirTemp(dir, "reached")), "-overlay="+filepath.Join(dir, "overlay.json")
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
