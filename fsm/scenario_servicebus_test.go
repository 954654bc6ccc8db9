package fsm

import (
	"fmt"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// option reads an option of a message: its time of enqueueing in seconds since the
// start of the scenario, or its partition key.
func (s *scenario) option(entry *queue.SendEntry, key, value string) {
	if entry.Options == nil {
		entry.Options = &queue.SendOptions{}
	}
	if key == "key" {
		entry.Options.PartitionKey = value
		return
	}
	entry.Options.EnqueueAt = start.Add(logtime.Duration(s.number(value)) * logtime.Second)
}

// serviceBus reads the commands that have no action of SQS.
func (s *scenario) serviceBus(verb string, args []string) queue.Command {
	switch verb {
	case "cancel-scheduled": // queue, numbers, and forget to free the ids
		cmd := &queue.CancelScheduled{Queue: args[0]}
		for _, word := range args[1:] {
			if word == "forget" {
				cmd.ForgetDeduplicationID = true
				continue
			}
			cmd.Sequences = append(cmd.Sequences, queue.SequenceNumber(s.number(word)))
		}
		return cmd
	}
	return nil
}

// look shows a part of the state that clients read without a command.
func (s *scenario) look(verb string, args []string) []string {
	switch verb {
	case "peek": // queue, number to begin at, perhaps a group
		group := ""
		if len(args) > 2 {
			group = args[2]
		}
		return s.peek(args[0], queue.SequenceNumber(s.number(args[1])), group)
	}
	return nil
}

func (s *scenario) peek(name string, from queue.SequenceNumber, group string) []string {
	peeked, err := s.replica.fsm.View().Peek(name, from, group, 10)
	if err != nil {
		return []string{s.refusal(err)}
	}
	if len(peeked) == 0 {
		return []string{"nothing"}
	}
	var lines []string
	for _, p := range peeked {
		line := fmt.Sprintf("%s %q%s %s count %d", s.message(p.MessageID), p.Body.String(), number(p.Sequence), p.State, p.ReceiveCount)
		if p.State == "scheduled" {
			line += fmt.Sprintf(" until %ds", p.VisibleAt.Sub(start)/logtime.Second)
		}
		if (p.Handle != queue.ReceiptHandle{}) {
			line += " with a handle"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}
