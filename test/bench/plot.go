package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
)

// Colours that differ in brightness, too.
var plotColours = []string{"#0b5394", "#e69138", "#6aa84f", "#a61c00", "#8e7cc3", "#666666"}

const (
	plotWidth = 900
	plotLeft  = 300 // where the labels end
	plotRight = 130 // room for figures
	plotRow   = 22
	plotInner = plotWidth - plotLeft - plotRight
)

// picture collects the parts of an SVG drawing.
type picture struct{ bytes.Buffer }

func (p *picture) add(format string, args ...any) { fmt.Fprintf(&p.Buffer, format, args...) }

func (p *picture) text(x, y float64, anchor, style, text string) {
	p.add(`<text x="%.1f" y="%.1f" text-anchor="%s"%s>`, x, y, anchor, style)
	_ = xml.EscapeText(p, []byte(text)) // a buffer takes everything
	p.WriteString("</text>\n")
}

func (p *picture) line(x1, y1, x2, y2 float64, colour string, width float64) {
	p.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f"/>`+"\n", x1, y1, x2, y2, colour, width)
}

// whisker is the way from the lowest to the highest run.
func (p *picture) whisker(from, to, y float64, colour string) {
	p.line(from, y, to, y, colour, 1.5)
	p.line(from, y-4, from, y+4, colour, 1.5)
	p.line(to, y-4, to, y+4, colour, 1.5)
}

// whole is the document around what was drawn.
func (p *picture) whole(height float64) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, plotWidth, height, plotWidth, height, p.String())
}

const (
	bold  = ` font-weight="bold"`
	title = ` font-weight="bold" font-size="15"`
	quiet = ` fill="#666"`
)

// legend writes names in their colours, in a line that begins at y.
func (p *picture) legend(names []string, y float64) {
	x := 20.0
	for i, name := range names {
		p.add(`<circle cx="%.1f" cy="%.1f" r="5" fill="%s"/>`+"\n", x, y-4, plotColours[i%len(plotColours)])
		p.text(x+9, y, "start", "", name)
		x += 30 + 7*float64(len(name))
	}
}

// runs are the figures of one thing, lowest first.
type runs []float64

func (r runs) low() float64  { return r[0] }
func (r runs) high() float64 { return r[len(r)-1] }

// dotRow is a line of a plot of dots. Of each name of the plot it has the runs;
// none: it was not measured.
type dotRow struct {
	label string
	dots  []runs
	goal  float64 // 0: none
}

// drawDots draws medians as dots and their spread as lines, on an axis on which
// each step is ten times the one before: a bar would have no length there.
func drawDots(heading, axis string, names []string, rows []dotRow) []byte {
	low, high := math.Inf(1), math.Inf(-1)
	include := func(v float64) {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	for _, row := range rows {
		include(row.goal)
		for _, d := range row.dots {
			if len(d) > 0 {
				include(d.low())
				include(d.high())
			}
		}
	}
	if high < low {
		low, high = 1, 10
	}
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	last = max(last, first+1)
	at := func(v float64) float64 {
		return plotLeft + plotInner*(max(math.Log10(v), first)-first)/(last-first)
	}
	p := &picture{}
	p.text(20, 24, "start", title, heading)
	p.legend(names, 46)
	top := 66.0
	bottom := top + plotRow*float64(len(rows))
	for power := first; power <= last; power++ {
		v := math.Pow(10, power)
		p.line(at(v), top, at(v), bottom, "#ddd", 1)
		p.text(at(v), bottom+16, "middle", quiet, fmt.Sprintf("%g", v))
	}
	p.text(plotLeft+plotInner/2, bottom+34, "middle", quiet, axis)
	for i, row := range rows {
		y := top + plotRow*(float64(i)+0.5)
		p.text(plotLeft-10, y+4, "end", "", row.label)
		if row.goal > 0 {
			p.line(at(row.goal), y-9, at(row.goal), y+9, "#c00", 3)
		}
		for j, d := range row.dots {
			if len(d) == 0 {
				continue
			}
			colour := plotColours[j%len(plotColours)]
			p.whisker(at(d.low()), at(d.high()), y, colour)
			p.add(`<circle cx="%.1f" cy="%.1f" r="5" fill="%s"/>`+"\n", at(median(d)), y, colour)
		}
	}
	return p.whole(bottom + 46)
}

// panel is a group of bars with a scale of its own.
type panel struct {
	heading string
	bars    []bar
}

// bar is a line of a panel. Without runs the note says why there are none.
type bar struct {
	label string
	runs  runs
	note  string
}

// drawBars draws panels below one another.
func drawBars(heading string, panels []panel) []byte {
	p := &picture{}
	p.text(20, 24, "start", title, heading)
	y := 40.0
	for _, group := range panels {
		y += 18
		p.text(20, y, "start", bold, group.heading)
		y += 6
		highest := 0.0
		for _, b := range group.bars {
			if len(b.runs) > 0 {
				highest = max(highest, b.runs.high())
			}
		}
		for i, b := range group.bars {
			p.bar(b, y, highest, plotColours[i%len(plotColours)])
			y += plotRow
		}
	}
	return p.whole(y + 16)
}

func (p *picture) bar(b bar, y, highest float64, colour string) {
	p.text(plotLeft-10, y+15, "end", "", b.label)
	if len(b.runs) == 0 || highest <= 0 {
		p.text(plotLeft+4, y+15, "start", quiet, b.note)
		return
	}
	at := func(v float64) float64 { return plotLeft + plotInner*v/highest }
	p.add(`<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="%s"/>`+"\n", plotLeft, y+2, at(median(b.runs))-plotLeft, plotRow-4, colour)
	p.whisker(at(b.runs.low()), at(b.runs.high()), y+plotRow/2, "#000")
	p.text(at(b.runs.high())+8, y+15, "start", "", fmt.Sprintf("%.0f", median(b.runs)))
}
