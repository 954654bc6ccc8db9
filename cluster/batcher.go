package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

const (
	// batchCommandsMax and batchBytesMax bound one log entry (raft.md A1). A
	// single larger command makes an entry of its own.
	batchCommandsMax = 1024
	batchBytesMax    = 256 << 10
	// entriesInFlight: one entry in the leader's sync, one in replication.
	// More made batches smaller and nothing faster (raft.md B3).
	entriesInFlight = 2
)

// submission is one encoded command on its way into the log.
type submission struct {
	frame          []byte
	id             fsm.RequestID // zero: it has none
	minimumVersion uint32
	deadline       time.Duration // on the monotonic clock; 0: none
	// essential commands find room when there is none for sends any more:
	// receives and deletes are what empties queues.
	essential bool
	// settle takes the outcome, once, on any goroutine; it must not block.
	// It is not called after cancel returned true.
	settle func(outcome)
	state  atomic.Uint32
}

const (
	submissionWaiting uint32 = iota
	submissionTaken
	submissionCancelled
)

// cancel reports whether the command will certainly never be proposed.
func (s *submission) cancel() bool {
	return s.state.CompareAndSwap(submissionWaiting, submissionCancelled) ||
		s.state.Load() == submissionCancelled
}

// giveUp is the outcome for who does not wait any longer.
func (s *submission) giveUp() outcome {
	if s.cancel() {
		return outcome{verdict: expired}
	}
	return outcome{verdict: outcomeUnknown}
}

func (s *submission) take() bool {
	return s.state.CompareAndSwap(submissionWaiting, submissionTaken)
}

// committerConfig is what a committer works with.
type committerConfig struct {
	propose       func(entry []byte) (wait func() (fsm.EntryResult, error), err error)
	stamp         func() queue.Timestamp // log time for a new entry
	monotonic     func() time.Duration
	formatVersion func() uint32
	term          uint64 // of the leader
	limits        RequestLimits
	counts        *counters
}

// committer packs waiting commands into log entries (group commit). It lives
// as long as one tenure. submit is safe for concurrent use; run has one caller.
type committer struct {
	committerConfig

	mu       sync.Mutex
	internal []*submission // of the tenure itself, proposed ahead of waiting
	waiting  []*submission
	bytes    int // of waiting and of backlog
	commands int // likewise
	opened   bool
	ended    bool
	wake     chan struct{} // capacity 1: a token says that there may be work
	slots    chan struct{} // capacity entriesInFlight: held by entries in flight
	holding  chan struct{} // capacity 1: a lock that can be waited for with a context

	// Taken from internal and waiting. Used by run only.
	urgent, backlog []*submission
}

func newCommitter(config committerConfig) *committer {
	return &committer{
		committerConfig: config,
		wake:            make(chan struct{}, 1),
		slots:           make(chan struct{}, entriesInFlight),
		holding:         make(chan struct{}, 1),
	}
}

// submit queues commands, one right behind the other; if there is no room for
// one, there is none for those behind it. Whatever happens to each, settle is told.
func (c *committer) submit(commands ...*submission) {
	c.mu.Lock()
	queued, refused := 0, verdict(0)
	for _, s := range commands {
		if refused = c.refuses(s); refused != 0 {
			break
		}
		c.waiting = append(c.waiting, s)
		c.bytes += len(s.frame)
		c.commands++
		queued++
	}
	c.mu.Unlock()
	for _, s := range commands[queued:] {
		if s.take() {
			s.settle(outcome{verdict: refused})
		}
	}
	if queued > 0 {
		c.poke()
	}
}

// refuses is the verdict on a command that is not to be queued, zero for all
// others. The caller holds mu.
func (c *committer) refuses(s *submission) verdict {
	bytesMax, commandsMax := c.limits.room(s.essential)
	switch {
	case c.ended:
		return notProposed
	case c.bytes+len(s.frame) > bytesMax && c.commands > 0,
		c.commands >= commandsMax:
		return overloaded
	default:
		return 0
	}
}

// submitInternal queues a command of the tenure itself, ahead of all others
// and whether or not the committer is open.
func (c *committer) submitInternal(s *submission) {
	c.mu.Lock()
	ended := c.ended
	if !ended {
		c.internal = append(c.internal, s)
	}
	c.mu.Unlock()
	if ended {
		if s.take() {
			s.settle(outcome{verdict: notProposed})
		}
		return
	}
	c.poke()
}

// waitingNow is what the queue holds.
func (c *committer) waitingNow() (bytes, commands int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.commands
}

// open lets the commands of clients pass.
func (c *committer) open() {
	c.mu.Lock()
	c.opened = true
	c.mu.Unlock()
	c.poke()
}

func (c *committer) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// hold waits until no entry is in flight and lets none start until release.
func (c *committer) hold(ctx context.Context) (release func(), err error) {
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

// release gives back the slots of a hold and lets the next one begin.
func (c *committer) release(slots int) {
	for range slots {
		<-c.slots
	}
	<-c.holding
}

// flight is one proposed entry with the commands in it.
type flight struct {
	wait     func() (fsm.EntryResult, error)
	commands []*submission
}

// run proposes until ctx ends; when it returns every command is settled.
func (c *committer) run(ctx context.Context) {
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
		case <-c.wake:
		}
		for more := true; more; {
			select {
			case <-ctx.Done():
				return
			case c.slots <- struct{}{}:
			}
			more = c.commit(flights)
			if !more {
				<-c.slots
			}
		}
	}
}

// commit proposes one entry, if there is anything to propose. The caller has
// taken a slot for it.
func (c *committer) commit(flights chan<- flight) bool {
	for {
		batch := c.takeBatch()
		if len(batch) == 0 {
			return false
		}
		wait, err := c.propose(c.encode(batch))
		if err == nil {
			flights <- flight{wait, batch}
			return true
		}
		// Nothing of it is in the log and nothing will be: whoever asked
		// looks for the leader again.
		for _, s := range batch {
			s.settle(outcome{verdict: notProposed})
		}
	}
}

func (c *committer) encode(batch []*submission) []byte {
	const envelope = 64 // format, flags, time, count and CRC, with room to spare
	size := envelope
	frames := make([][]byte, len(batch))
	ids := make([]fsm.RequestID, len(batch))
	for i, s := range batch {
		frames[i], ids[i] = s.frame, s.id
		size += len(s.frame)
	}
	c.counts.entries.Add(1)
	c.counts.batchCommands.observe(float64(len(batch)))
	c.counts.batchBytes.observe(float64(size - envelope))
	if c.formatVersion() < fsm.TermVersion {
		return fsm.AppendEntry(make([]byte, 0, size), c.stamp(), frames)
	}
	size += fsm.ProposalBytes(len(batch))
	return fsm.AppendProposal(make([]byte, 0, size), fsm.Proposal{At: c.stamp(), Term: c.term, Frames: frames, Requests: ids})
}

// takeBatch takes what fits one entry. Commands that were cancelled, have
// expired or cannot be read by all nodes are dropped on the way.
func (c *committer) takeBatch() []*submission {
	now, version := c.monotonic(), c.formatVersion()
	var batch []*submission
	size := 0
	add := func(s *submission) bool {
		if len(batch) > 0 && (len(batch) >= batchCommandsMax || size+len(s.frame) > batchBytesMax) {
			return false
		}
		if !s.take() {
			return true // cancelled, and settled by who cancelled it
		}
		switch {
		case s.deadline != 0 && now >= s.deadline:
			s.settle(outcome{verdict: expired})
		case s.minimumVersion > version:
			s.settle(outcome{verdict: unsupported})
		default:
			batch = append(batch, s)
			size += len(s.frame)
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
		takenBytes += len(c.backlog[0].frame)
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
func (c *committer) refill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.urgent) == 0 {
		c.urgent, c.internal = c.internal, nil
	}
	if len(c.backlog) < batchCommandsMax && c.opened {
		c.backlog = append(c.backlog, c.waiting...)
		clear(c.waiting) // or the array would keep what is settled
		c.waiting = c.waiting[:0]
	}
}

// collect hands the answers of applied entries to those who wait for them.
// Entries are applied in the order they were proposed in.
func (c *committer) collect(flights <-chan flight) {
	for f := range flights {
		result, err := f.wait()
		<-c.slots
		verdict := answered
		switch {
		case errors.Is(err, fault.ErrNotLeader), err == nil && result.Void:
			verdict = notProposed
		case err != nil || len(result.Responses) != len(f.commands):
			verdict = outcomeUnknown
		}
		at := Position{Index: result.Index, LogTime: result.At}
		for i, s := range f.commands {
			o := outcome{verdict: verdict}
			if verdict == answered {
				o.response, o.at = result.Responses[i], at
			}
			s.settle(o)
		}
	}
}

// end refuses everything that was not proposed, and everything later.
func (c *committer) end() {
	c.mu.Lock()
	left := slices.Concat(c.urgent, c.internal, c.backlog, c.waiting)
	c.urgent, c.internal, c.backlog, c.waiting = nil, nil, nil, nil
	c.bytes, c.commands, c.ended = 0, 0, true
	c.mu.Unlock()
	for _, s := range left {
		if s.take() {
			s.settle(outcome{verdict: notProposed})
		}
	}
}
