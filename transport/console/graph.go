package console

import "strconv"

// graph is the drawing of a topic with its subscriptions.
type graph struct {
	Width, Height int
	Topic         node
	Nodes         []node
	More          int // subscriptions that are not drawn
}

// node is a box of a graph with the line that leads to it.
type node struct {
	X, Y, Width, Height int
	Label, Note, Tone   string
	URL                 string
	Edge                string // path from the topic
	TextX, TextY, NoteY int
}

const (
	graphWidth = 760
	boxWidth   = 300
	boxHeight  = 44
	boxGap     = 12
	boxInset   = 14
	nodesMax   = 40
	labelMax   = 34
)

// drawGraph places the topic left and its subscriptions right.
func drawGraph(t topicPage) graph {
	shown := t.Subscriptions[:min(len(t.Subscriptions), nodesMax)]
	g := graph{Width: graphWidth, Height: max(1, len(shown))*(boxHeight+boxGap) + boxGap, More: len(t.Subscriptions) - len(shown)}
	middle := g.Height / 2
	g.Topic = box(1, middle-boxHeight/2, line(labelMax, t.Name), "topic", "topic")
	x := graphWidth - boxWidth - 1
	for i, s := range shown {
		y := boxGap + i*(boxHeight+boxGap)
		label, note, tone := s.Queue, "all messages", "ok"
		if label == "" {
			label = s.Endpoint
		}
		switch {
		case s.Missing:
			note, tone = "the queue does not exist", "bad"
		case s.Pending:
			note, tone = "not confirmed", "delayed"
		case s.Filter != "":
			note, tone = "filtered", "flight"
		}
		if t.Tested && t.Problem == "" && !s.Pending && !s.Missing {
			note, tone = "does not get it", "muted"
			if s.Gets {
				note, tone = "gets it", "ok"
			}
		}
		n := box(x, y, line(labelMax, label), note, tone)
		n.URL = s.URL
		from, to, center := 1+boxWidth, x, y+boxHeight/2
		bend := strconv.Itoa((from + to) / 2)
		n.Edge = "M" + strconv.Itoa(from) + " " + strconv.Itoa(middle) + " C" + bend + " " + strconv.Itoa(middle) + " " + bend + " " +
			strconv.Itoa(center) + " " + strconv.Itoa(to) + " " + strconv.Itoa(center)
		g.Nodes = append(g.Nodes, n)
	}
	return g
}

func box(x, y int, label, note, tone string) node {
	const labelAt, noteAt = 19, 35
	return node{X: x, Y: y, Width: boxWidth, Height: boxHeight, Label: label, Note: note, Tone: tone,
		TextX: x + boxInset, TextY: y + labelAt, NoteY: y + noteAt}
}
