package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// subject is something that takes time.
type subject struct {
	name  string
	do    func()
	each  int       // how often do does it; 0 is once
	batch int       // how often do runs in a round
	clock int32     // of the thread's or the process's processor time
	times []float64 // of one do, by round, in nanoseconds
}

// row compares two subjects: part is to cost at most, or peer at least, target times the other one.
type row struct {
	group      string
	part, peer *subject
	target     float64
	atLeast    bool // peer/part is to be at least the target; else part/peer at most; target 0 only shows the ratio
	noAllocs   bool // part may not allocate
	nanos      bool // part is compared with target nanoseconds, and there is no peer
}

// aRound is how long a subject runs in a round, at least.
const aRound = 4 * time.Millisecond

// processorTime returns how long this thread, or all of this process, has run, by a clock that does not wait for ticks.
func processorTime(clock int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		panic(err) // only for a bad argument
	}
	return time.Duration(ts.Nano())
}

func (s *subject) run() float64 {
	start := processorTime(s.clock)
	for range s.batch {
		s.do()
	}
	return float64(processorTime(s.clock)-start) / float64(s.batch*max(s.each, 1))
}

// measure runs the subjects of all rows in turn, round by round. A subject that leaves nothing to collect is charged its
// thread alone, as the rest of the process is still cleaning up after the one before it.
func measure(rounds int, rows []row) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var subjects []*subject
	for _, r := range rows {
		for _, s := range []*subject{r.part, r.peer} {
			if s != nil && !slices.Contains(subjects, s) {
				subjects = append(subjects, s)
			}
		}
	}
	for _, s := range subjects {
		s.clock = unix.CLOCK_PROCESS_CPUTIME_ID
		if testing.AllocsPerRun(5, s.do) <= 1 {
			s.clock = unix.CLOCK_THREAD_CPUTIME_ID
		}
		for s.batch = 1; s.run()*float64(s.batch*max(s.each, 1)) < float64(aRound); {
			s.batch *= 2
		}
	}
	for range rounds {
		for _, s := range subjects {
			runtime.GC()
			s.times = append(s.times, s.run())
		}
	}
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// ratio returns the median over the rounds of what the target is about.
func (r *row) ratio() float64 {
	if r.nanos {
		return median(r.part.times)
	}
	ratios := make([]float64, len(r.part.times))
	for i := range ratios {
		ratios[i] = r.part.times[i] / r.peer.times[i]
		if r.atLeast {
			ratios[i] = 1 / ratios[i]
		}
	}
	return median(ratios)
}

// met reports whether the target is met.
func (r *row) met() bool {
	switch {
	case r.noAllocs && testing.AllocsPerRun(5, r.part.do) != 0:
		return false
	case r.target == 0:
		return true
	case r.atLeast:
		return r.ratio() >= r.target
	}
	return r.ratio() <= r.target
}

func (r *row) aim() string {
	if r.target == 0 {
		return ""
	}
	aim := fmt.Sprintf("≤ %g×", r.target)
	switch {
	case r.nanos:
		aim = fmt.Sprintf("≤ %g ns", r.target)
	case r.atLeast:
		aim = fmt.Sprintf("≥ %g×", r.target)
	case r.target < 0.1:
		aim = fmt.Sprintf("≤ %g %%", r.target*100)
	}
	if r.noAllocs {
		aim += ", 0 allocations"
	}
	return aim
}

func (r *row) result() string {
	switch n := r.ratio(); {
	case r.nanos:
		return fmt.Sprintf("%.1f ns", n)
	case r.target > 0 && r.target < 0.1:
		return fmt.Sprintf("%.2f %%", n*100)
	case n >= 10:
		return fmt.Sprintf("%.0f×", n)
	default:
		return fmt.Sprintf("%.2f×", n)
	}
}

// printTable prints the rows and returns how many targets are missed.
func printTable(w io.Writer, rows []row) (missed int) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	group := ""
	for i := range rows {
		r := &rows[i]
		if r.group != group {
			group = r.group
			fmt.Fprintf(out, "\n%s\t\t\t\t\n", group)
		}
		verdict := "ok"
		if !r.met() {
			verdict = "MISSED"
			missed++
		}
		if r.target == 0 {
			verdict = ""
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\t%s\t%s\n", r.title(), r.times(), r.result(), r.aim(), verdict)
	}
	out.Flush()
	return missed
}

func (r *row) title() string {
	switch {
	case r.peer == nil:
		return r.part.name
	case r.atLeast:
		return r.peer.name + " / " + r.part.name
	}
	return r.part.name + " / " + r.peer.name
}

func (r *row) times() string {
	part := shortTime(median(r.part.times))
	switch {
	case r.peer == nil:
		return part
	case r.atLeast:
		return shortTime(median(r.peer.times)) + " / " + part
	}
	return part + " / " + shortTime(median(r.peer.times))
}

func shortTime(nanos float64) string {
	switch {
	case nanos < 1e3:
		return fmt.Sprintf("%.0f ns", nanos)
	case nanos < 1e6:
		return fmt.Sprintf("%.1f µs", nanos/1e3)
	}
	return fmt.Sprintf("%.2f ms", nanos/1e6)
}
