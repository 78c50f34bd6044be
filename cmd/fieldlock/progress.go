package main

import (
	"fmt"
	"io"
	"time"
)

// progress shows on a terminal how far the work is, when it takes long enough for anyone to ask.
type progress struct {
	w     io.Writer // nil: nobody looks
	total int
	now   func() time.Time

	next  time.Time
	shown bool
}

// When progress is shown first, and how often then.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

func newProgress(w io.Writer, total int) *progress {
	p := &progress{total: total, now: time.Now}
	if isTerminal(w) {
		p.w = w
	}
	p.next = p.now().Add(progressAfter)
	return p
}

// at says that n objects are done.
func (p *progress) at(n int) {
	if p.w == nil {
		return
	}
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	fmt.Fprintf(p.w, "\r\x1b[Kchecked %d of %s", n, count(p.total, "object"))
}

// done clears the line.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
