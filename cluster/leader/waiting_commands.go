package leader

import "github.com/seriatimq/seriatim/queue"

// Commands that wait are receives, in a session or not, and the acceptance of the next
// session. They differ in what they wait for.

// Waits reports whether a command can wait for something to give.
func Waits(cmd queue.Command) bool {
	switch cmd := cmd.(type) {
	case *queue.ReceiveMessages:
		return true
	case *queue.AcceptSession:
		return !cmd.SessionIDGiven
	default:
		return false
	}
}

// waitingPlace is what a command waits for: messages of a queue, messages of one of
// its sessions, or a session that is free. An event concerns a place.
type waitingPlace struct {
	queue   string
	session string // of a receive in a session
	accept  bool   // for a session that is free
}

func placeOf(cmd queue.Command) waitingPlace {
	switch cmd := cmd.(type) {
	case *queue.ReceiveMessages:
		if cmd.Options != nil {
			return waitingPlace{queue: cmd.Queue, session: cmd.Options.Session.SessionID}
		}
	case *queue.AcceptSession:
		return waitingPlace{queue: cmd.Queue, accept: true}
	}
	return waitingPlace{queue: cmd.QueueName()}
}

// worthProposing reports whether a command that waits would do something in the log:
// give what is waited for, repeat what its attempt id was given before, or be refused,
// as for the in-flight limit, which only short polls are (sqs.md 4.9).
func worthProposing(cmd queue.Command, v queue.View) bool {
	switch cmd := cmd.(type) {
	case *queue.ReceiveMessages:
		if cmd.InSession() {
			return v.SessionDeliverable(cmd.Queue, cmd.Options.Session) || cmd.AttemptIDGiven && v.AttemptKnown(cmd.Queue, cmd.AttemptID)
		}
		return v.Deliverable(cmd.Queue) ||
			cmd.AttemptIDGiven && v.AttemptKnown(cmd.Queue, cmd.AttemptID) ||
			cmd.ShortPoll && v.OverLimit(cmd.Queue)
	case *queue.AcceptSession:
		return v.SessionFree(cmd.Queue) || !v.HasSessions(cmd.Queue) || cmd.AttemptIDGiven && v.SessionAttemptKnown(cmd.Queue, cmd.AttemptID)
	default:
		return true
	}
}

// nothingFor is the empty answer to a command that waits.
func nothingFor(cmd queue.Command) queue.Result {
	if _, accepts := cmd.(*queue.AcceptSession); accepts {
		return queue.SessionLocked{}
	}
	return queue.MessagesReceived{}
}
