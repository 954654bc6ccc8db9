package codec

import (
	"strings"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
)

// traits are the properties of a command that other packages need. A row of the table sets all of
// them by position, so a missing one does not compile.
type traits struct {
	// adds tells whether the command adds messages, or a similar amount of data.
	adds *adding
	// waits tells how the command waits while it finds nothing.
	waits *Waiting
	// repeats tells whether the command may be executed twice.
	repeats *Repeating
	// needs returns the format version that the command's options, attributes and policies need.
	needs func(queue.Command) uint32
}

// Waiting tells how a command waits while it finds nothing.
type Waiting struct {
	// When reports whether this command can wait.
	When func(queue.Command) bool
	// Place returns the event that the command waits for.
	Place func(queue.Command) WaitingPlace
	// Worth reports whether the command would now have a result in the log: find something, repeat
	// the answer to its attempt id, or be refused.
	Worth func(queue.Command, queue.View) bool
	// Nothing is the empty answer of the command.
	Nothing queue.Result
}

// WaitingPlace identifies the event that a command waits for: messages in a queue, messages in one
// of its sessions, or a free session.
type WaitingPlace struct {
	Queue   string
	Session string // set for a receive in a session
	Accept  bool   // set to wait for a free session
}

// Repeating tells whether a command may be executed twice (decision 10; faults.md I12).
type Repeating struct {
	// Safe reports whether executing the command twice has the effect of executing it once.
	Safe func(queue.Command) bool
	// Resend repeats a command whose duplicates the queue or topic recognises; nil for all others.
	Resend *Resending
}

// Resending repeats a send or a publish.
type Resending struct {
	// Window returns how long the queue or topic remembers an id, and whether it recognises each
	// message of the command: by its own id, or by one computed from the content. Standard queues
	// and topics recognise none, nor do missing ones.
	Window func(v queue.View, cmd queue.Command) (seconds int64, recognised bool)
	// Since returns when a repeated command was first proposed, zero if it is not a repetition.
	Since func(queue.Command) queue.Timestamp
	// Again returns the command as a repetition, first proposed at since. It is refused unless the
	// queue or topic still remembers every id accepted since then.
	Again func(cmd queue.Command, since queue.Timestamp) queue.Command
}

// adding tells whether a command adds messages: always, never, or depending on its fields, which
// must then be decoded.
type adding struct {
	always bool
	when   func(queue.Command) bool // nil: always decides
}

// complete panics at the start of the program if a property is missing.
func (t traits) complete(name string) traits {
	if t.adds == nil || t.waits == nil || t.repeats == nil || t.needs == nil {
		panic("codec: the line of " + name + " lacks a property")
	}
	return t
}

func yes(queue.Command) bool { return true }
func no(queue.Command) bool  { return false }

// when adapts a property of one command type.
func when[C queue.Command](holds func(C) bool) func(queue.Command) bool {
	return func(cmd queue.Command) bool { return holds(cmd.(C)) }
}

// nothing is for commands whose fields are all as old as the command.
func nothing(queue.Command) uint32 { return 0 }

// needing adapts a format version that depends on the fields of one command type.
func needing[C queue.Command](version func(C) uint32) func(queue.Command) uint32 {
	return func(cmd queue.Command) uint32 { return version(cmd.(C)) }
}

var (
	adds       = &adding{always: true}
	addsNone   = &adding{}
	setsState  = &adding{when: when(func(c *queue.SetSessionState) bool { return c.StateGiven })}
	addsSome   = &adding{when: when(func(c *queue.CommitTransaction) bool { return len(c.Sends)+len(c.Publishes) > 0 })}
	never      = &Waiting{When: no}
	onceOnly   = &Repeating{Safe: no} // another client may have changed the state in between
	repeatable = &Repeating{Safe: yes}
	// receiveWaits is for receives, in a session or not. The in-flight limit refuses only short
	// polls (sqs.md 4.9).
	receiveWaits = &Waiting{
		When: yes,
		Place: func(cmd queue.Command) WaitingPlace {
			place := WaitingPlace{Queue: cmd.QueueName()}
			if receive := cmd.(*queue.ReceiveMessages); receive.Options != nil {
				place.Session = receive.Options.Session.SessionID
			}
			return place
		},
		Worth: func(cmd queue.Command, v queue.View) bool {
			receive := cmd.(*queue.ReceiveMessages)
			again := v.ReceivesRefused(receive.Queue) || receive.AttemptIDGiven && v.AttemptKnown(receive.Queue, receive.AttemptID)
			if receive.InSession() {
				return again || v.SessionDeliverable(receive.Queue, receive.Options.Session)
			}
			return again || v.Deliverable(receive.Queue) || receive.ShortPoll && v.OverLimit(receive.Queue)
		},
		Nothing: queue.MessagesReceived{},
	}
	// acceptWaits is for accepting the next free session.
	acceptWaits = &Waiting{
		When:  when(func(c *queue.AcceptSession) bool { return !c.SessionIDGiven }),
		Place: func(cmd queue.Command) WaitingPlace { return WaitingPlace{Queue: cmd.QueueName(), Accept: true} },
		Worth: func(cmd queue.Command, v queue.View) bool {
			c := cmd.(*queue.AcceptSession)
			return v.SessionFree(c.Queue) || !v.HasSessions(c.Queue) || v.ReceivesRefused(c.Queue) ||
				c.AttemptIDGiven && v.SessionAttemptKnown(c.Queue, c.AttemptID)
		},
		Nothing: queue.SessionLocked{},
	}
	// noteWaits is for NoteUse: the leader decides whether the log must have it.
	noteWaits = &Waiting{
		When:    yes,
		Place:   func(cmd queue.Command) WaitingPlace { return WaitingPlace{Queue: cmd.QueueName()} },
		Worth:   func(cmd queue.Command, v queue.View) bool { return v.Overdue(cmd.QueueName()) },
		Nothing: queue.Done{},
	}
	// withAttempt is for receives, which are repeatable with an attempt id.
	withAttempt = &Repeating{Safe: when(func(c *queue.ReceiveMessages) bool {
		return c.AttemptIDGiven && c.AttemptID != "" && strings.HasSuffix(c.Queue, ".fifo")
	})}
	acceptedAgain = &Repeating{Safe: when(func(c *queue.AcceptSession) bool { return c.AttemptIDGiven })}
	sentAgain     = &Repeating{Safe: no, Resend: &Resending{
		Window: func(v queue.View, cmd queue.Command) (seconds int64, recognised bool) {
			c := cmd.(*queue.SendMessages)
			attributes, unknown := v.Typed(c.Queue)
			rules := attributes.Deduplication
			recognised = unknown == nil && attributes.FIFO && !rules.Disabled
			for i := range c.Entries {
				recognised = recognised && (c.Entries[i].DeduplicationIDGiven || rules.ContentBased)
			}
			return rules.WindowSeconds, recognised
		},
		Since: func(cmd queue.Command) queue.Timestamp { return cmd.(*queue.SendMessages).RepeatedSince },
		Again: func(cmd queue.Command, since queue.Timestamp) queue.Command {
			changed := *cmd.(*queue.SendMessages)
			changed.RepeatedSince = since
			return &changed
		},
	}}
	publishedAgain = &Repeating{Safe: no, Resend: &Resending{
		Window: func(v queue.View, cmd queue.Command) (seconds int64, recognised bool) {
			c := cmd.(*queue.Publish)
			attributes, unknown := v.TypedTopic(c.Topic)
			rules := attributes.Deduplication
			recognised = unknown == nil && attributes.FIFO && !rules.Disabled
			for i := range c.Entries {
				recognised = recognised && (c.Entries[i].DeduplicationIDGiven || rules.ContentBased)
			}
			return rules.WindowSeconds, recognised
		},
		Since: func(cmd queue.Command) queue.Timestamp { return cmd.(*queue.Publish).RepeatedSince },
		Again: func(cmd queue.Command, since queue.Timestamp) queue.Command {
			changed := *cmd.(*queue.Publish)
			changed.RepeatedSince = since
			return &changed
		},
	}}
)

// Format versions that commands with attributes or policies need. If a command gets an option after
// its first version, that belongs here, too.
var (
	createQueueNeeds = needing(func(c *queue.CreateQueue) uint32 { return attributes.QueueSince(c.Attributes) })
	setQueueNeeds    = needing(func(c *queue.SetQueueAttributes) uint32 { return attributes.QueueSince(c.Attributes) })
	createTopicNeeds = needing(func(c *queue.CreateTopic) uint32 { return attributes.TopicSince(c.Attributes) })
	setTopicNeeds    = needing(func(c *queue.SetTopicAttributes) uint32 { return attributes.TopicSince(c.Attributes) })
	subscribeNeeds   = needing(func(c *queue.Subscribe) uint32 {
		return max(attributes.SubscriptionSince(c.Attributes), c.Protocol.Since())
	})
	setSubscriptionNeeds = needing(func(c *queue.SetSubscriptionAttributes) uint32 { return attributes.SubscriptionSince(c.Attributes) })
	userPolicyNeeds      = needing(func(c *access.PutUserPolicy) uint32 { return attributes.AccessSince(c.Policy) })
)

// WaitingOf returns how a command waits, nil if it does not.
func WaitingOf(cmd queue.Command) *Waiting {
	if c, err := codecOf(cmd); err == nil && c.traits.waits.When(cmd) {
		return c.traits.waits
	}
	return nil
}

// RepeatingOf returns whether a command may be executed twice.
func RepeatingOf(cmd queue.Command) *Repeating {
	if c, err := codecOf(cmd); err == nil {
		return c.traits.repeats
	}
	return onceOnly
}

// MinimumVersion returns the format version that must be in force before cmd may be proposed. For
// an unknown command it is above the current version.
func MinimumVersion(cmd queue.Command) uint32 {
	c, err := codecOf(cmd)
	if err != nil {
		return format.CurrentVersion + 1
	}
	return max(c.minimum, c.traits.needs(cmd))
}

// AddsMessages reports whether the command in a frame adds messages, or a similar amount of data. A
// command that frees memory does not.
func AddsMessages(frame []byte) bool {
	c, body, err := parseFrame(frame)
	if err != nil {
		return false
	}
	if c.traits.adds.when == nil {
		return c.traits.adds.always
	}
	cmd, err := c.decode(nil, body)
	return err == nil && c.traits.adds.when(cmd)
}
