package ops

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// queuesMax bounds the queues in one answer.
const queuesMax = 1000

func (a *Admin) queues(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	limit, ok := a.page(w, parameters, queuesMax, queuesMax)
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
			list.Queues = append(list.Queues, countsOf(v, name, &stats))
		}
		if len(names) == limit {
			list.Next = list.Queues[limit-1].Name
		}
		return nil
	})
	if err == nil {
		a.withRates(r.Context(), list.Queues)
	}
	a.answerRead(w, r, err, list)
}

// countsOf describes a queue that exists.
func countsOf(v queue.View, name string, stats *queue.QueueStats) document.QueueCounts {
	c := document.QueueCounts{
		Name: name, Visible: stats.Visible, InFlight: stats.NotVisible, Delayed: stats.Delayed, Deferred: stats.Deferred,
		OldestSentAtMs: int64(stats.OldestSentAt), Groups: stats.Groups, BlockedGroups: stats.BlockedGroups,
		DeduplicationIDs: stats.DeduplicationEntries, DeadLetterQueue: v.DeadLetterQueue(name),
	}
	if attributes, refused := v.Typed(name); refused == nil {
		c.Paused = attributes.DeliveryPaused
	}
	if c.DeadLetterQueue != "" {
		if dead, refused := v.Stats(c.DeadLetterQueue); refused == nil {
			c.DeadLetters = dead.Visible + dead.NotVisible + dead.Delayed + dead.Deferred
		}
	}
	return c
}

// page reads the parameter limit, and answers an invalid one.
func (a *Admin) page(w http.ResponseWriter, parameters url.Values, usual, most int) (limit int, ok bool) {
	text := parameters.Get("limit")
	if text == "" {
		return usual, true
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > most {
		a.fail(w, http.StatusBadRequest, "limit must be a number between 1 and "+strconv.Itoa(most))
		return 0, false
	}
	return limit, true
}

// answerRead answers a read of queues or topics.
func (a *Admin) answerRead(w http.ResponseWriter, r *http.Request, err error, value any) {
	var refused *queue.Error
	switch {
	case err == nil:
		a.answer(w, http.StatusOK, value)
	case errors.As(err, &refused) && refused.Code == refusal.NotFound:
		a.fail(w, http.StatusNotFound, "there is no such topic")
	case errors.As(err, &refused) && refused.Code == refusal.QueueDoesNotExist:
		a.fail(w, http.StatusNotFound, refused.Message)
	case errors.As(err, &refused):
		a.fail(w, http.StatusBadRequest, refused.Message)
	default:
		if !errors.Is(err, cluster.ErrUnavailable) {
			a.Logger.Error("a read failed", "path", r.URL.Path, "error", err)
		}
		a.fail(w, http.StatusServiceUnavailable, err.Error())
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
