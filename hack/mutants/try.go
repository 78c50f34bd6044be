package main

import (
	"context"
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

// output runs a command of the go tool.
func output(verb string, args ...string) string {
	cmd := exec.Command("go", append([]string{verb}, args...)...)
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
		cmd.Dir, cmd.Env, cmd.WaitDelay = folder, append(os.Environ(), variable, "GOFLAGS="+overlay), time.Second
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
