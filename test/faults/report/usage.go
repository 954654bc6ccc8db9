package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

const usageHeight = 120

var nodeColors = []string{"#36c", "#c63", "#393", "#939", "#699"}

// usages draws one resource of the nodes' processes, with a line for each node.
func usages(events []history.Event, title string, of func(*history.Usage) float64) picture {
	f := newFrame(events)
	byNode := map[string][]history.Event{}
	most := 1.0
	for _, e := range events {
		if e.Kind == history.KindUsage && e.Usage != nil {
			byNode[e.Node] = append(byNode[e.Node], e)
			most = max(most, of(e.Usage))
		}
	}
	f.open(events, usageHeight, false)
	for i, node := range slices.Sorted(maps.Keys(byNode)) {
		color := nodeColors[i%len(nodeColors)]
		fmt.Fprintf(f, `<polyline fill="none" stroke="%s" points="`, color)
		for _, e := range byNode[node] {
			fmt.Fprintf(f, "%.1f,%.1f ", f.x(e.Call), usageHeight*(1-of(e.Usage)/most))
		}
		fmt.Fprintf(f, `"/><text x="%.1f" y="%d" font-size="11" fill="%s">%s</text>`, f.x(f.to)+4, 12+12*i, color, node)
	}
	return f.close(fmt.Sprintf("%s, at most %.0f", title, most))
}

// allUsages returns the pictures of all resources.
func allUsages(events []history.Event) []picture {
	return []picture{
		usages(events, "Memory, MiB", func(u *history.Usage) float64 { return float64(u.Memory) / (1 << 20) }),
		usages(events, "Descriptors", func(u *history.Usage) float64 { return float64(u.Descriptors) }),
	}
}
