package ops

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
)

// queuesMax is how many queues one answer lists.
const queuesMax = 1000

// queueList is the answer of GET /v1/queues: the queues by name with their
// counts, all read at the same moment. The parameters are prefix, after (a name,
// to go on behind it) and limit.
type queueList struct {
	Queues []queueCounts `json:"queues"`
	// Next is what to pass as after for the queues that follow, empty at the end.
	Next string `json:"next,omitempty"`
}

type queueCounts struct {
	Name     string `json:"name"`
	Visible  int64  `json:"visible"`
	InFlight int64  `json:"inFlight"`
	Delayed  int64  `json:"delayed"`
	Deferred int64  `json:"deferred"`
}

func (a *Admin) queues(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	limit, ok := a.page(w, parameters, queuesMax)
	if !ok {
		return
	}
	list := queueList{Queues: []queueCounts{}} // a list in JSON, also when empty
	_, err := a.Node.Read(r.Context(), func(v queue.View) error {
		names := a.queueNames(v, parameters, limit)
		for _, name := range names {
			stats, refusal := v.Stats(name)
			if refusal != nil {
				return refusal
			}
			list.Queues = append(list.Queues, queueCounts{name, stats.Visible, stats.NotVisible, stats.Delayed, stats.Deferred})
		}
		if len(names) == limit {
			list.Next = list.Queues[limit-1].Name
		}
		return nil
	})
	switch {
	case errors.Is(err, cluster.ErrUnavailable):
		a.fail(w, http.StatusServiceUnavailable, err.Error())
	case err != nil:
		a.Logger.Error("listing queues failed", "error", err)
		a.fail(w, http.StatusServiceUnavailable, err.Error())
	default:
		a.answer(w, http.StatusOK, list)
	}
}

// queueNames are the queues of all accounts by their qualified names, or those of the one
// that the parameters name.
func (a *Admin) queueNames(v queue.View, parameters url.Values, limit int) []string {
	prefix, after := parameters.Get("prefix"), parameters.Get("after")
	switch owner := parameters.Get("account"); owner {
	case "":
		return v.ListQueues(prefix, after, limit)
	case a.Account:
		return v.QueuesOf("", prefix, after, limit)
	default:
		return v.QueuesOf(owner, prefix, after, limit)
	}
}
