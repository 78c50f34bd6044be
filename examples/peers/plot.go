package main

import (
	"bytes"
	"fmt"
	"math"
)

// The drawing is a bar for every ratio on a logarithmic scale, with the target as a stroke across it.
const (
	plotWidth  = 860
	labelWidth = 380
	barsWidth  = 330
	lineHeight = 24
)

// style reads on light and dark pages: a viewer that prefers dark colours gets them.
const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.group { font-weight: 600 }
.value { font-variant-numeric: tabular-nums }
.bar { fill: #2f6fbf }
.target { stroke: #b35900; stroke-width: 2 }
.none { fill: #57606a }
@media (prefers-color-scheme: dark) {
  text { fill: #d7dde3 }
  .bar { fill: #6ea8ef }
  .target { stroke: #f0a04b }
  .none { fill: #9aa4ae }
}
</style>
`

// drawing returns the rows as an SVG picture: how many times faster fieldlock is than each peer.
func drawing(rows []row) []byte {
	var b bytes.Buffer
	y := 30
	text := func(x int, class, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, s)
	}
	text(0, "none", "start", "How many times the time of fieldlock each alternative takes (logarithmic); the stroke is the target.")
	group := ""
	for i := range rows {
		r := &rows[i]
		if r.nanos {
			continue
		}
		if r.group != group {
			group = r.group
			y += lineHeight + 10
			text(0, "group", "start", group)
		}
		y += lineHeight
		times, target := r.ratio(), r.target
		if !r.atLeast {
			times, target = 1/times, 1/target
		}
		label := r.part.name + ": " + r.peer.name
		text(labelWidth-10, "", "end", label)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="14" class="bar"/>`+"\n", labelWidth, y-12, place(times))
		if r.target > 0 {
			x := labelWidth + place(target)
			fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" class="target"/>`+"\n", x, y-15, x, y+5)
		}
		text(labelWidth+max(place(times), place(target))+10, "value", "start", short(times)+"×")
	}
	y += 20
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Speed of fieldlock against its alternatives">`+"\n",
		plotWidth, y, plotWidth, y)
	return append(append([]byte(head+style), b.Bytes()...), "</svg>\n"...)
}

// place returns the length of the bar of a ratio: 0.3 is the left end, 1,000 the right one.
func place(times float64) int {
	const from, to = 0.3, 1_000
	if times <= from {
		return 2
	}
	return min(barsWidth, int(barsWidth*math.Log(times/from)/math.Log(to/from)))
}

func short(times float64) string {
	if times < 10 {
		return fmt.Sprintf("%.2g", times)
	}
	return fmt.Sprintf("%.0f", times)
}
