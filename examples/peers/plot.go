package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
)

// The drawing is a bar for every ratio of times, on a logarithmic scale. Bars begin at the line where both take the
// same time: to its right the alternative is slower than fieldlock, to its left faster.
const (
	plotWidth  = 900
	labelWidth = 430
	barsWidth  = 390
	lineHeight = 22
	top        = 92
	least      = 0.2
	most       = 1_000
)

// style reads on light and dark pages: a viewer that prefers dark colours gets them.
const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 17px; font-weight: 600 }
.group { font-weight: 600 }
.note, .scale { fill: #57606a }
.scale { font-size: 11px }
.value { font-variant-numeric: tabular-nums }
.faster { fill: #2f6fbf }
.slower { fill: #b4690e }
.grid { stroke: #d0d7de }
.even { stroke: #24292f; stroke-width: 1.5 }
.target { stroke: #cf222e; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #d7dde3 }
  .note, .scale { fill: #9aa4ae }
  .faster { fill: #6ea8ef }
  .slower { fill: #f0a04b }
  .grid { stroke: #3d444d }
  .even { stroke: #d7dde3 }
  .target { stroke: #ff7b72 }
}
</style>
`

// picture is an SVG document on the way.
type picture struct {
	bytes.Buffer
	y int // of the line of text that is drawn next
}

// drawing returns the groups as an SVG picture.
func drawing(groups []group) []byte {
	p := &picture{y: top}
	for _, g := range groups {
		p.group(g)
	}
	bottom := p.y
	out := &picture{}
	fmt.Fprintf(out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Speed of fieldlock and its alternatives">`+"\n",
		plotWidth, bottom+10, plotWidth, bottom+10)
	out.WriteString(style)
	out.y = 20
	out.text(0, "title", "start", "How long each alternative takes, as a multiple of the time of fieldlock")
	out.y += lineHeight
	out.text(0, "note", "start", "Processor time for the same work, logarithmic. Right of the line at 1× fieldlock "+
		"is faster. The red stroke is the target.")
	for _, times := range []float64{1, 10, 100, 1_000} {
		class := "grid"
		if times == 1 {
			class = "even"
		}
		x := place(times)
		out.y = top - 22
		out.text(x, "scale", "middle", fmt.Sprintf("%g×", times))
		out.line(class, x, top-16, bottom)
	}
	out.y = top - 22
	out.text(place(1)-16, "scale", "end", "as fast:")
	out.Write(p.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (p *picture) text(x int, class, anchor, s string) {
	fmt.Fprintf(p, `<text x="%d" y="%d" class="%s" text-anchor="%s">`, x, p.y, class, anchor)
	_ = xml.EscapeText(p, []byte(s)) // a buffer takes everything
	p.WriteString("</text>\n")
}

func (p *picture) line(class string, x, from, to int) {
	fmt.Fprintf(p, `<line x1="%d" y1="%d" x2="%d" y2="%d" class="%s"/>`+"\n", x, from, x, to, class)
}

func (p *picture) group(g group) {
	p.y += lineHeight
	p.text(0, "group", "start", g.title)
	p.y += lineHeight - 4
	p.text(0, "note", "start", g.conclusion)
	for i := range g.rows {
		if r := &g.rows[i]; r.unit == inTime {
			p.y += lineHeight
			p.row(r)
		}
	}
	p.y += lineHeight / 2
}

func (p *picture) row(r *row) {
	times, target := r.ratio(), r.target
	if !r.atLeast {
		times, target = 1/times, 1/target
	}
	p.text(labelWidth-10, "", "end", r.part.name+": "+r.peer.name)
	class, from, to := "faster", place(1), place(times)
	if times < 1 {
		class, from, to = "slower", to, from
	}
	fmt.Fprintf(p, `<rect x="%d" y="%d" width="%d" height="12" class="%s"/>`+"\n", from, p.y-11, max(to-from, 1), class)
	end := to
	if r.target > 0 {
		x := place(target)
		p.line("target", x, p.y-13, p.y+3)
		end = max(end, x)
	}
	value := fmt.Sprintf("%.0f×", times)
	if times < 10 {
		value = fmt.Sprintf("%.2g×", times)
	}
	p.text(end+7, "value", "start", value)
}

// place returns where a ratio is on the scale.
func place(times float64) int {
	times = min(max(times, least), most)
	return labelWidth + int(barsWidth*math.Log(times/least)/math.Log(most/least))
}
