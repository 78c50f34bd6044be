package main

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// subject is something that takes time.
type subject struct {
	name    string
	do      func()
	each    int   // how often do does it; 0 is once
	batch   int   // how often do runs in a round
	garbage bool  // do leaves something to collect
	clock   int32 // of the thread's or the process's processor time
}

// How long a subject runs in a round, at least. One that leaves garbage runs for so long that its garbage is collected
// during the round: allocating costs that, too.
const (
	aRound           = 4 * time.Millisecond
	aRoundForGarbage = 40 * time.Millisecond
)

// processorTime returns how long this thread, or all of this process, has run, by a clock that does not wait for ticks.
func processorTime(clock int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		panic(err) // only for a bad argument
	}
	return time.Duration(ts.Nano())
}

// prepare finds out how to measure s.
func (s *subject) prepare() {
	if s.batch > 0 {
		return
	}
	s.garbage = testing.AllocsPerRun(5, s.do) >= 1
	s.clock = unix.CLOCK_THREAD_CPUTIME_ID
	least := aRound
	if s.garbage {
		s.clock = unix.CLOCK_PROCESS_CPUTIME_ID
		least = aRoundForGarbage
	}
	for s.batch = 1; s.run()*float64(s.batch*max(s.each, 1)) < float64(least); {
		s.batch *= 2
	}
}

// run returns the processor time that s takes once, in nanoseconds.
func (s *subject) run() float64 {
	start := processorTime(s.clock)
	for range s.batch {
		s.do()
	}
	return float64(processorTime(s.clock)-start) / float64(s.batch*max(s.each, 1))
}

// bytes returns how much s allocates.
func (s *subject) bytes() float64 {
	const times = 5
	s.do()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		s.do()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / times
}

// measure runs the two subjects of each row, one right after the other, round by round, and fills in what they take. A
// subject that leaves nothing to collect is charged its thread alone. What the one before it left is collected first.
// After that the objects of the groups are dropped: marking them would slow down the collections of the next groups.
func measure(rounds int, groups []group) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	garbage := false
	run := func(s *subject) float64 {
		if s == nil {
			return 0
		}
		s.prepare()
		if garbage {
			runtime.GC()
		}
		garbage = s.garbage
		return s.run()
	}
	for round := range rounds {
		for g := range groups {
			for i := range groups[g].rows {
				r := &groups[g].rows[i]
				var part, peer float64
				switch {
				case r.unit == inBytes && round > 0:
					continue
				case r.unit == inBytes:
					part, peer, garbage = r.part.bytes(), r.peer.bytes(), true
				case round%2 == 0:
					part = run(r.part)
					peer = run(r.peer)
				default:
					peer = run(r.peer)
					part = run(r.part)
				}
				r.parts, r.peers = append(r.parts, part), append(r.peers, peer)
			}
		}
	}
	for g := range groups {
		for i := range groups[g].rows {
			r := &groups[g].rows[i]
			r.allocates = r.noAllocs && testing.AllocsPerRun(5, r.part.do) != 0
		}
	}
	for g := range groups {
		for i := range groups[g].rows {
			r := &groups[g].rows[i]
			r.part = &subject{name: r.part.name}
			if r.peer != nil {
				r.peer = &subject{name: r.peer.name}
			}
		}
	}
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
