package ops

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// queuesMax bounds the queues in one answer.
const queuesMax = 1000

func (a *Admin) queues(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	limit, ok := a.page(w, parameters, queuesMax)
	if !ok {
		return
	}
	list := document.Queues{Queues: []document.QueueCounts{}} // a list in JSON, also when empty
	_, err := a.Node.Read(r.Context(), func(v queue.View) error {
		names := a.queueNames(v, parameters, limit)
		for _, name := range names {
			stats, refusal := v.Stats(name)
			if refusal != nil {
				return refusal
			}
			list.Queues = append(list.Queues, document.QueueCounts{
				Name: name, Visible: stats.Visible, InFlight: stats.NotVisible, Delayed: stats.Delayed, Deferred: stats.Deferred,
			})
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

// queueNames returns the qualified names of all queues, or of those of the account in the parameters.
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
