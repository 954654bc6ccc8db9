package ops

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// units matches names whose end tells the unit of a metric. Names that only count things have no
// unit.
var units = regexp.MustCompile(`_(seconds|bytes|ratio|total|info)$|_(index|term|entries|commands|requests|messages|groups|connections|waiters|waiting|voters|version|alarm|ready|leader|pressure|truncated|letter_queue)$|_(possible|bytes_max|connections_max)$`)

// The metrics of a node pass the rules of promtool check metrics.
func TestMetricsAreClean(t *testing.T) {
	t.Parallel()
	_, text := get(newAdmin(filled(t)), "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	clustertest.Must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, m := range regexp.MustCompile(`(?m)^# HELP (seriatim_\S+) (.*)$`).FindAllStringSubmatch(text, -1) {
		if !units.MatchString(m[1]) {
			t.Errorf("%s does not say its unit", m[1])
		}
		if !strings.HasSuffix(m[2], ".") {
			t.Errorf("the help of %s is no sentence: %s", m[1], m[2])
		}
	}
	if !strings.Contains(text, "seriatim_auth_failures_total{code=\"SignatureDoesNotMatch\"} 0\n") {
		t.Error("failures that did not happen are not counted as none")
	}
}

// QueueTotals returns fixed counts.
func (n *node) QueueTotals(each func(queue string, totals cluster.QueueTotals)) {
	each("a.fifo", cluster.QueueTotals{Sent: 2, Received: 1, Duplicates: 3})
	each("", cluster.QueueTotals{Sent: 40, Expired: 5})
}
