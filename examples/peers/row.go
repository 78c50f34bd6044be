package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// group is rows about one question.
type group struct {
	title      string
	conclusion string // what the rows say as long as their targets are met
	rows       []row
}

// row compares two subjects: part is to cost at most, or peer at least, target times the other one.
type row struct {
	part, peer *subject
	target     float64
	atLeast    bool // peer/part is to be at least the target; else part/peer at most; target 0 only shows the ratio
	noAllocs   bool // part may not allocate
	unit       unit

	parts, peers []float64 // what the subjects take, by round
	allocates    bool      // although noAllocs is set
}

// unit is what is compared.
type unit int

const (
	inTime  unit = iota
	inNanos      // the time of part alone, compared with the target
	inBytes      // that are allocated
)

// ratio returns the median over the rounds of what the target is about.
func (r *row) ratio() float64 {
	if r.unit == inNanos {
		return median(r.parts)
	}
	ratios := make([]float64, len(r.parts))
	for i := range ratios {
		ratios[i] = r.parts[i] / r.peers[i]
		if r.atLeast {
			ratios[i] = 1 / ratios[i]
		}
	}
	return median(ratios)
}

// met reports whether the target is met.
func (r *row) met() bool {
	switch {
	case r.allocates:
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
	case r.unit == inNanos:
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
	case r.unit == inNanos:
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
func printTable(w io.Writer, groups []group) (missed int) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s\t\t\t\t\n", g.title)
		for i := range g.rows {
			r := &g.rows[i]
			verdict := "ok"
			if !r.met() {
				verdict = "MISSED"
				missed++
			}
			if r.target == 0 {
				verdict = ""
			}
			fmt.Fprintf(out, "  %s\t%s\t%s\t%s\t%s\n", r.title(), r.amounts(), r.result(), r.aim(), verdict)
		}
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

func (r *row) amounts() string {
	part := r.amount(median(r.parts))
	switch {
	case r.peer == nil:
		return part
	case r.atLeast:
		return r.amount(median(r.peers)) + " / " + part
	}
	return part + " / " + r.amount(median(r.peers))
}

// amount is short for nanoseconds or bytes.
func (r *row) amount(n float64) string {
	switch {
	case r.unit == inBytes:
		return fmt.Sprintf("%.0f KB", n/1e3)
	case n < 1e3:
		return fmt.Sprintf("%.0f ns", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f µs", n/1e3)
	}
	return fmt.Sprintf("%.2f ms", n/1e6)
}
