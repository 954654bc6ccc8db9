package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

var colours = []string{"#0b5394", "#e69138", "#6aa84f"}

// A row of a plot has a bar for each series; a figure without runs and value has none.
type row struct {
	label string
	bars  []figure
}

const (
	plotWidth = 900
	plotLeft  = 320
	plotRight = 110
	barHeight = 12
)

// plot draws horizontal bars, with a line from the lowest to the highest run.
func plot(heading string, series []string, rows []row) []byte {
	most := 0.0
	for _, r := range rows {
		for _, f := range r.bars {
			most = max(most, f.Value, f.High)
		}
	}
	var out bytes.Buffer
	text := func(x, y float64, style, s string) {
		fmt.Fprintf(&out, `<text x="%.0f" y="%.0f" %s>`, x, y, style)
		_ = xml.EscapeText(&out, []byte(s)) // a buffer never fails
		out.WriteString("</text>\n")
	}
	at := func(v float64) float64 { return plotLeft + (plotWidth-plotLeft-plotRight)*v/most }
	text(20, 24, `font-weight="bold" font-size="15"`, heading)
	x := 20.0
	for i, s := range series {
		fmt.Fprintf(&out, `<rect x="%.0f" y="36" width="10" height="10" fill="%s"/>`+"\n", x, colours[i%len(colours)])
		text(x+15, 46, "", s)
		x += 40 + 7*float64(len(s))
	}
	y := 64.0
	for _, r := range rows {
		text(plotLeft-8, y+barHeight*float64(len(r.bars))/2+4, `text-anchor="end"`, r.label)
		for i, f := range r.bars {
			if f.Value > 0 {
				fmt.Fprintf(&out, `<rect x="%d" y="%.0f" width="%.1f" height="%d" fill="%s"/>`+"\n", plotLeft, y, at(f.Value)-plotLeft,
					barHeight-2, colours[i%len(colours)])
				end := f.Value
				if f.High > f.Low {
					end = f.High
					fmt.Fprintf(&out, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#000"/>`+"\n", at(f.Low), at(f.High), y+5, y+5)
				}
				text(at(end)+5, y+9, `font-size="10" fill="#444"`, number(f.Value)+" "+f.Unit)
			}
			y += barHeight
		}
		y += 8
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, plotWidth, y+10, plotWidth, y+10, out.String())
}
