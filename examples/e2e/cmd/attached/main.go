// Command attached runs a program that does not end with the tests by itself: when its own standard input ends, it
// kills the program. It passes SIGTERM on, and exits with the program's status.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	program := exec.Command(os.Args[1], os.Args[2:]...)
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	if err := program.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = program.Process.Kill()
	}()
	go func() {
		for s := range terminate {
			_ = program.Process.Signal(s)
		}
	}()
	_ = program.Wait()
	os.Exit(program.ProcessState.ExitCode())
}
