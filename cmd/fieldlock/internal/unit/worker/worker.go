// Package worker renders units in child processes of the same program, which can be killed. A renderer of templates
// cannot be stopped from within, and what it reads may be hostile.
//
// A worker gets jobs over its standard input, one after another, each with the files that it needs. It has no other
// files, opens none, and therefore neither connects to a network nor starts a program. Its answers go to standard
// output.
package worker

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing/fstest"
	"time"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Job is one unit to render.
type Job struct {
	// Kind names the renderer.
	Kind string
	// Dir is the directory to render, below the root of the tree.
	Dir string
	// Spec is what else the renderer has to know, in its own encoding.
	Spec []byte
	// Texts asks for objects in YAML as the tool prints them, where JSON costs less.
	Texts bool
	// Files are the contents of the files that it may read, by their paths below the root of the tree.
	Files map[string][]byte
	// Links are the texts of links, by their paths.
	Links map[string]string
	// Lacking is for the renderer to fill.
	Lacking *rendered.Lacking
}

// answer is what came of a job.
type answer struct {
	Objects    []rendered.Object
	NotCovered *rendered.NotCovered
	Lacks      *rendered.NotCovered // what Objects were rendered without, nil for nothing
	Err        string               // "" for none
}

// Renderer renders one job. The files are those of the job.
type Renderer func(ctx context.Context, files fstest.MapFS, job *Job) ([]rendered.Object, error)

// argument makes a program a worker.
const argument = "render-as-worker"

// limitVariable is the environment variable with the limit of a worker's memory, in bytes.
const limitVariable = "FIELDLOCK_WORKER_MEMORY"

// Asked reports whether the command line asks the program to be a worker. Then it has to call Main before anything
// else.
func Asked(args []string) bool { return len(args) == 2 && args[1] == argument }

// idleTime is how long a worker waits for a job before it returns free memory to the system. The program that started
// it may need it.
const idleTime = 50 * time.Millisecond

// Main serves jobs until its input ends, and returns the exit status.
func Main(renderers map[string]Renderer) int {
	var limit uint64
	fmt.Sscan(os.Getenv(limitVariable), &limit)
	confine(limit)
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	idle := time.AfterFunc(idleTime, debug.FreeOSMemory)
	for {
		var job Job
		idle.Reset(idleTime)
		err := in.Decode(&job)
		idle.Stop()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return 0
			}
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if err := out.Encode(render(renderers, &job)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// render renders one job. A panic of a renderer is its error.
func render(renderers map[string]Renderer, job *Job) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{Err: fmt.Sprintf("%s: the renderer failed: %v", job.Dir, r)}
		}
	}()
	files := fstest.MapFS{}
	for name, data := range job.Files {
		files[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	for name, text := range job.Links {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: fs.ModeSymlink | 0o777}
	}
	do := renderers[job.Kind]
	if do == nil {
		return answer{Err: fmt.Sprintf("nothing renders a %s", job.Kind)}
	}
	job.Lacking = &rendered.Lacking{}
	objects, err := do(context.Background(), files, job)
	var missing *rendered.NotCovered
	switch {
	case errors.As(err, &missing):
		return answer{NotCovered: missing}
	case err != nil && job.Lacking.First != nil: // such as a patch of what is missing
		return answer{NotCovered: job.Lacking.First}
	case err != nil:
		return answer{Err: err.Error()}
	}
	return answer{Objects: objects, Lacks: job.Lacking.First}
}

// firstLine returns the first line of what a worker wrote to its standard error, shortened, for a message.
func firstLine(text string) string {
	const limit = 300
	text = strings.TrimSpace(text)
	if line, _, ok := strings.Cut(text, "\n"); ok {
		text = line
	}
	return text[:min(len(text), limit)]
}

// tooMuchMemory is what a worker writes when it ends for the memory that it has samples.
const tooMuchMemory = "too much memory"

// confine limits what this process may take and do. The system enforces what it can: see confineSystem. Everywhere, a
// watcher ends the process when it has samples too much memory, or when the program that started it is gone.
func confine(memory uint64) {
	if memory > 0 {
		debug.SetGCPercent(100)                     // with 200, two workers take 100 MB more, and 3 % less time
		debug.SetMemoryLimit(int64(memory / 4 * 3)) // from here on the collector works harder
	}
	ballast := make([]byte, min(48<<20, memory/8)) // nobody touches it, so it takes no memory; the collector waits longer
	confineSystem(memory)
	parent := os.Getppid()
	go func() {
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"},
			{Name: "/memory/classes/heap/released:bytes"}}
		for {
			time.Sleep(50 * time.Millisecond)
			if os.Getppid() != parent {
				os.Exit(1)
			}
			metrics.Read(samples)
			if memory > 0 && samples[0].Value.Uint64()-samples[1].Value.Uint64() > memory {
				fmt.Fprintln(os.Stderr, tooMuchMemory)
				os.Exit(1)
			}
			runtime.KeepAlive(ballast)
		}
	}()
}
