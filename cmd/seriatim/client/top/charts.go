package top

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/transport/ops/document"
)

// chartWidth is the number of characters of a chart.
const chartWidth = 30

// bars are the heights of a chart.
const bars = "▁▂▃▄▅▆▇█"

// chart draws the values of a series. A missing value is a space.
func chart(values []*float64) string {
	var text strings.Builder
	columns, highest := make([]*float64, 0, chartWidth), 0.0
	size := (len(values) + chartWidth - 1) / chartWidth
	for part := range slices.Chunk(values, max(1, size)) {
		var top *float64
		for _, v := range part {
			if v != nil && (top == nil || *v > *top) {
				top = v
			}
		}
		if columns = append(columns, top); top != nil {
			highest = math.Max(highest, *top)
		}
	}
	heights := []rune(bars)
	for _, v := range columns {
		switch {
		case v == nil:
			text.WriteByte(' ')
		case highest == 0:
			text.WriteRune(heights[0])
		default:
			text.WriteRune(heights[int(*v/highest*float64(len(heights)-1))])
		}
	}
	return text.String()
}

// charted is a series with its name on the screen. Those with a format in seconds count events of a
// whole step.
type charted struct{ series, label, format string }

// charts draws series of the last 15 minutes, each with its last value.
func charts(series document.Series, stepMs int64, list []charted) (lines []line) {
	for _, c := range list {
		values := series[c.series]
		last := -1
		for i, v := range values {
			if v != nil {
				last = i
			}
		}
		if last < 0 {
			continue
		}
		value := *values[last]
		if strings.HasSuffix(c.format, "/s") {
			value /= float64(stepMs) / 1000
		}
		lines = append(lines, line{c.label, chart(values) + "  " + fmt.Sprintf(c.format, value) + " (15 minutes)"})
	}
	return lines
}

func queueCharts(h document.History) []line {
	return charts(h.Series, h.StepMs, []charted{
		{"visible", "Visible", "%.0f"},
		{"sent", "Sent", "%.1f/s"},
		{"received", "Received", "%.1f/s"},
		{"duplicates", "Duplicates", "%.1f/s"},
	})
}

func nodeCharts(series document.Series, stepMs int64) []line {
	return charts(series, stepMs, []charted{
		{"requests", "Requests", "%.1f/s"},
		{"requestP99Ms", "p99", "%.1f ms"},
		{"commitP99Ms", "Commit p99", "%.1f ms"},
		{"syncP99Ms", "Sync p99", "%.1f ms"},
	})
}
