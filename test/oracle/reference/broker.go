package reference

import (
	"cmp"
	"maps"
	"slices"
)

// Broker is the whole state of the model. Times are milliseconds.
type Broker struct {
	now      int64
	queues   map[string]*Queue
	settings map[string]string
	// deletedAt and lastNumber outlive a queue: the first for the cool-off after DeleteQueue, the
	// second because sequence numbers are never reused under one name (faults.md I9).
	deletedAt    map[string]int64
	lastNumber   map[string]int
	tasks        []*MoveTask
	topics       map[string]*Topic
	lastMessage  int
	lastDelivery int
	lastTask     int
	lastLock     int
	lastSub      int
	issued       map[int]issued // by delivery
	changed      []*Queue       // by the command at hand
	leave        bool           // see Leave
	committing   bool           // applies a transaction, whose parts are checked
	deliveries   Deliveries
}

// Queue is one queue with all it holds.
type Queue struct {
	Name     string
	FIFO     bool
	Settings Settings
	Tags     map[string]string
	messages []*Message // in sequence order
	history  history
	attempts []*attempt
	sessions map[string]*session // those with a lock or a state
	// quietUntil is the next time at which the queue changes without a command; 0: unknown. It only
	// saves checks.
	quietUntil int64
	// lingering has the bytes of expired messages, with and without a time to live of their own, that count
	// until a command uses the queue.
	lingering struct{ mortal, aged int64 }
	// planned is the number of bytes that the transaction being checked adds, or removes if negative.
	planned  int64
	purgedAt int64
	purged   bool
	forgotAt int64 // the last time at which an id was forgotten on request
	forgot   bool
	// changedAt is the time of the creation or the last change of attributes.
	changedAt int64
	usedAt    int64 // by a client
}

// Error is a refusal. If Text is empty, the specification does not define the text.
type Error struct{ Code, Text string }

// New returns an empty Broker.
func New() *Broker {
	return &Broker{
		queues:     map[string]*Queue{},
		topics:     map[string]*Topic{},
		settings:   map[string]string{},
		deletedAt:  map[string]int64{},
		lastNumber: map[string]int{},
		issued:     map[int]issued{},
		deliveries: noDeliveries(),
	}
}

// Now returns the log time.
func (b *Broker) Now() int64 { return b.now }

// Advance moves the clock, which never goes back (faults.md I13e). It makes all changes that depend
// only on time, in all queues.
func (b *Broker) Advance(at int64) {
	b.now = max(b.now, at)
	for _, q := range b.queues { // in any order, as they are independent
		if b.now < q.quietUntil {
			continue
		}
		b.endSessions(q)
		b.activateScheduled(q)
		b.dropExpired(q)
		q.forgetAttempts(b.now)
		q.quietUntil = q.nextChange()
	}
	b.deliveries = noDeliveries()
	b.publishScheduled()
	b.Forward()
	for _, t := range b.topics {
		b.dropArchived(t)
	}
}

// nextChange returns the next time at which Advance changes something.
func (q *Queue) nextChange() int64 {
	next := int64(1) << 62
	for _, m := range q.messages {
		if m.Scheduled {
			next = min(next, m.DueAt)
		} else if m.TimeToLive > 0 {
			return 0
		} else if q.Settings.TimeToLive == 0 {
			next = min(next, m.SentAt+q.Settings.Retention*1000)
		}
	}
	for _, a := range q.attempts {
		next = min(next, a.at+q.Settings.AttemptWindow*1000)
	}
	for _, s := range q.sessions {
		if s.lock != 0 {
			next = min(next, s.until)
		}
	}
	return next
}

// Queues returns the queues by name.
func (b *Broker) Queues() []*Queue {
	all := []*Queue{}
	for _, q := range b.queues {
		all = append(all, q)
	}
	slices.SortFunc(all, func(x, y *Queue) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

// Queue finds a queue, nil if there is none.
func (b *Broker) Queue(name string) *Queue { return b.queues[name] }

func (b *Broker) addQueue(name string, fifo bool, s Settings) *Queue {
	q := &Queue{
		Name: name, FIFO: fifo, Settings: s, Tags: map[string]string{}, sessions: map[string]*session{}, changedAt: b.now,
		usedAt: b.now,
	}
	q.history.rules = &q.Settings.Deduplication
	b.queues[name] = q
	return q
}

// SetSetting stores a cluster setting.
func (b *Broker) SetSetting(name, value string) { b.settings[name] = value }

func (b *Broker) cooldowns() bool { return b.settings["aws-cooldowns"] == "true" }

func (b *Broker) minimumWindow() int64 {
	if n, ok := wholeNumber(b.settings["minimum-window-seconds"]); ok {
		return n
	}
	return 20
}

func (b *Broker) find(name string) (*Queue, *Error) {
	if q := b.queues[name]; q != nil {
		b.begin(q)
		return q, nil
	}
	return nil, &Error{"QueueDoesNotExist", "The specified queue does not exist."}
}

// begin begins the use of a queue by the command at hand, unless it is refused before.
func (b *Broker) begin(q *Queue) {
	q.quietUntil = 0 // it changes now
	begun := b.committing && slices.Contains(b.changed, q)
	if !b.leave && !begun {
		b.mark(q)
		b.moveExpired(q)
	}
}

// Leave says whether the command at hand is refused before it uses a queue. The model checks commands in
// another order.
func (b *Broker) Leave(leave bool) { b.leave = leave }

// coolOffMilliseconds is the wait after DeleteQueue and between PurgeQueue calls (sqs.md 2.1,
// 2.12), if the cluster setting is on.
const coolOffMilliseconds = 60_000

// DeleteQueue implements sqs.md 2.2: it deletes the queue with its records and move tasks.
func (b *Broker) DeleteQueue(name string) *Error {
	if _, err := b.find(name); err != nil {
		return err
	}
	b.Forward()
	b.drop(b.queues[name])
	b.deletedAt[name] = b.now
	return nil
}

// PurgeQueue implements sqs.md 2.12.
func (b *Broker) PurgeQueue(name string) *Error {
	q, err := b.find(name)
	if err != nil {
		return err
	}
	if b.cooldowns() && q.purged && b.now-q.purgedAt < coolOffMilliseconds {
		return &Error{
			"PurgeQueueInProgress",
			"Only one PurgeQueue operation on " + name + " is allowed every 60 seconds.",
		}
	}
	q.purged, q.purgedAt = true, b.now
	forget(q.messages)
	q.messages = nil
	q.attempts = nil
	if q.Settings.PurgeClearsHistory {
		q.history.accepted = nil
	}
	return nil
}

// SetTags adds or overwrites tags and removes keys.
func (b *Broker) SetTags(name string, set map[string]string, remove []string) *Error {
	q, err := b.find(name)
	if err != nil {
		return err
	}
	maps.Copy(q.Tags, set)
	for _, k := range remove {
		delete(q.Tags, k)
	}
	return nil
}
