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
	// batchCommandsMax and batchBytesMax bound one log entry (raft.md A1). A
	// single larger command makes an entry of its own.
	batchCommandsMax = 1024
	batchBytesMax    = 256 << 10
	// entriesInFlight: one entry in the leader's sync, one in replication.
	// More made batches smaller and nothing faster (raft.md B3). When the second one
	// leaves beside the first is up to due.
	entriesInFlight = 2
)

// groupCommitterOptions are what a groupCommitter works with.
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

// groupCommitter packs waiting commands into log entries (group commit). It lives
// as long as one Term. submit is safe for concurrent use; run has one caller.
type groupCommitter struct {
	groupCommitterOptions

	mu       sync.Mutex
	internal []*Submission // of the leader itself, proposed ahead of waiting
	waiting  []*Submission
	bytes    int // of waiting and of backlog
	commands int // likewise
	opened   bool
	ended    bool
	work     wakeup.Signal // that there may be something to propose
	slots    chan struct{} // capacity entriesInFlight: held by entries in flight
	holding  chan struct{} // capacity 1: a mutex of hold whose Lock can be given up

	written   func()       // gives work
	flying    atomic.Int32 // entries proposed and not landed
	gathering gathering    // under mu

	// Taken from internal and waiting. Used by run only.
	urgent, backlog []*Submission
	lastCommands    int // in the entry proposed last; used by run only
}

func newGroupCommitter(options groupCommitterOptions) *groupCommitter {
	c := &groupCommitter{
		groupCommitterOptions: options,
		work:                  wakeup.NewSignal(),
		slots:                 make(chan struct{}, entriesInFlight),
		holding:               make(chan struct{}, 1),
	}
	c.written = c.work.Notify
	return c
}

// submit queues commands, one right behind the other; if there is no room for
// one, there is none for those behind it. Each is completed, whatever happens to it.
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

// refuses is the verdict on a command that is not to be queued, zero for all
// others. The caller holds mu.
func (c *groupCommitter) refuses(s *Submission) Verdict {
	bytesMax, commandsMax := c.limits.Room(s.essential)
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

// submitInternal queues a command of the leader itself, ahead of all others
// and whether or not the group committer is open.
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

// queued is what waits to be proposed.
func (c *groupCommitter) queued() (bytes, commands int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.commands
}

// open lets the commands of clients pass.
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

// release returns the slots of a hold and lets the next one begin.
func (c *groupCommitter) release(slots int) {
	for range slots {
		<-c.slots
	}
	<-c.holding
}

// flight is one proposed entry with the commands in it.
type flight struct {
	wait     func() (fsm.EntryResult, error)
	commands []*Submission
	began    time.Duration // monotonic
}

// run proposes until ctx ends; when it returns every command is completed.
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

// due reports whether the next entry is to be proposed now: if none is in flight, as
// soon as those that were answered are back, see gathering; beside one in flight, when
// as much waits as that one held. A lone command, and one of the leader itself, leaves at
// once.
//
// An entry costs as much processor time as ten messages. To let a few commands leave
// beside a large entry is what made entries small: on a fast disk that all nodes share,
// 64 clients made entries of 15 and one entry in flight was faster than two; on slow
// disks of their own one was a fifth slower. This rule is as fast as one there (entries
// of 21, and 10 to 25 % more sends) and as two here. Half as much
// as the other held, and twice as much, were both slower on one of the two.
func (c *groupCommitter) due() bool {
	flying := c.flying.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	commands, bytes := len(c.urgent)+len(c.internal)+len(c.backlog), 0
	if c.opened {
		commands, bytes = len(c.urgent)+len(c.internal)+c.commands, c.bytes
	}
	switch flying {
	case 0:
		own := len(c.urgent)+len(c.internal) > 0
		return commands > 0 && (own || bytes >= batchBytesMax || c.gathering.over(commands, c.monotonic(), c.work))
	case entriesInFlight:
		return false
	default:
		return (commands >= c.lastCommands || bytes >= batchBytesMax) && !c.writing(c.written)
	}
}

// commit proposes one entry, if there is anything to propose. The caller has
// taken a slot for it.
func (c *groupCommitter) commit(flights chan<- flight) bool {
	for {
		batch := c.takeBatch()
		if len(batch) == 0 {
			return false
		}
		wait, err := c.propose(c.encode(batch))
		if err == nil {
			c.lastCommands = len(batch)
			c.flying.Add(1)
			flights <- flight{wait, batch, c.monotonic()}
			return true
		}
		// Nothing of it is in the log and nothing will be, so that the callers
		// may ask the next leader.
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
	c.counters.Entries.Add(1)
	c.counters.BatchCommands.Observe(float64(len(batch)))
	c.counters.BatchBytes.Observe(float64(size))
	size += codec.EntryOverheadBytes(len(batch))
	return codec.AppendProposal(make([]byte, 0, size), codec.Proposal{At: c.stamp(), Term: c.term, Frames: frames, Requests: ids})
}

// takeBatch takes what fits one entry. Commands that were cancelled, have
// expired or cannot be read by all nodes are dropped on the way.
func (c *groupCommitter) takeBatch() []*Submission {
	now, version := c.monotonic(), c.formatVersion()
	var batch []*Submission
	size := 0
	add := func(s *Submission) bool {
		if len(batch) > 0 && (len(batch) >= batchCommandsMax || size+len(s.Frame) > batchBytesMax) {
			return false
		}
		if !s.take() {
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

// refill takes over what waits, so that the next entry is as full as it can be.
func (c *groupCommitter) refill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.urgent) == 0 {
		c.urgent, c.internal = c.internal, nil
	}
	if len(c.backlog) < batchCommandsMax && c.opened {
		c.backlog = append(c.backlog, c.waiting...)
		clear(c.waiting) // or the array would keep what is completed
		c.waiting = c.waiting[:0]
	}
}

// collect completes the commands of applied entries with their answers.
// Entries are applied in the order they were proposed in.
func (c *groupCommitter) collect(flights <-chan flight) {
	for f := range flights {
		result, err := f.wait()
		c.landed(f)
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

// landed notes that an entry is applied, or will not be.
func (c *groupCommitter) landed(f flight) {
	now := c.monotonic()
	c.mu.Lock()
	c.gathering.landed(len(f.commands), c.commands, now-f.began, now)
	c.mu.Unlock()
	c.flying.Add(-1)
}

// end refuses everything that was not proposed, and everything later.
func (c *groupCommitter) end() {
	c.mu.Lock()
	left := slices.Concat(c.urgent, c.internal, c.backlog, c.waiting)
	c.urgent, c.internal, c.backlog, c.waiting = nil, nil, nil, nil
	c.bytes, c.commands, c.ended = 0, 0, true
	c.gathering.stop()
	c.mu.Unlock()
	for _, s := range left {
		s.refuse(Outcome{Verdict: NotProposed})
	}
}
