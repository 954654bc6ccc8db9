//go:build faults

package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// playFanOut publishes to a topic with a filter: each shade, one of them twice.
func playFanOut(p *plot) error {
	for _, s := range p.rules.Subscriptions {
		if err := p.c.create(p.ctx, s.Queue, attributesOf(p.rules, s.Queue)); err != nil {
			return err
		}
		p.queues = append(p.queues, s.Queue)
	}
	topic := p.rules.Subscriptions[0].Topic
	if err := p.c.createTopic(p.ctx, topic, p.rules.Subscriptions); err != nil {
		return err
	}
	for i := range 8 {
		if !p.c.publish(p.ctx, p.first(), topic, fmt.Sprint("key-", i%6), p.c.body()) {
			return errRefused
		}
	}
	return nil
}

// playTwoHolders accepts a session that another client holds.
func playTwoHolders(p *plot) error {
	other := p.newClient(2, "other")
	defer other.close()
	if err := p.put(p.first(), "q.fifo", "s", ""); err != nil {
		return err
	}
	h := p.c.accept(p.ctx, "q.fifo", "s")
	if h == nil {
		return errRefused
	}
	other.accept(p.ctx, "q.fifo", "s")
	p.c.receiveIn(p.ctx, h, 1)
	return nil
}

// playLostLock completes a message after its lock has ended.
func playLostLock(p *plot) error {
	if err := p.put(p.first(), "q.fifo", "s", ""); err != nil {
		return err
	}
	h := p.c.accept(p.ctx, "q.fifo", "s")
	if h == nil {
		return errRefused
	}
	messages, _ := p.c.receiveIn(p.ctx, h, 1)
	if len(messages) == 0 {
		return errors.New("the session has no message")
	}
	pause(p.ctx, lockSeconds*time.Second+500*time.Millisecond)
	p.c.complete(p.ctx, h, history.Delete, messages[0])
	return nil
}

// playKeptState sets a state, and reads it under the next lock.
func playKeptState(p *plot) error {
	for range 2 {
		h := p.c.accept(p.ctx, "q.fifo", "s")
		if h == nil || !p.c.readState(p.ctx, h) || !p.c.setState(p.ctx, h) || !p.c.giveUp(p.ctx, h) {
			return errRefused
		}
	}
	return nil
}

// due returns a log time after now.
func (p *plot) due(in time.Duration) int64 { return time.UnixMilli(p.c.logTime).Add(in).UnixMilli() }

// playSchedule schedules a message and receives until it arrives.
func playSchedule(p *plot) error {
	if err := p.put(p.first(), "long.fifo", "other", ""); err != nil {
		return err
	}
	body := p.c.body()
	if p.c.schedule(p.ctx, "long.fifo", "g", keyOf(body), body, p.due(2*time.Second)) == "" {
		return errRefused
	}
	for range 15 {
		if err := p.put(p.first(), "long.fifo", "other", ""); err != nil {
			return err
		}
		p.c.receive(p.ctx, p.first(), "long.fifo", wanted{most: 10})
		pause(p.ctx, 200*time.Millisecond)
	}
	return nil
}

// playLateCancel cancels a message that is already in the queue.
func playLateCancel(p *plot) error {
	if err := p.put(p.first(), "long.fifo", "other", ""); err != nil {
		return err
	}
	body := p.c.body()
	number := p.c.schedule(p.ctx, "long.fifo", "g", keyOf(body), body, p.due(500*time.Millisecond))
	if number == "" {
		return errRefused
	}
	pause(p.ctx, time.Second)
	if !p.c.cancel(p.ctx, "long.fifo", number) {
		return errRefused
	}
	return nil
}

// playScheduleTwin sends with the id of a message that is still scheduled.
func playScheduleTwin(p *plot) error {
	if err := p.put(p.first(), "long.fifo", "other", ""); err != nil {
		return err
	}
	body := p.c.body()
	if p.c.schedule(p.ctx, "long.fifo", "g", keyOf(body), body, p.due(2*time.Second)) == "" {
		return errRefused
	}
	return p.put(p.first(), "long.fifo", "g", keyOf(body))
}
