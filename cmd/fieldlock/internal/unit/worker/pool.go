package worker

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Limits bound what rendering may take. The zero value of a field stands for its default.
type Limits struct {
	Unit   time.Duration // for one unit; by default a minute
	All    time.Duration // for all units of a pool; by default five minutes
	Memory uint64        // of one worker, in bytes; by default 1 GB
}

func (l Limits) complete() Limits {
	if l.Unit == 0 {
		l.Unit = time.Minute
	}
	if l.All == 0 {
		l.All = 5 * time.Minute
	}
	if l.Memory == 0 {
		l.Memory = 1 << 30
	}
	return l
}

// Pool runs jobs in workers, which it starts when they are needed. Safe for concurrent use.
type Pool struct {
	limits Limits
	free   chan *process // nil for one that is not started

	mu       sync.Mutex
	deadline time.Time // of all jobs, zero before the first
}

// NewPool returns a pool with one worker for each processor, four at most. Close it after use.
func NewPool(limits Limits) *Pool {
	p := &Pool{limits: limits.complete(), free: make(chan *process, min(runtime.GOMAXPROCS(0), maxWorkers))}
	for range cap(p.free) {
		p.free <- nil
	}
	return p
}

const maxWorkers = 4

// Close ends the workers. No job may be running.
func (p *Pool) Close() {
	for range cap(p.free) {
		if w := <-p.free; w != nil {
			w.end()
		}
	}
}

// Render renders a job in a worker. lacks names the missing part that the objects were rendered without, nil if nothing
// is missing. The error is a *rendered.NotCovered, a mistake in the unit, or a limit of time or memory that the job has
// exceeded.
func (p *Pool) Render(job *Job) (objects []rendered.Object, lacks *rendered.NotCovered, err error) {
	limit, err := p.remaining()
	if err != nil {
		return nil, nil, err
	}
	w := <-p.free
	defer func() { p.free <- w }()
	if w == nil {
		if w, err = start(p.limits.Memory); err != nil {
			w = nil
			return nil, nil, fmt.Errorf("units cannot be rendered: %w", err)
		}
	}
	a, err := w.do(job, limit)
	if err != nil {
		w = nil
		return nil, nil, p.explain(job, err)
	}
	switch {
	case a.NotCovered != nil:
		return nil, nil, a.NotCovered
	case a.Err != "":
		return nil, nil, errors.New(a.Err)
	}
	return a.Objects, a.Lacks, nil
}

// remaining returns how long the next job may take.
func (p *Pool) remaining() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.deadline.IsZero() {
		p.deadline = now.Add(p.limits.All)
	}
	left := p.deadline.Sub(now)
	if left <= 0 {
		return 0, limitError(fmt.Sprintf("it was not rendered: all units together took more than %s", p.limits.All))
	}
	return min(left, p.limits.Unit), nil
}

// ErrLimit is what [errors.Is] finds in the error of a job that a limit stops.
var ErrLimit = errors.New("a limit is reached")

// limitError says which limit stops a job.
type limitError string

func (e limitError) Error() string { return string(e) }

func (e limitError) Is(target error) bool { return target == ErrLimit }

// errTime is the error of a job that takes too long.
var errTime = errors.New("it takes too long")

// explain says why a worker ended.
func (p *Pool) explain(job *Job, err error) error {
	var died *diedError
	switch {
	case errors.Is(err, errTime):
		return limitError(fmt.Sprintf("%s: rendering it took more than %s and was stopped",
			job.Dir, min(p.limits.Unit, p.limits.All)))
	case errors.As(err, &died) && died.outOfMemory():
		return limitError(fmt.Sprintf("%s: rendering it took more than %d MB of memory and was stopped",
			job.Dir, p.limits.Memory>>20))
	}
	return fmt.Errorf("%s: rendering it failed: %w", job.Dir, err)
}

// process is a worker seen from outside.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	encode *gob.Encoder
	decode *gob.Decoder
	stderr bounded
}

func start(memory uint64) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &process{cmd: exec.Command(program, argument)}
	// An empty environment: nothing tells a renderer where a configuration, a cache or a proxy is.
	w.cmd.Env = []string{fmt.Sprintf("%s=%d", limitVariable, memory), "TZ=UTC"}
	w.cmd.Dir = os.TempDir()
	w.cmd.Stderr = &w.stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.encode, w.decode = gob.NewEncoder(w.in), gob.NewDecoder(out)
	return w, nil
}

// do runs one job. After an error the worker has ended.
func (w *process) do(job *Job, limit time.Duration) (*answer, error) {
	late := false
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-done:
		case <-time.After(limit):
			late = true
			w.cmd.Process.Kill()
		}
	})
	a := &answer{}
	err := w.encode.Encode(job)
	if err == nil {
		err = w.decode.Decode(a)
	}
	close(done)
	watch.Wait()
	if err == nil && !late {
		return a, nil
	}
	w.in.Close()
	w.cmd.Process.Kill()
	waitErr := w.cmd.Wait()
	if late {
		return nil, errTime
	}
	return nil, &diedError{waitErr, w.stderr.String()}
}

// end ends a worker that has no job.
func (w *process) end() {
	w.in.Close()
	w.cmd.Process.Kill()
	w.cmd.Wait()
}

// diedError is the error of a worker that ended during a job.
type diedError struct {
	err    error
	stderr string
}

func (e *diedError) Error() string { return fmt.Sprintf("%v: %s", e.err, firstLine(e.stderr)) }

func (e *diedError) outOfMemory() bool {
	return strings.Contains(e.stderr, "out of memory") || strings.Contains(e.stderr, "cannot allocate memory") ||
		strings.Contains(e.stderr, tooMuchMemory)
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *bounded) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const limit = 4096
	b.b.Write(data[:min(len(data), max(limit-b.b.Len(), 0))])
	return len(data), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
