package check

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The log alone judges topics, sessions and scheduled messages: logcheck compares each of their
// answers with the reference model, and their order in the log with the order of the calls. Here
// their calls are counted.

// judged are the events without the calls that the log alone judges.
func judged(events []history.Event) []history.Event {
	beyond := map[string]bool{} // queues
	for i := range events {
		e := &events[i]
		if e.Kind == history.KindRun && e.Rules != nil {
			for _, s := range e.Rules.Subscriptions {
				beyond[s.Queue] = true
			}
		}
		switch e.Action {
		case history.Schedule, history.Cancel, history.AcceptSession, history.SetState, history.GetState:
			beyond[e.Queue] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool {
		return e.Kind == history.KindOp && (beyond[e.Queue] || e.Action == history.Publish)
	})
}

// countBeyond counts the calls that the log alone judges.
func (c *checker) countBeyond() {
	n := c.report.Counts
	published, fannedOut := map[string]int64{}, map[string]bool{} // by id, since when, and by queue and id
	locks := map[string]string{}                                  // tokens by queue and session
	for i := range c.all {
		e := &c.all[i]
		if e.Error == history.SessionLockLost || e.Error == history.MessageLockLost {
			n["calls under a lost lock refused"]++
		}
		if e.Action == history.Cancel && strings.HasSuffix(e.Error, "NotFound") {
			n["cancels that came too late"]++
		}
		if e.Kind != history.KindOp || e.Result != history.OK || e.Error != "" {
			continue
		}
		lock := e.Queue + "\x00" + e.Group
		switch e.Action {
		case history.Publish:
			c.countPublish(e, published)
		case history.Receive:
			for _, m := range e.Messages {
				fannedOut[e.Queue+"\x00"+m.ID] = c.rules.SubscriptionOf(e.Queue) != nil
			}
		case history.AcceptSession:
			if e.Session == "" {
				continue
			}
			n["sessions accepted"]++
			if e.Next {
				n["sessions accepted as the next one"]++
			}
			if locks[lock] != "" {
				n["locks that ran out"]++
			}
			locks[lock] = e.Session
		case history.ReleaseSession:
			if locks[lock] == e.Session {
				delete(locks, lock)
			}
		case history.GetState:
			n["states of sessions read"]++
		case history.Schedule:
			n["messages scheduled"]++
		case history.Cancel:
			n["scheduled messages cancelled"]++
		}
	}
	for _, fanned := range fannedOut {
		if fanned {
			n["messages fanned out"]++
		}
	}
}

// countPublish counts an answered publish, by what is known of its message.
func (c *checker) countPublish(e *history.Event, published map[string]int64) {
	n := c.report.Counts
	if since, again := published[e.Message]; again {
		n["publishes dropped as duplicates"]++
		if anyWithin(c.changes, since, e.Return) {
			n["publishes repeated across a leader change"]++
		}
		return
	}
	published[e.Message] = e.Call
	for i := range c.rules.Subscriptions {
		if s := &c.rules.Subscriptions[i]; s.Topic == e.Topic && !s.Passes(e.Extra) {
			n["messages kept back by filters"]++
		}
	}
}
