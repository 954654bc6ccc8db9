package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// replayStep is a step of the replay of a subscription, which it names by the step that made the
// subscription.
type replayStep struct{ step, max int }

func (c replayStep) command(w *world) queue.Command {
	cmd := &queue.ReplayMessages{Max: c.max}
	wanted := w.subscription(c.step)
	w.scanSubscriptions(func(s queue.SubscriptionSummary) {
		if s.SubscriptionARN == wanted {
			cmd.Subscription = s.Number
		}
	})
	return cmd
}

func (w *world) scanSubscriptions(visit func(queue.SubscriptionSummary)) {
	for _, s := range w.plain().View().ListSubscriptions(0, 1000) {
		visit(s)
	}
}

// subscriptionOf returns the ARN of the subscription with a number, empty if there is none.
func (w *world) subscriptionOf(number uint64) (arn string) {
	w.scanSubscriptions(func(s queue.SubscriptionSummary) {
		if s.Number == number {
			arn = s.SubscriptionARN
		}
	})
	return arn
}

const pointLayout = "2006-01-02T15:04:05.000Z"

// replayPolicy replays from about the time of an archived message to about the time of another one,
// or without an end.
func (g *generator) replayPolicy() string {
	point := func() string {
		at := g.w.model.Now() + pickOf(g, int64(-500_000_000), -86_400_000, -20_000, -1000, 0, 0, 1000)
		if times := g.archivedAt(); len(times) > 0 && !g.oneIn(4) {
			at = pickOf(g, times...)
		}
		return time.UnixMilli(at).UTC().Format(pointLayout)
	}
	start, end := point(), ""
	if g.oneIn(2) {
		if last := point(); last >= start || g.oneIn(10) {
			end = `,"EndingPoint":"` + last + `"`
		}
	}
	return `{"PointType":"Timestamp","StartingPoint":"` + start + `"` + end + `}`
}

// archivedAt returns the publication times of all archived messages.
func (g *generator) archivedAt() (times []int64) {
	for _, t := range g.w.model.Topics() {
		times = append(times, t.ArchivedAt()...)
	}
	return times
}

// replaySteps returns the steps that a leader makes for a replay.
func (g *generator) replaySteps(subscription int) {
	for range 1 + g.rng.IntN(5) {
		g.soon = append(g.soon, replayStep{subscription, pickOf(g, 1, 2, 3, 100)})
	}
}

// compareReplays compares the archives and the progress of replays.
func (w *world) compareReplays(view queue.View, t *reference.Topic) string {
	given, err := view.TopicAttributes(t.Name)
	if err != nil {
		return err.Error()
	}
	begin := ""
	if at, ok := w.model.ArchiveBegin(t); ok {
		begin = time.UnixMilli(at).UTC().Format(pointLayout)
	}
	if got := valueOf(given, "BeginningArchiveTime"); got != begin {
		return fmt.Sprintf("%s: the archive begins: product %q, model %q", t.Name, got, begin)
	}
	list, err := view.ListSubscriptionsByTopic(t.Name, 0, 1000)
	if err != nil || len(list) != len(t.Subscriptions) {
		return fmt.Sprintf("%s: %d subscriptions, %v", t.Name, len(list), err)
	}
	for i, s := range t.Subscriptions {
		given, err := view.SubscriptionAttributes(list[i].SubscriptionARN)
		if got, want := valueOf(given, "ReplayStatus"), s.Replay().Status; err != nil || got != want {
			return fmt.Sprintf("%s: replay into %s: product %q %v, model %q", t.Name, s.Queue, got, err, want)
		}
	}
	return ""
}

func valueOf(list []queue.Attribute, name string) string {
	for _, a := range list {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// checkReplayBegins checks that an event reports every replay that is requested.
func (w *world) checkReplayBegins() string {
	before := w.waiting.replays
	w.waiting.replays = 0
	for _, t := range w.model.Topics() {
		for _, s := range t.Subscriptions {
			if replay := s.Replay(); replay.Running() {
				w.waiting.replays++
			}
		}
	}
	added := func(e queue.Event) bool { return e.Kind == queue.ReplayAdded }
	if w.waiting.replays > before && !slices.ContainsFunc(w.waiting.events, added) {
		return "a replay was asked for without the event ReplayAdded"
	}
	if got := len(w.plain().View().RunningReplays()); got != w.waiting.replays {
		return fmt.Sprintf("running replays: product %d, model %d", got, w.waiting.replays)
	}
	return ""
}

func (w *world) countReplay(s step, want oracle.Answer) {
	if _, ok := s.do.(replayStep); ok {
		w.hits["looked at for a replay"] += int(want.Replayed.Looked)
		w.hits["arrived from an archive"] += want.Deliveries.Arrived
		if want.Replayed.Running {
			w.hits["replay with more to come"]++
		}
	}
}
