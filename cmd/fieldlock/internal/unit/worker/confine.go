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

// confine limits what this process may take and do. The system enforces what it can: see confineSystem. Everywhere, a watcher
// ends the process when it has taken too much memory, or when the program that started it is gone.
func confine(memory uint64) {
	if memory > 0 {
		debug.SetGCPercent(200)                     // jobs are short
		debug.SetMemoryLimit(int64(memory / 4 * 3)) // from here on the collector works harder
	}
	ballast := make([]byte, min(48<<20, memory/8)) // nobody touches it, so it takes no memory; the collector waits longer
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
