package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// schedule tries once to send a message for a certain log time. It returns the number that cancels
// it, or an empty text if the call did not succeed.
func (c *client) schedule(ctx context.Context, queue, group, dedup, body string, due int64) (number string) {
	e := history.Event{Action: history.Schedule, Queue: queue, Group: group, Dedup: dedup, Body: body}
	e.Extra, e.Due = history.AttributesText(attributesFor(body)), due
	m := outgoing(group, dedup, body)
	m.EnqueueAtMs = due
	out, sent := ask(ctx, c, &e, seriatimpb.NewMessagesClient, seriatimpb.MessagesClient.ScheduleMessages,
		&seriatimpb.ScheduleMessagesRequest{Queue: queue, Messages: []*seriatimpb.OutgoingMessage{m}})
	if results := out.GetResults(); done(&e) && len(results) == 1 {
		e.Error, e.Message, e.Sequence = results[0].GetFailure().GetReason(), results[0].GetMessageId(),
			numberText(results[0].GetSequenceNumber())
	}
	if !c.note(sent, e) {
		return ""
	}
	return e.Sequence
}

// cancel tries once to cancel a scheduled message, and reports whether the call was answered: that
// it was cancelled, or that it does not exist.
func (c *client) cancel(ctx context.Context, queue, number string) bool {
	e := history.Event{Action: history.Cancel, Queue: queue, Sequence: number}
	n, err := numberOf(number)
	if err != nil {
		return false
	}
	out, sent := ask(ctx, c, &e, seriatimpb.NewMessagesClient, seriatimpb.MessagesClient.CancelScheduled,
		&seriatimpb.CancelScheduledRequest{Queue: queue, SequenceNumbers: []uint64{n}})
	recordOutcome(&e, out.GetOutcomes())
	c.note(sent, e)
	return sent && e.Result == history.OK
}

// soonest and latest bound the delay of scheduled messages.
const (
	soonest = 200 * time.Millisecond
	latest  = 3 * time.Second
)

// schedules sends messages for a later time. Some of their ids are also sent for now, before or
// afterwards. It cancels some messages long before, around, or after their time, and receives and
// deletes those that arrive.
func (c *client) schedules(ctx context.Context) {
	body := c.body()
	key, group := keyOf(body), fmt.Sprint(c.random.IntN(4))
	from := time.UnixMilli(c.logTime)
	if c.logTime == 0 {
		from = time.Now() // no answer has had the log time yet
	}
	in := soonest + time.Duration(c.random.Int64N(int64(latest-soonest)))
	due := from.Add(in).UnixMilli()
	twin := c.random.IntN(4)
	if twin == 0 {
		c.persist(ctx, group, key, c.body())
	}
	began, number := time.Now(), ""
	for range 20 {
		if number = c.schedule(ctx, c.queue(), group, key, body, due); number != "" || !c.think(ctx) {
			break
		}
	}
	if twin == 1 {
		c.persist(ctx, group, key, c.body())
	}
	if when := c.random.IntN(4); number != "" && when > 0 {
		if when > 1 {
			pause(ctx, in-time.Since(began)+time.Duration(c.random.IntN(100)-60)*time.Millisecond)
		}
		for range 5 {
			if c.cancel(ctx, c.queue(), number) || !c.think(ctx) {
				break
			}
		}
	}
	c.consume(ctx, 10)
}
