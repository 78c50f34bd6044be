//go:build unix

package worker

import (
	"os"
	"syscall"
)

// confineSystem takes from the process the right to open anything: no file, no connection, no pipe to a program. What
// is open already stays so. It also limits the memory for data, where the system has such a limit.
func confineSystem(memory uint64) {
	limitData(memory)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return
	}
	next := null.Fd() // the lowest number that is free: every file that is opened from here on would take it, or a higher one
	null.Close()
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		set(&limit.Cur, next)
		set(&limit.Max, next)
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
}

// set sets a limit, whose type depends on the system.
func set[T int64 | uint64](limit *T, n uintptr) { *limit = T(n) }
