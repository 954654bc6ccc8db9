package codec

import (
	"strings"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
)

// traits are the properties of a command that other packages ask for. A line of the table
// gives all of them, by position, so that one that is left out does not compile.
type traits struct {
	// adds reports whether it adds messages, or as many bytes.
	adds *adding
	// waits says how it waits for something to give.
	waits *Waiting
	// repeats says whether it may be executed twice.
	repeats *Repeating
	// needs returns the format version that its options, attributes and policies need.
	needs func(queue.Command) uint32
}

// Waiting says how a command waits.
type Waiting struct {
	// When reports whether this one can wait.
	When func(queue.Command) bool
	// Place returns what it waits for.
	Place func(queue.Command) WaitingPlace
	// Worth reports whether it would do something in the log: give what is waited for,
	// repeat what its attempt id was given before, or be refused.
	Worth func(queue.Command, queue.View) bool
	// Nothing is its empty answer.
	Nothing queue.Result
}

// WaitingPlace identifies the event that a command waits for: messages of a queue, messages of one of
// its sessions, or a session that is free. An event concerns a place.
type WaitingPlace struct {
	Queue   string
	Session string // of a receive in a session
	Accept  bool   // for a session that is free
}

// Repeating says whether a command may be executed twice (decision 10; faults.md I12).
type Repeating struct {
	// Safe reports whether executing it twice is the same as once.
	Safe func(queue.Command) bool
	// Resend makes a command again that deduplication recognises; nil for others.
	Resend *Resending
}

// Resending says how a send or a publish is made again.
type Resending struct {
	// Window returns how long its messages are remembered, and whether each of them is: it
	// has an id of its own or of its content. Nothing deduplicates messages of a standard
	// queue or topic, or of one that does not exist.
	Window func(v queue.View, cmd queue.Command) (seconds int64, recognised bool)
	// Since returns when it was made first, zero if it is not made again.
	Since func(queue.Command) queue.Timestamp
	// Again returns it as one that was made first at a time: it is refused unless what was
	// accepted since is known.
	Again func(cmd queue.Command, since queue.Timestamp) queue.Command
}

// adding says whether a command adds messages: always, never, or depending on its members,
// which then have to be decoded.
type adding struct {
	always bool
	when   func(queue.Command) bool // nil: see always
}

// complete panics, at the start of the program, on traits that are not given.
func (t traits) complete(name string) traits {
	if t.adds == nil || t.waits == nil || t.repeats == nil || t.needs == nil {
		panic("codec: the line of " + name + " lacks a property")
	}
	return t
}

func yes(queue.Command) bool { return true }
func no(queue.Command) bool  { return false }

// when is a property that depends on the members of a command.
func when[C queue.Command](holds func(C) bool) func(queue.Command) bool {
	return func(cmd queue.Command) bool { return holds(cmd.(C)) }
}

// nothing is for commands all of whose members came with them.
func nothing(queue.Command) uint32 { return 0 }

// needing is a format version that depends on the members of a command.
func needing[C queue.Command](version func(C) uint32) func(queue.Command) uint32 {
	return func(cmd queue.Command) uint32 { return version(cmd.(C)) }
}

var (
	adds       = &adding{always: true}
	addsNone   = &adding{}
	setsState  = &adding{when: when(func(c *queue.SetSessionState) bool { return c.StateGiven })}
	never      = &Waiting{When: no}
	onceOnly   = &Repeating{Safe: no} // another client may have done something since
	repeatable = &Repeating{Safe: yes}
	// receiveWaits are receives, in a session or not. Only short polls are refused for the
	// in-flight limit (sqs.md 4.9).
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
			again := receive.AttemptIDGiven && v.AttemptKnown(receive.Queue, receive.AttemptID)
			if receive.InSession() {
				return again || v.SessionDeliverable(receive.Queue, receive.Options.Session)
			}
			return again || v.Deliverable(receive.Queue) || receive.ShortPoll && v.OverLimit(receive.Queue)
		},
		Nothing: queue.MessagesReceived{},
	}
	// acceptWaits is the acceptance of the next session.
	acceptWaits = &Waiting{
		When:  when(func(c *queue.AcceptSession) bool { return !c.SessionIDGiven }),
		Place: func(cmd queue.Command) WaitingPlace { return WaitingPlace{Queue: cmd.QueueName(), Accept: true} },
		Worth: func(cmd queue.Command, v queue.View) bool {
			c := cmd.(*queue.AcceptSession)
			return v.SessionFree(c.Queue) || !v.HasSessions(c.Queue) || c.AttemptIDGiven && v.SessionAttemptKnown(c.Queue, c.AttemptID)
		},
		Nothing: queue.SessionLocked{},
	}
	// withAttempt is a receive that its attempt id makes the same again.
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
			recognised = unknown == nil && attributes.FIFO
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

// Needs of commands with attributes or policies. An option that a command gets after its
// first version has its needs here, too.
var (
	createQueueNeeds = needing(func(c *queue.CreateQueue) uint32 { return attributes.QueueSince(c.Attributes) })
	setQueueNeeds    = needing(func(c *queue.SetQueueAttributes) uint32 { return attributes.QueueSince(c.Attributes) })
	createTopicNeeds = needing(func(c *queue.CreateTopic) uint32 { return attributes.TopicSince(c.Attributes) })
	setTopicNeeds    = needing(func(c *queue.SetTopicAttributes) uint32 { return attributes.TopicSince(c.Attributes) })
	subscribeNeeds   = needing(func(c *queue.Subscribe) uint32 {
		return max(attributes.SubscriptionSince(c.Attributes), c.Protocol.Since())
	})
	setSubscriptionNeeds = needing(func(c *queue.SetSubscriptionAttributes) uint32 { return attributes.SubscriptionSince(c.Attributes) })
	userPolicyNeeds      = needing(func(c *queue.PutUserPolicy) uint32 { return attributes.AccessSince(c.Policy) })
)

// WaitingOf says how a command waits, nil if it does not.
func WaitingOf(cmd queue.Command) *Waiting {
	if c, err := codecOf(cmd); err == nil && c.waits.When(cmd) {
		return c.waits
	}
	return nil
}

// RepeatingOf says whether a command may be executed twice.
func RepeatingOf(cmd queue.Command) *Repeating {
	if c, err := codecOf(cmd); err == nil {
		return c.repeats
	}
	return onceOnly
}

// MinimumVersion returns the format version that must be in force before cmd may
// be proposed. A command this package does not know needs more than any.
func MinimumVersion(cmd queue.Command) uint32 {
	c, err := codecOf(cmd)
	if err != nil {
		return format.CurrentVersion + 1
	}
	return max(c.minimum, c.needs(cmd))
}

// AddsMessages reports whether the command in a frame adds messages, or as many bytes. A
// command that clears something makes room.
func AddsMessages(frame []byte) bool {
	c, body, err := parseFrame(frame)
	if err != nil {
		return false
	}
	if c.adds.when == nil {
		return c.adds.always
	}
	cmd, err := c.decode(nil, body)
	return err == nil && c.adds.when(cmd)
}
