//go:build unix

package manifest

import (
	"os/exec"
	"syscall"
)

// killWithChildren makes the end of a command's context kill what the command has started, too: helm below a shell, for
// example.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
