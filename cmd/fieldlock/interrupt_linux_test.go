package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptedRender: --render that a signal ends leaves neither the copies of the trees nor its command, nor what
// that has started.
func TestInterruptedRender(t *testing.T) {
	if os.Getenv("FIELDLOCK_TEST_MAIN") != "" {
		os.Exit(run([]string{"check", "--git", "HEAD..HEAD", "--render", "sh -c 'sleep 600 & echo $! >$PIDS/child; wait'"}, streams{os.Stdin, os.Stdout, os.Stderr}))
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	repositoryOf(t, map[string]string{"web.yaml": deployment}, map[string]string{"web.yaml": deployment + "---\n"})
	temporary, pids := t.TempDir(), t.TempDir()
	cmd := exec.Command(program, "-test.run=^TestInterruptedRender$")
	cmd.Env = append(os.Environ(), "FIELDLOCK_TEST_MAIN=1", "TMPDIR="+temporary, "PIDS="+pids)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := 0
	for deadline := time.Now().Add(time.Minute); child == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the command did not start")
		}
		text, _ := os.ReadFile(filepath.Join(pids, "child"))
		child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if left, _ := os.ReadDir(temporary); len(left) == 0 {
		t.Fatal("there are no copies of the trees to remove")
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitUnread {
		t.Errorf("got %v, want status %d", err, exitUnread)
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("%d copies are left", len(left))
	}
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(child, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			syscall.Kill(child, syscall.SIGKILL)
			t.Fatal("what the command has started still runs")
		}
	}
}
