//go:build faults

package faults

import (
	"fmt"
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
