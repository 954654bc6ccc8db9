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

// commitNotifier tells followers what is committed when nothing else does. The
// library tells it with the next entries, or with empty messages at a fixed rate
// for ever, which kept an idle leader busy with fifty of them in a second. Here
// the library's rate is low (keepAlive) and the notifier sends one message after a
// commit that no entries followed. What this relies on in the library is tested by
// exploit_notifier_test.go. Safe for concurrent use.
type commitNotifier struct {
	raft  commitSource
	clock environment.Clock
	delay time.Duration // Timing.Commit
	log   hclog.Logger

	// moved says that something was committed, atOnce that a read waits for it.
	moved, atOnce wakeup.Signal

	mu        sync.Mutex
	pipelines map[*notifyingPipeline]struct{}
	confirmed map[raft.ServerID]sentMessage // the last that each follower confirmed outside a pipeline
	open      atomic.Int32                  // how many pipelines, zero unless this node leads
}

// sentMessage is what a follower was sent last, as a message without entries that
// begins where it ended.
type sentMessage struct {
	raft.AppendEntriesRequest
	at time.Duration // when, monotonic
}

// sentAt is what remains to be known of a message.
func sentAt(args *raft.AppendEntriesRequest, at time.Duration) sentMessage {
	m := sentMessage{*args, at}
	m.Entries = nil
	if n := len(args.Entries); n > 0 {
		m.PrevLogEntry, m.PrevLogTerm = args.Entries[n-1].Index, args.Entries[n-1].Term
	}
	return m
}

// commitSource is what the notifier reads of the library.
type commitSource interface {
	CommitIndex() uint64
	CurrentTerm() uint64
	State() raft.RaftState
	Barrier(timeout time.Duration) raft.Future
}

// newCommitNotifier tells followers after delay without entries. It begins with watch
// and run.
func newCommitNotifier(clock environment.Clock, delay time.Duration, log hclog.Logger) *commitNotifier {
	return &commitNotifier{
		clock: clock, delay: delay, log: log, moved: wakeup.NewSignal(), atOnce: wakeup.NewSignal(),
		pipelines: map[*notifyingPipeline]struct{}{}, confirmed: map[raft.ServerID]sentMessage{},
	}
}

// appendEntriesMax is how many entries one message has at most. To a follower that
// is further behind the library sends the next ones when it is woken, by its slow
// timer or by another entry: with nothing else to write, the notifier writes a
// barrier.
const appendEntriesMax = 64

// keepAlive is how often the library itself tells an idle follower what is
// committed, up to twice as long at random. It matters to a follower that was
// restarted, or whose connection broke, while nothing is written.
const keepAlive = time.Second

// openPipelines is how many are open: none unless this node leads.
func (c *commitNotifier) openPipelines() int { return int(c.open.Load()) }

// watch sets whose commits are told. It is called once, before run.
func (c *commitNotifier) watch(library commitSource) { c.raft = library }

// committed says that the commit index may have moved.
func (c *commitNotifier) committed() {
	if c.open.Load() > 0 {
		c.moved.Notify()
	}
}

// now tells the followers now: one of them may wait with a read.
func (c *commitNotifier) now() { c.atOnce.Notify() }

// run tells until ctx ends. Under load it wakes once per delay, when idle never.
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
		again = c.tell(quiet)
	}
}

// tell sends the commit index to each follower that was sent nothing for so long
// and does not know it. It reports whether there are others to come back to.
func (c *commitNotifier) tell(quiet time.Duration) (again bool) {
	// The order matters: an index read while this node led in a term before
	// must not go out as that of the present term.
	commit, term := c.raft.CommitIndex(), c.raft.CurrentTerm()
	if c.raft.State() != raft.Leader || c.raft.CurrentTerm() != term {
		return false
	}
	c.mu.Lock()
	pipelines := make([]*notifyingPipeline, 0, len(c.pipelines))
	for p := range c.pipelines { // order does not matter: each is its own
		pipelines = append(pipelines, p)
	}
	c.mu.Unlock()
	for _, p := range pipelines {
		if p.tell(term, commit, quiet) {
			again = true
		}
	}
	return again
}

// confirms notes that a follower took a message that was not sent in a pipeline. A new
// leader's first entries go like this, and nothing may follow them in the pipeline that
// is opened next. A heartbeat says nothing of the follower's log.
func (c *commitNotifier) confirms(id raft.ServerID, args *raft.AppendEntriesRequest) {
	if args.PrevLogEntry == 0 && len(args.Entries) == 0 {
		return
	}
	m := sentAt(args, c.clock.Monotonic())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirmed[id] = m
}

// pipeline puts the notifier between the library and one follower.
func (c *commitNotifier) pipeline(id raft.ServerID, inner raft.AppendPipeline) raft.AppendPipeline {
	p := &notifyingPipeline{
		AppendPipeline: inner, notifier: c, turn: make(chan struct{}, 1), offered: make(chan []*raft.Log, 1), unfinished: make(chan func() error, 1), closed: make(chan struct{}),
	}
	if p.sender, _ = inner.(aheadSender); p.sender != nil {
		p.sending.Go(p.runAhead)
	}
	c.mu.Lock()
	p.last = c.confirmed[id]
	c.pipelines[p] = struct{}{}
	c.open.Store(int32(len(c.pipelines)))
	c.mu.Unlock()
	c.committed() // maybe before
	return p
}

// notifyingPipeline notes what a follower was sent, so that the notifier can add to it.
type notifyingPipeline struct {
	raft.AppendPipeline
	notifier *commitNotifier

	// turn orders the messages. Capacity 1: whoever sends fills it, and may wait for
	// the other node, which nobody should do with a mutex held.
	turn chan struct{}
	last sentMessage
	full bool // the library sent as many entries as it does at most

	// What is sent before the library asks for it, see ahead.go.
	sender     aheadSender       // nil: nothing is
	offered    chan []*raft.Log  // capacity 1: what finds it full, the library sends
	unfinished chan func() error // capacity 1: a message that is written in part, with the turn
	ahead      []*appended       // sent and not asked for, oldest first; whoever has the turn uses it
	closed     chan struct{}
	once       sync.Once
	sending    sync.WaitGroup
}

// AppendEntries sends entries.
func (p *notifyingPipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	p.turn <- struct{}{}
	defer p.release()
	rest, asked, err := p.asks(args)
	if err != nil {
		return nil, err
	}
	var last raft.AppendFuture
	if asked != nil {
		last, resp = asked, new(raft.AppendEntriesResponse)
	}
	if rest != nil {
		for part := range parts(rest) {
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

// tryTurn takes the turn unless somebody has it.
func (p *notifyingPipeline) tryTurn() bool {
	select {
	case p.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *notifyingPipeline) release() { <-p.turn }

// send sends and notes. The caller has the turn.
func (p *notifyingPipeline) send(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	future, err := p.AppendPipeline.AppendEntries(args, resp)
	if err != nil {
		return nil, err
	}
	last := sentAt(args, p.notifier.clock.Monotonic())
	if len(p.ahead) > 0 { // it has more than the library knows of
		last.PrevLogEntry, last.PrevLogTerm = p.last.PrevLogEntry, p.last.PrevLogTerm
	}
	p.last, p.full = last, false
	return future, nil
}

// tell sends the commit index if the follower does not know it and was sent
// nothing for so long. What the follower is told never goes beyond what it was
// sent: only of that is known that it has the entries of this leader.
func (p *notifyingPipeline) tell(term, commit uint64, quiet time.Duration) (again bool) {
	if !p.tryTurn() {
		return true // the library is sending
	}
	defer p.release()
	commit = min(commit, p.last.PrevLogEntry)
	if p.last.Term != term || (p.last.LeaderCommitIndex >= commit && !p.full) {
		return false
	}
	if p.notifier.clock.Monotonic()-p.last.at < quiet {
		return true
	}
	if p.full {
		p.full = false
		p.notifier.raft.Barrier(p.notifier.delay) // nobody waits for it
		return true
	}
	if p.sender != nil && p.sender.busy() {
		return true // others are told meanwhile, of whom none may hang
	}
	message := p.last.AppendEntriesRequest
	message.LeaderCommitIndex = commit
	// What fails here fails with the next message of the library, which mends it.
	_, err := p.send(&message, new(raft.AppendEntriesResponse))
	if err != nil {
		p.notifier.log.Debug("telling a follower what is committed failed", "error", err)
	}
	return false
}

// Close ends the pipeline, usually because the connection broke. The library sends
// again what was under way when its slow timer wakes it, or another entry, which a
// barrier is.
func (p *notifyingPipeline) Close() error {
	if p.tryTurn() { // else the notifier is stuck in sending, which the end below ends
		last := p.last
		p.release()
		consensus := p.notifier.raft
		if consensus.State() == raft.Leader && consensus.CurrentTerm() == last.Term {
			consensus.Barrier(p.notifier.delay) // nobody waits for it
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
