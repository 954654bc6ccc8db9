package console

import (
	"fmt"
	"slices"
	"strings"
)

const (
	trendSteps  = 90 // of 10 seconds
	trendHeight = 18
)

// trend returns the points of a line for an SVG of trendSteps by trendHeight units.
func trend(depths []int64) string {
	if len(depths) < 2 || !slices.ContainsFunc(depths, func(n int64) bool { return n > 0 }) {
		return ""
	}
	const margin = 1
	highest, points := slices.Max(depths), []string{}
	for i, n := range depths {
		if n >= 0 {
			points = append(points, fmt.Sprintf("%d,%.1f", i, trendHeight-margin-float64(n)*(trendHeight-2*margin)/float64(highest)))
		}
	}
	return strings.Join(points, " ")
}

// withTrends adds the trends to the rows of a page.
func (c *Console) withTrends(rows []queueRow) []queueRow {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Trend = trend(c.Node.Depths(rows[i].Name, trendSteps))
	}
	return rows
}
