//go:build faults

package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// playFanOut publishes to a topic with a filter: each shade, one of them twice.
func playFanOut(p *plot) {
	for _, s := range p.rules.Subscriptions {
		p.must(p.c.create(p.ctx, s.Queue, attributesOf(p.rules, s.Queue)))
		p.queues = append(p.queues, s.Queue)
	}
	topic := p.rules.Subscriptions[0].Topic
	p.must(p.c.createTopic(p.ctx, topic, p.rules.Subscriptions))
	for i := range 8 {
		if !p.c.publish(p.ctx, p.first(), topic, fmt.Sprint("key-", i%6), p.c.body()) {
			p.must(errRefused)
		}
	}
}

// playTwoHolders accepts a session that another client holds.
func playTwoHolders(p *plot) {
	other := p.newClient(2, "other")
	defer other.close()
	p.put(p.first(), "q.fifo", "s", "")
	h := p.c.accept(p.ctx, "q.fifo", "s")
	if h == nil {
		p.must(errRefused)
	}
	other.accept(p.ctx, "q.fifo", "s")
	p.c.receiveIn(p.ctx, h, 1)
}

// playLostLock completes a message after its lock has ended.
func playLostLock(p *plot) {
	p.put(p.first(), "q.fifo", "s", "")
	h := p.c.accept(p.ctx, "q.fifo", "s")
	if h == nil {
		p.must(errRefused)
	}
	messages, _ := p.c.receiveIn(p.ctx, h, 1)
	if len(messages) == 0 {
		p.must(errors.New("the session has no message"))
	}
	pause(p.ctx, lockSeconds*time.Second+500*time.Millisecond)
	p.c.complete(p.ctx, h, history.Delete, messages[0])
}

// playKeptState sets a state, and reads it under the next lock.
func playKeptState(p *plot) {
	for range 2 {
		h := p.c.accept(p.ctx, "q.fifo", "s")
		if h == nil || !p.c.readState(p.ctx, h) || !p.c.setState(p.ctx, h) || !p.c.giveUp(p.ctx, h) {
			p.must(errRefused)
		}
	}
}

// due returns a log time after now.
func (p *plot) due(in time.Duration) int64 { return time.UnixMilli(p.c.logTime).Add(in).UnixMilli() }

// playSchedule schedules a message and receives until it arrives.
func playSchedule(p *plot) {
	p.put(p.first(), "long.fifo", "other", "")
	body := p.c.body()
	if p.c.schedule(p.ctx, "long.fifo", "g", keyOf(body), body, p.due(2*time.Second)) == "" {
		p.must(errRefused)
	}
	for range 15 {
		p.put(p.first(), "long.fifo", "other", "")
		p.c.receive(p.ctx, p.first(), "long.fifo", wanted{most: 10})
		pause(p.ctx, 200*time.Millisecond)
	}
}

// playLateCancel cancels a message that is already in the queue.
func playLateCancel(p *plot) {
	p.put(p.first(), "long.fifo", "other", "")
	body := p.c.body()
	number := p.c.schedule(p.ctx, "long.fifo", "g", keyOf(body), body, p.due(500*time.Millisecond))
	if number == "" {
		p.must(errRefused)
	}
	pause(p.ctx, time.Second)
	if !p.c.cancel(p.ctx, "long.fifo", number) {
		p.must(errRefused)
	}
}

// playScheduleTwin sends with the id of a message that is still scheduled.
func playScheduleTwin(p *plot) {
	p.put(p.first(), "long.fifo", "other", "")
	body := p.c.body()
	if p.c.schedule(p.ctx, "long.fifo", "g", keyOf(body), body, p.due(2*time.Second)) == "" {
		p.must(errRefused)
	}
	p.put(p.first(), "long.fifo", "g", keyOf(body))
}
