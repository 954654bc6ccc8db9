package leader

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

const (
	// batchCommandsMax and batchBytesMax bound one log entry (raft.md A1). A larger command gets an
	// entry of its own.
	batchCommandsMax = 1024
	batchBytesMax    = 256 << 10
	// entriesInFlight allows one entry in the leader's sync and one in replication. More made
	// batches smaller and nothing faster (raft.md B3).
	entriesInFlight = 2
)

type groupCommitterOptions struct {
	propose       func(entry []byte) (wait func() (fsm.EntryResult, error), err error)
	writing       func(ended func()) bool // whether the next entry would wait for the disk; see Group
	stamp         func() queue.Timestamp  // log time for a new entry
	monotonic     func() time.Duration
	formatVersion func() uint32
	term          uint64 // of the leader
	limits        Limits
	counters      *Counters
}

// groupCommitter packs waiting commands into log entries. It lives as long as one Term. submit is
// safe for concurrent use; run has one caller.
type groupCommitter struct {
	options groupCommitterOptions

	mu       sync.Mutex
	internal []*Submission // of the leader itself, proposed before those of clients
	waiting  []*Submission
	bytes    int // of waiting and of backlog
	commands int // likewise
	opened   bool
	ended    bool
	work     wakeup.Signal // notified when there may be something to propose
	slots    chan struct{} // capacity entriesInFlight: held by entries in flight
	holding  chan struct{} // capacity 1: the mutex of hold, as a channel so that waiting can end with a context

	written  func()        // notifies work
	inFlight atomic.Int32  // entries proposed and not yet applied
	delay    batchingDelay // under mu

	// Claimed from internal and waiting. Used by run only.
	urgent, backlog []*Submission
	lastCommands    int // in the entry proposed last; used by run only
}

func newGroupCommitter(options groupCommitterOptions) *groupCommitter {
	c := &groupCommitter{
		options: options,
		work:    wakeup.NewSignal(),
		slots:   make(chan struct{}, entriesInFlight),
		holding: make(chan struct{}, 1),
	}
	c.written = c.work.Notify
	return c
}

// submit queues commands, one right after the other. If one is refused, so are those after it. Each
// is completed in any case.
func (c *groupCommitter) submit(commands ...*Submission) {
	c.mu.Lock()
	queued, refused := 0, Verdict(0)
	for _, s := range commands {
		if refused = c.refuses(s); refused != 0 {
			break
		}
		c.waiting = append(c.waiting, s)
		c.bytes += len(s.Frame)
		c.commands++
		queued++
	}
	c.mu.Unlock()
	for _, s := range commands[queued:] {
		s.refuse(Outcome{Verdict: refused})
	}
	if queued > 0 {
		c.work.Notify()
	}
}

// refuses returns the verdict on a command that may not be queued, otherwise zero. The caller holds
// mu.
func (c *groupCommitter) refuses(s *Submission) Verdict {
	bytesMax, commandsMax := c.options.limits.Room(s.essential)
	switch {
	case c.ended:
		return NotProposed
	case c.bytes+len(s.Frame) > bytesMax && c.commands > 0,
		c.commands >= commandsMax:
		return Overloaded
	default:
		return 0
	}
}

// submitInternal queues a command of the leader itself, before those of clients, even before open.
func (c *groupCommitter) submitInternal(s *Submission) {
	c.mu.Lock()
	ended := c.ended
	if !ended {
		c.internal = append(c.internal, s)
	}
	c.mu.Unlock()
	if ended {
		s.refuse(Outcome{Verdict: NotProposed})
		return
	}
	c.work.Notify()
}

// queued returns the bytes and commands that wait to be proposed.
func (c *groupCommitter) queued() (bytes, commands int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.commands
}

// open allows the commands of clients.
func (c *groupCommitter) open() {
	c.mu.Lock()
	c.opened = true
	c.mu.Unlock()
	c.work.Notify()
}

// hold waits until no entry is in flight and lets none start until release.
func (c *groupCommitter) hold(ctx context.Context) (release func(), err error) {
	select {
	case c.holding <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for held := range entriesInFlight {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			c.release(held)
			return nil, ctx.Err()
		}
	}
	return func() { c.release(entriesInFlight) }, nil
}

// release returns the slots of a hold and lets the next hold begin.
func (c *groupCommitter) release(slots int) {
	for range slots {
		<-c.slots
	}
	<-c.holding
}

// flight is one proposed entry with its commands.
type flight struct {
	wait     func() (fsm.EntryResult, error)
	commands []*Submission
	began    time.Duration // monotonic
}

// run proposes until ctx ends. When it returns, every command is completed.
func (c *groupCommitter) run(ctx context.Context) {
	flights := make(chan flight, entriesInFlight) // never more than slots, so sending never blocks
	var collector sync.WaitGroup
	collector.Go(func() { c.collect(flights) })
	defer collector.Wait()
	defer close(flights)
	defer c.end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.work:
		}
		for c.due() {
			select {
			case <-ctx.Done():
				return
			case c.slots <- struct{}{}:
			}
			if !c.commit(flights) {
				<-c.slots
			}
		}
	}
}

// due reports whether to propose the next entry now. With none in flight, that is after the
// batching delay; commands of the leader itself are not delayed. With one in flight, as many
// commands must wait as it holds, because an entry costs as much processor time as ten messages.
//
// Measured with 64 clients: letting a few commands leave beside a large entry made entries small,
// and two in flight slower than one on a fast shared disk. On slow disks, one in flight was a fifth
// slower than two. Half as many commands as the other entry holds, or twice as many, was slower on
// one of the two.
func (c *groupCommitter) due() bool {
	inFlight := c.inFlight.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	commands, bytes := len(c.urgent)+len(c.internal)+len(c.backlog), 0
	if c.opened {
		commands, bytes = len(c.urgent)+len(c.internal)+c.commands, c.bytes
	}
	switch inFlight {
	case 0:
		own := len(c.urgent)+len(c.internal) > 0
		return commands > 0 && (own || bytes >= batchBytesMax || c.delay.over(commands, c.options.monotonic(), c.work))
	case entriesInFlight:
		return false
	default:
		return (commands >= c.lastCommands || bytes >= batchBytesMax) && !c.options.writing(c.written)
	}
}

// commit proposes one entry, if there is anything to propose. The caller holds a slot for it.
func (c *groupCommitter) commit(flights chan<- flight) bool {
	for {
		batch := c.nextBatch()
		if len(batch) == 0 {
			return false
		}
		wait, err := c.options.propose(c.encode(batch))
		if err == nil {
			c.lastCommands = len(batch)
			c.inFlight.Add(1)
			flights <- flight{wait, batch, c.options.monotonic()}
			return true
		}
		// The entry never enters the log, so callers may try the next leader.
		for _, s := range batch {
			s.Complete(Outcome{Verdict: NotProposed})
		}
	}
}

func (c *groupCommitter) encode(batch []*Submission) []byte {
	size := 0
	frames := make([][]byte, len(batch))
	ids := make([]codec.RequestID, len(batch))
	for i, s := range batch {
		frames[i], ids[i] = s.Frame, s.ID
		size += len(s.Frame)
	}
	c.options.counters.Entries.Add(1)
	c.options.counters.BatchCommands.Observe(float64(len(batch)))
	c.options.counters.BatchBytes.Observe(float64(size))
	size += codec.EntryOverheadBytes(len(batch))
	proposal := codec.Proposal{At: c.options.stamp(), Term: c.options.term, Frames: frames, Requests: ids}
	return codec.AppendProposal(make([]byte, 0, size), proposal)
}

// nextBatch returns the commands of the next entry. It drops commands that were cancelled, have
// expired, or cannot be read by all nodes.
func (c *groupCommitter) nextBatch() []*Submission {
	now, version := c.options.monotonic(), c.options.formatVersion()
	var batch []*Submission
	size := 0
	add := func(s *Submission) bool {
		if len(batch) > 0 && (len(batch) >= batchCommandsMax || size+len(s.Frame) > batchBytesMax) {
			return false
		}
		if !s.claim() {
			return true // cancelled, and completed by its canceller
		}
		switch {
		case s.Deadline != 0 && now >= s.Deadline:
			s.Complete(Outcome{Verdict: Expired})
		case s.MinimumVersion > version:
			s.Complete(Outcome{Verdict: Unsupported})
		default:
			batch = append(batch, s)
			size += len(s.Frame)
		}
		return true
	}
	c.refill()
	for len(c.urgent) > 0 && add(c.urgent[0]) {
		c.urgent[0] = nil
		c.urgent = c.urgent[1:]
	}
	taken, takenBytes := 0, 0
	for len(c.urgent) == 0 && len(c.backlog) > 0 && add(c.backlog[0]) {
		takenBytes += len(c.backlog[0].Frame)
		taken++
		c.backlog[0] = nil
		c.backlog = c.backlog[1:]
	}
	if taken > 0 {
		c.mu.Lock()
		c.bytes -= takenBytes
		c.commands -= taken
		c.mu.Unlock()
	}
	return batch
}

// refill moves waiting commands to the backlog, so that the next entry is as full as possible.
func (c *groupCommitter) refill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.urgent) == 0 {
		c.urgent, c.internal = c.internal, nil
	}
	if len(c.backlog) < batchCommandsMax && c.opened {
		c.backlog = append(c.backlog, c.waiting...)
		clear(c.waiting) // release the submissions for garbage collection
		c.waiting = c.waiting[:0]
	}
}

// collect completes the commands of applied entries, in the order of proposal.
func (c *groupCommitter) collect(flights <-chan flight) {
	for f := range flights {
		result, err := f.wait()
		c.finished(f)
		<-c.slots
		c.work.Notify()
		verdict := Answered
		switch {
		case errors.Is(err, fault.ErrNotLeader), err == nil && result.Void:
			verdict = NotProposed
		case err != nil || len(result.Responses) != len(f.commands):
			verdict = Unknown
		}
		at := Position{Index: result.Index, LogTime: result.At}
		for i, s := range f.commands {
			o := Outcome{Verdict: verdict}
			if verdict == Answered {
				o.Response, o.At = result.Responses[i], at
			}
			s.Complete(o)
		}
	}
}

// finished notes that an entry is applied or has failed.
func (c *groupCommitter) finished(f flight) {
	now := c.options.monotonic()
	c.options.counters.Commits.Observe((now - f.began).Seconds())
	c.mu.Lock()
	c.delay.begin(len(f.commands), c.commands, now-f.began, now)
	c.mu.Unlock()
	c.inFlight.Add(-1)
}

// end refuses all commands that were not proposed, and all later ones.
func (c *groupCommitter) end() {
	c.mu.Lock()
	left := slices.Concat(c.urgent, c.internal, c.backlog, c.waiting)
	c.urgent, c.internal, c.backlog, c.waiting = nil, nil, nil, nil
	c.bytes, c.commands, c.ended = 0, 0, true
	c.delay.stop()
	c.mu.Unlock()
	for _, s := range left {
		s.refuse(Outcome{Verdict: NotProposed})
	}
}
