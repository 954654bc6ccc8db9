package fsm

import (
	"github.com/seriatimq/seriatim/queue"
)

// serviceBus makes one of the commands that SQS does not have.
func (c *commands) serviceBus() queue.Command {
	switch name := c.one("a.fifo", "b.fifo"); c.random.IntN(2) {
	case 0:
		return &queue.SendMessages{Queue: name, SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
			Body: "scheduled", GroupID: "g", GroupIDGiven: true, DeduplicationID: c.one("s", "t", "u"), DeduplicationIDGiven: true,
			Options: &queue.SendOptions{EnqueueAt: c.now.Add(2500)},
		}}}
	default:
		return &queue.CancelScheduled{Queue: name, Sequences: c.numbers(), ForgetDeduplicationID: c.random.IntN(2) == 0}
	}
}

// numbers are up to three that were given out lately, newest first.
func (c *commands) numbers() []queue.SequenceNumber {
	list := []queue.SequenceNumber{1}
	for i := len(c.waiting) - 1; i >= 0 && len(list) < 4; i-- {
		list = append(list, c.waiting[i])
	}
	return list
}
