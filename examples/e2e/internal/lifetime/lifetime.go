// Package lifetime ends a process when the one that started it is gone.
package lifetime

import (
	"io"
	"os"
)

// EnvName is the environment variable that ties a process to its standard input.
const EnvName = "FIELDLOCK_E2E_END_WITH_STDIN"

// EndWithStdin ends this process as soon as its standard input does, where EnvName is set. The parent holds the other
// end of that pipe, and the kernel closes it however the parent ends: a test that is killed leaves no server behind.
func EndWithStdin() {
	if os.Getenv(EnvName) == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}
