package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
)

// progress shows on a terminal how far the work is, when it takes long enough for anyone to ask. Safe for concurrent
// use; a nil progress shows nothing.
type progress struct {
	w     io.Writer
	stop  chan struct{}
	done  sync.WaitGroup
	ended sync.Once

	mu         sync.Mutex
	verb, noun string
	n, total   int // total 0: unknown
	drawn      bool
}

// When progress is shown first, and how often then.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// newProgress returns a progress that draws until it is ended, or nil when w is not a terminal.
func newProgress(w io.Writer) *progress {
	if !report.IsTerminal(w) {
		return nil
	}
	p := &progress{w: w, stop: make(chan struct{})}
	p.done.Go(func() {
		for wait := progressAfter; ; wait = progressEvery {
			select {
			case <-p.stop:
				return
			case <-time.After(wait):
				p.draw()
			}
		}
	})
	return p
}

// begin starts a phase, such as "reading" files, of total steps; 0 when nobody knows.
func (p *progress) begin(verb, noun string, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verb, p.noun, p.n, p.total = verb, noun, 0, total
}

// step says that one more is done.
func (p *progress) step() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
}

// draw writes the line anew.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawn = true
	if p.n == 0 && p.total == 0 { // files of git and the output of commands come all at once
		fmt.Fprint(p.w, "\r\x1b[Kreading")
		return
	}
	if p.total > 0 {
		fmt.Fprintf(p.w, "\r\x1b[K%s %d of %s", p.verb, p.n, report.Count(p.total, p.noun))
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s %s", p.verb, report.Count(p.n, p.noun))
}

// end stops drawing and clears the line; a second call does nothing.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.ended.Do(func() {
		close(p.stop)
		p.done.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.drawn {
			fmt.Fprint(p.w, "\r\x1b[K")
		}
	})
}
