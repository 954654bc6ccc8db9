package consensus

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// commitNotifier sends followers the commit index after a commit that no entries follow. The
// library sends it with the next entries or with empty messages at a fixed rate, which kept an idle
// leader busy with fifty messages a second. Here the library's rate is low (keepAlive).
// exploit_notifier_test.go tests the reliance on the library. Safe for concurrent use.
type commitNotifier struct {
	raft  commitSource
	clock environment.Clock
	delay time.Duration // Timing.Commit
	log   hclog.Logger

	// moved: the commit index changed; atOnce: a read waits for it.
	moved, atOnce wakeup.Signal

	mu        sync.Mutex
	pipelines map[*notifyingPipeline]struct{}
	confirmed map[raft.ServerID]sentMessage // the last one that each follower confirmed outside a pipeline
	open      atomic.Int32                  // number of pipelines, 0 unless this node leads
}

// sentMessage is the last message to a follower without its entries: PrevLogEntry is the last of
// them.
type sentMessage struct {
	raft.AppendEntriesRequest
	at time.Duration // when, monotonic
}

func sentAt(args *raft.AppendEntriesRequest, at time.Duration) sentMessage {
	m := sentMessage{*args, at}
	m.Entries = nil
	if n := len(args.Entries); n > 0 {
		m.PrevLogEntry, m.PrevLogTerm = args.Entries[n-1].Index, args.Entries[n-1].Term
	}
	return m
}

// commitSource is the part of the library that the notifier reads.
type commitSource interface {
	CommitIndex() uint64
	CurrentTerm() uint64
	State() raft.RaftState
	Barrier(timeout time.Duration) raft.Future
}

// newCommitNotifier returns a notifier that sends the commit index if no entries have carried it
// within delay. Start it with watch and run.
func newCommitNotifier(clock environment.Clock, delay time.Duration, log hclog.Logger) *commitNotifier {
	return &commitNotifier{
		clock: clock, delay: delay, log: log, moved: wakeup.NewSignal(), atOnce: wakeup.NewSignal(),
		pipelines: map[*notifyingPipeline]struct{}{}, confirmed: map[raft.ServerID]sentMessage{},
	}
}

// appendEntriesMax bounds the entries of one message. A follower that lags further gets the next
// ones only when the library's slow timer or another entry wakes it; if nothing is written, the
// notifier writes a barrier.
const appendEntriesMax = 64

// keepAlive is the interval, up to twice as long at random, at which the library sends an idle
// follower the commit index. It matters to a follower that restarted or lost its connection while
// nothing is written.
const keepAlive = time.Second

// watch sets the library. Call it once, before run.
func (c *commitNotifier) watch(library commitSource) { c.raft = library }

// committed reports that the commit index may have changed.
func (c *commitNotifier) committed() {
	if c.open.Load() > 0 {
		c.moved.Notify()
	}
}

// now notifies the followers at once: one of them may wait with a read.
func (c *commitNotifier) now() { c.atOnce.Notify() }

// run notifies followers until ctx ends. Under load it wakes once per delay, when idle never.
func (c *commitNotifier) run(ctx context.Context) {
	timer := time.NewTimer(c.delay)
	defer timer.Stop()
	for again := false; ; {
		quiet := c.delay
		if !again {
			select {
			case <-ctx.Done():
				return
			case <-c.moved:
			case <-c.atOnce:
				quiet = 0
			}
		}
		if quiet > 0 {
			timer.Reset(quiet)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			case <-c.atOnce:
				quiet = 0
			}
		}
		again = c.notify(quiet)
	}
}

// notify sends the commit index to each follower that lacks it and was sent nothing for quiet. It
// reports whether others remain.
func (c *commitNotifier) notify(quiet time.Duration) (again bool) {
	// The order matters: a commit index read while this node led an earlier term must not be sent
	// as that of the current term.
	commit, term := c.raft.CommitIndex(), c.raft.CurrentTerm()
	if c.raft.State() != raft.Leader || c.raft.CurrentTerm() != term {
		return false
	}
	c.mu.Lock()
	pipelines := make([]*notifyingPipeline, 0, len(c.pipelines))
	for p := range c.pipelines { // order does not matter: they are independent
		pipelines = append(pipelines, p)
	}
	c.mu.Unlock()
	for _, p := range pipelines {
		if p.notify(term, commit, quiet) {
			again = true
		}
	}
	return again
}

// confirms records that a follower accepted a message outside a pipeline. A new leader's first
// entries are sent like that, and possibly none follow them in the pipeline opened next. A
// heartbeat does not refer to the log.
func (c *commitNotifier) confirms(id raft.ServerID, args *raft.AppendEntriesRequest) {
	if args.PrevLogEntry == 0 && len(args.Entries) == 0 {
		return
	}
	m := sentAt(args, c.clock.Monotonic())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed[id] = m
}

// pipeline wraps the pipeline to one follower.
func (c *commitNotifier) pipeline(id raft.ServerID, inner raft.AppendPipeline) raft.AppendPipeline {
	p := &notifyingPipeline{
		AppendPipeline: inner, notifier: c, lock: make(chan struct{}, 1), offered: make(chan []*raft.Log, 1),
		unfinished: make(chan func() error, 1), closed: make(chan struct{}),
	}
	if p.sender, _ = inner.(earlySender); p.sender != nil {
		p.sending.Go(p.sendOffered)
	}
	c.mu.Lock()
	p.last = c.confirmed[id]
	c.pipelines[p] = struct{}{}
	c.open.Store(int32(len(c.pipelines)))
	c.mu.Unlock()
	c.committed() // maybe before the pipeline was opened
	return p
}

// notifyingPipeline records the last message to a follower, so that the notifier can follow it.
type notifyingPipeline struct {
	raft.AppendPipeline
	notifier *commitNotifier

	// lock orders the messages. It is a channel of capacity 1 because its holder may
	// block on the other node.
	lock chan struct{}
	last sentMessage
	full bool // the library sent the maximum number of entries

	// Early append, see early_append.go.
	sender     earlySender       // nil: not supported
	offered    chan []*raft.Log  // capacity 1; if full, the library sends the entries
	unfinished chan func() error // capacity 1: a partly written message, which keeps the lock
	early      []*appended       // sent early and not requested, oldest first; guarded by lock
	closed     chan struct{}
	once       sync.Once
	sending    sync.WaitGroup
}

// AppendEntries sends entries.
func (p *notifyingPipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	p.lock <- struct{}{}
	defer p.unlock()
	remaining, asked, err := p.claimAnswers(args)
	if err != nil {
		return nil, err
	}
	var last raft.AppendFuture
	if asked != nil {
		last, resp = asked, new(raft.AppendEntriesResponse)
	}
	if remaining != nil {
		for part := range parts(remaining) {
			future, err := p.send(part, resp)
			if err != nil {
				return nil, err
			}
			last, resp = future, new(raft.AppendEntriesResponse)
		}
	}
	if p.full = len(args.Entries) >= appendEntriesMax; p.full {
		p.notifier.committed()
	}
	return last, nil
}

// tryLock acquires the lock if it is free.
func (p *notifyingPipeline) tryLock() bool {
	select {
	case p.lock <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *notifyingPipeline) unlock() { <-p.lock }

// send sends a message and records it. The caller holds the lock.
func (p *notifyingPipeline) send(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	future, err := p.AppendPipeline.AppendEntries(args, resp)
	if err != nil {
		return nil, err
	}
	last := sentAt(args, p.notifier.clock.Monotonic())
	if len(p.early) > 0 { // the follower has more than the library assumes
		last.PrevLogEntry, last.PrevLogTerm = p.last.PrevLogEntry, p.last.PrevLogTerm
	}
	p.last, p.full = last, false
	return future, nil
}

// notify sends the commit index if the follower lacks it and was sent nothing for quiet. It is
// bounded by the entries sent to the follower: only these are known to be this leader's.
func (p *notifyingPipeline) notify(term, commit uint64, quiet time.Duration) (again bool) {
	if !p.tryLock() {
		return true // the library is sending
	}
	defer p.unlock()
	commit = min(commit, p.last.PrevLogEntry)
	if p.last.Term != term || (p.last.LeaderCommitIndex >= commit && !p.full) {
		return false
	}
	if p.notifier.clock.Monotonic()-p.last.at < quiet {
		return true
	}
	if p.full {
		p.full = false
		p.notifier.raft.Barrier(p.notifier.delay) // without waiting for it
		return true
	}
	if p.sender != nil && p.sender.busy() {
		return true // others are notified meanwhile; none of them may block
	}
	message := p.last.AppendEntriesRequest
	message.LeaderCommitIndex = commit
	// An error here recurs with the next message of the library, which handles it.
	_, err := p.send(&message, new(raft.AppendEntriesResponse))
	if err != nil {
		p.notifier.log.Debug("sending a follower the commit index failed", "error", err)
	}
	return false
}

// Close ends the pipeline, usually because the connection broke. The library resends unanswered
// entries when its slow timer or another entry wakes it, so Close writes a barrier.
func (p *notifyingPipeline) Close() error {
	if p.tryLock() { // otherwise the notifier blocks in sending, which Close below ends
		last := p.last
		p.unlock()
		consensus := p.notifier.raft
		if consensus.State() == raft.Leader && consensus.CurrentTerm() == last.Term {
			consensus.Barrier(p.notifier.delay) // without waiting for it
		}
	}
	p.notifier.mu.Lock()
	delete(p.notifier.pipelines, p)
	p.notifier.open.Store(int32(len(p.notifier.pipelines)))
	p.notifier.mu.Unlock()
	p.once.Do(func() { close(p.closed) })
	err := p.AppendPipeline.Close()
	p.sending.Wait()
	return err
}
