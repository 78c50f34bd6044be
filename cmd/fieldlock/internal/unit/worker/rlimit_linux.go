package worker

import "syscall"

// limitData limits the memory that can be written to. The address space would be the wrong limit: Go reserves much of
// it.
func limitData(memory uint64) {
	if memory > 0 {
		syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory})
	}
}
