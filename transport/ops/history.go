package ops

import (
	"context"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// historian keeps the recent past; *cluster.Node is one.
type historian interface {
	History(ctx context.Context, queue string, since time.Duration) (cluster.History, error)
	QueueRates(ctx context.Context) (rates map[string]cluster.QueueRates, known bool)
	ClientRequests() *cluster.ClientRequests
}

var _ historian = (*cluster.Node)(nil)

// sinceTimes are the values of the parameter since.
var sinceTimes = map[string]time.Duration{
	"15m": 15 * time.Minute, "": time.Hour, "1h": time.Hour, "6h": 6 * time.Hour, "24h": 24 * time.Hour,
}

// historyOf answers GET /v1/history.
func (a *Admin) historyOf(w http.ResponseWriter, r *http.Request, node historian) {
	since, known := sinceTimes[r.URL.Query().Get("since")]
	if !known {
		a.fail(w, http.StatusBadRequest, "since must be 15m, 1h, 6h or 24h")
		return
	}
	name := r.URL.Query().Get("queue")
	h, err := node.History(r.Context(), name, since)
	if err != nil {
		a.fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if name != "" && h.Series == nil {
		a.fail(w, http.StatusNotFound, "no node has a history of the queue "+name+": it does not exist, or had no messages and no "+
			"requests. A node keeps the 1,000 queues in use most recently")
		return
	}
	out := document.History{
		Queue: name, StepMs: h.StepMs, FromMs: h.FromMs, Series: document.Series(h.Series), Missing: listed(h.Missing),
	}
	for _, n := range h.Nodes {
		out.Nodes = append(out.Nodes, document.NodeHistory{NodeID: n.NodeID, Node: n.Node, Series: document.Series(n.Series)})
	}
	a.answer(w, http.StatusOK, out)
}

// listed makes an empty list of nil, which would be null in JSON.
func listed(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// withRates adds the rates of all nodes to a list of queues.
func (a *Admin) withRates(ctx context.Context, queues []document.QueueCounts) {
	node, ok := a.Node.(historian)
	if !ok || len(queues) == 0 {
		return
	}
	rates, known := node.QueueRates(ctx)
	if !known {
		return
	}
	for i := range queues {
		of := document.QueueRates(rates[queues[i].Name])
		queues[i].Rates = &of
	}
}
