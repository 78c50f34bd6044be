//go:build !unix

package manifest

import "os/exec"

// killWithChildren does nothing: only Unix has groups of processes.
func killWithChildren(*exec.Cmd) {}
