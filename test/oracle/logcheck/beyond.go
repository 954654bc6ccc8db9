package logcheck

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
)

// beyond is the queue that a command takes out of what the reference model has rules
// for, empty if it does not: nothing in it is compared from then on.
func beyond(command queue.Command) string {
	switch c := command.(type) {
	case *queue.Subscribe:
		return c.Endpoint[strings.LastIndex(c.Endpoint, ":")+1:]
	case *queue.SendMessages:
		for i := range c.Entries {
			if c.Entries[i].Options != nil {
				return c.Queue
			}
		}
	case *queue.AcceptSession, *queue.CancelScheduled, *queue.Defer, *queue.ReceiveDeferred, *queue.DeadLetter, *queue.ForgetDeduplication:
		return c.QueueName()
	}
	return ""
}
