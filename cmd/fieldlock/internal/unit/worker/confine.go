package worker

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// tooMuchMemory is what a worker writes when it ends for the memory that it has taken.
const tooMuchMemory = "too much memory"

// Ballast is memory that nobody touches, so that the system does not provide it. As long as a process keeps it, the collector waits
// until the process has taken some memory: most end before, and collecting was a fifth of their time.
func Ballast() []byte { return make([]byte, 48<<20) }

// confine limits what this process may take and do. The system enforces what it can: see confineSystem. Everywhere, a watcher
// ends the process when it has taken too much memory, or when the program that started it is gone.
func confine(memory uint64) {
	if memory > 0 {
		debug.SetGCPercent(200)                     // jobs are short
		debug.SetMemoryLimit(int64(memory / 4 * 3)) // from here on the collector works harder
	}
	ballast := Ballast()
	confineSystem(memory)
	parent := os.Getppid()
	go func() {
		taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			time.Sleep(50 * time.Millisecond)
			if os.Getppid() != parent {
				os.Exit(1)
			}
			metrics.Read(taken)
			if memory > 0 && taken[0].Value.Uint64()-taken[1].Value.Uint64() > memory {
				fmt.Fprintln(os.Stderr, tooMuchMemory)
				os.Exit(1)
			}
			runtime.KeepAlive(ballast)
		}
	}()
}
