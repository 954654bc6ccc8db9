package report

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// picture is an SVG drawing that depends only on the history.
type picture struct {
	Title string
	SVG   template.HTML
}

// Scales: a second is perSecond wide, the heights are in pixels.
const (
	perSecond     = 10.0
	latencyHeight = 240
	rateHeight    = 90
	laneHeight    = 22
)

var colors = map[history.Result]string{history.OK: "#2a7", history.Fail: "#d80", history.Unknown: "#c22"}

// bandColors are the colors of the areas of faults.
var bandColors = map[string]string{
	"process": "#cdf", "network": "#fdc", "disk": "#dfd", "clock": "#fdf", "members": "#eee", "snapshots": "#dff", "failpoint": "#fcc",
}

// frame is the span of a history and its drawing.
type frame struct {
	strings.Builder
	from, to int64
}

func newFrame(events []history.Event) *frame {
	f := &frame{from: math.MaxInt64}
	for _, e := range events {
		if e.Kind == history.KindRun || e.Kind == history.KindAble {
			continue
		}
		f.from, f.to = min(f.from, e.Call), max(f.to, e.Return)
	}
	f.from = min(f.from, f.to)
	return f
}

func (f *frame) x(at int64) float64 { return float64(at-f.from) / 1e6 * perSecond }

// open begins the drawing with a band for each fault, with names at different heights, and a mark
// every ten seconds.
func (f *frame) open(events []history.Event, height int, names bool) {
	fmt.Fprintf(f, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d">`, f.x(f.to)+60, height+14)
	line := 0
	for _, e := range events {
		if e.Kind != history.KindFault || e.Error != "" {
			continue
		}
		fmt.Fprintf(f, `<rect x="%.1f" y="0" width="%.1f" height="%d" fill="%s" fill-opacity=".6"><title>%s</title></rect>`,
			f.x(e.Call), max(1, f.x(e.Return)-f.x(e.Call)), height, bandColors[e.Workload], template.HTMLEscapeString(e.Action+" "+e.Node))
		if names {
			fmt.Fprintf(f, `<text x="%.1f" y="%d" font-size="10">%s</text>`, f.x(e.Call), 10+11*(line%4),
				template.HTMLEscapeString(e.Action))
			line++
		}
	}
	for at := f.from; at <= f.to; at += 10_000_000 {
		fmt.Fprintf(f, `<text x="%.1f" y="%d" font-size="9" fill="#888">%d s</text>`, f.x(at), height+11, at/1_000_000)
	}
}

func (f *frame) close(title string) picture {
	f.WriteString(`</svg>`)
	// All texts from outside were escaped above.
	return picture{Title: title, SVG: template.HTML(f.String())}
}

// Pictures returns the drawings for the report of a run: latencies, rates, and roles. If there are
// many successful operations, only some have a mark, so that the files stay small. Lines are drawn
// from all of them.
func Pictures(events []history.Event) map[string]string {
	return map[string]string{
		"latency.svg": string(thinned(events, marksMost).SVG), "rates.svg": string(rates(events).SVG),
		"roles.svg": string(lanes(events).SVG),
	}
}

// marksMost bounds the marks of a picture.
const marksMost = 5000

// latencies draws a mark for each operation, of all nodes or one.
func latencies(events []history.Event, node string) picture { return drawLatencies(events, node, 1) }

// thinned omits marks of successful operations.
func thinned(events []history.Event, most int) picture {
	return drawLatencies(events, "", max(1, len(events)/most))
}

func drawLatencies(events []history.Event, node string, every int) picture {
	f := newFrame(events)
	f.open(events, latencyHeight, node == "")
	seconds := map[int64][]int64{}
	y := func(us int64) float64 {
		// The scale reaches from 1 ms at the bottom to 10 s at the top.
		return latencyHeight * (1 - min(1, math.Log10(max(1, float64(us)/1e3))/4))
	}
	for i, e := range events {
		if e.Kind != history.KindOp || node != "" && e.Node != node {
			continue
		}
		took := e.Return - e.Call
		seconds[e.Return/1_000_000] = append(seconds[e.Return/1_000_000], took)
		if e.Result == history.OK && i%every != 0 {
			continue
		}
		switch e.Action {
		case history.Send, history.SendBatch:
			fmt.Fprintf(f, `<circle cx="%.1f" cy="%.1f" r="1" fill="%s"/>`, f.x(e.Call), y(took), colors[e.Result])
		case history.Receive:
			fmt.Fprintf(f, `<rect x="%.1f" y="%.1f" width="1.6" height="1.6" fill="%s"/>`, f.x(e.Call), y(took), colors[e.Result])
		default:
			fmt.Fprintf(f, `<rect x="%.1f" y="%.1f" width="2.4" height=".8" fill="%s"/>`, f.x(e.Call), y(took), colors[e.Result])
		}
	}
	for _, line := range []struct {
		part  float64
		color string
	}{{.5, "#000"}, {.99, "#448"}, {1, "#a6a"}} {
		f.WriteString(`<polyline fill="none" stroke-width=".7" stroke="` + line.color + `" points="`)
		for _, second := range slices.Sorted(maps.Keys(seconds)) {
			times := slices.Sorted(slices.Values(seconds[second]))
			fmt.Fprintf(f, "%.1f,%.1f ", f.x(second*1_000_000+500_000), y(times[min(len(times)-1, int(line.part*float64(len(times))))]))
		}
		f.WriteString(`"/>`)
	}
	title := "All nodes"
	if node != "" {
		title = "Through " + template.HTMLEscapeString(node)
	}
	return f.close(title)
}

// rates draws how many operations ended in each second, by result.
func rates(events []history.Event) picture {
	f := newFrame(events)
	f.open(events, rateHeight, false)
	seconds := map[int64]map[history.Result]int{}
	most := 1
	for _, e := range events {
		if e.Kind != history.KindOp {
			continue
		}
		second := e.Return / 1_000_000
		if seconds[second] == nil {
			seconds[second] = map[history.Result]int{}
		}
		seconds[second][e.Result]++
		most = max(most, seconds[second][e.Result])
	}
	for _, second := range slices.Sorted(maps.Keys(seconds)) {
		for i, result := range []history.Result{history.OK, history.Fail, history.Unknown} {
			if n := seconds[second][result]; n > 0 {
				height := float64(n*rateHeight) / float64(most)
				fmt.Fprintf(f, `<rect x="%.1f" y="%.1f" width="3" height="%.1f" fill="%s"/>`, f.x(second*1_000_000)+float64(3*i),
					rateHeight-height, height, colors[result])
			}
		}
	}
	return f.close(fmt.Sprintf("Operations per second, at most %d", most))
}

var roleColors = map[string]string{"leader": "#36c", "follower": "#bcd", "candidate": "#ec3", "silent": "#d44", "down": "#222"}

// lanes draws the role of each node over time.
func lanes(events []history.Event) picture {
	f := newFrame(events)
	byNode := map[string][]history.Event{}
	for _, e := range events {
		if e.Kind == history.KindStatus && e.Status != nil {
			byNode[e.Node] = append(byNode[e.Node], e)
		}
	}
	nodes := slices.Sorted(maps.Keys(byNode))
	f.open(events, laneHeight*len(nodes), false)
	for i, node := range nodes {
		top := i * laneHeight
		looks := byNode[node]
		for j, e := range looks {
			end := f.to
			if j+1 < len(looks) {
				end = looks[j+1].Call
			}
			color := roleColors[e.Status.Role]
			if color == "" {
				color = "#999"
			}
			fmt.Fprintf(f, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s %s, term %d</title></rect>`, f.x(e.Call),
				top+3,
				f.x(end)-f.x(e.Call), laneHeight-8, color, template.HTMLEscapeString(node), template.HTMLEscapeString(e.Status.Role),
				e.Status.Term)
			if j > 0 && e.Status.Term > looks[j-1].Status.Term {
				fmt.Fprintf(f, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#000"/>`, f.x(e.Call), f.x(e.Call), top, top+5)
			}
		}
		fmt.Fprintf(f, `<text x="%.1f" y="%d" font-size="11">%s</text>`, f.x(f.to)+4, top+14, template.HTMLEscapeString(node))
	}
	for _, e := range events {
		if i := slices.Index(nodes, e.Node); i >= 0 && e.Kind == history.KindObserved && e.Action == "snapshot installed" {
			fmt.Fprintf(f, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#080" stroke-width="2"/>`, f.x(e.Call), f.x(e.Call),
				i*laneHeight, (i+1)*laneHeight-2)
		}
	}
	return f.close("Roles")
}

// aroundEach bounds the operations drawn on each side of a violation.
const aroundEach = 50

// around draws the operations on the queue of a violation that ended closest to it. Each is a box
// in the lane of its client.
func around(events []history.Event, at int64) picture {
	queue := ""
	for _, e := range events {
		if e.Kind == history.KindOp && e.Return == at {
			queue = e.Queue
		}
	}
	var near []history.Event
	for _, e := range events {
		if e.Kind == history.KindOp && e.Queue == queue {
			near = append(near, e)
		}
	}
	slices.SortStableFunc(near, func(a, b history.Event) int { return int(a.Return - b.Return) })
	middle, _ := slices.BinarySearchFunc(near, at, func(e history.Event, at int64) int { return int(e.Return - at) })
	near = near[max(0, middle-aroundEach):min(len(near), middle+aroundEach)]
	if queue == "" || len(near) == 0 {
		return picture{}
	}
	var clients []int
	from, to := near[0].Call, near[0].Return
	for _, e := range near {
		from, to = min(from, e.Call), max(to, e.Return)
		if !slices.Contains(clients, e.Client) {
			clients = append(clients, e.Client)
		}
	}
	var b strings.Builder
	x := func(t int64) float64 { return 900 * float64(t-from) / float64(max(1, to-from)) }
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="%d">`, 16*len(clients)+4)
	for _, e := range near {
		lane := slices.Index(clients, e.Client)
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="12" fill="%s" stroke="#fff" stroke-width=".3"><title>%d: client %d, %s through %s, %s %s</title></rect>`,
			x(e.Call), 16*lane, max(2, x(e.Return)-x(e.Call)), colors[e.Result], e.ID, e.Client, e.Action,
			template.HTMLEscapeString(e.Node), e.Result, template.HTMLEscapeString(e.Error+" "+e.Message))
	}
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="0" y2="%d" stroke="#000"/></svg>`, x(at), x(at), 16*len(clients))
	return picture{Title: queue, SVG: template.HTML(b.String())}
}
