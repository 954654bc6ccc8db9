package consensus

import (
	"errors"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// The library writes entries to the leader's disk and then sends them, so that what one
// client waits for are two syncs, one after the other. Here entries leave for the
// followers when the library begins to write them (Raft, dissertation, 10.2.1), and the
// message that the library sends later is not sent again: the answer to the first one
// is its answer. Doc.go has the argument why nothing is lost. What this relies on in
// the library is tested by exploit_ahead_test.go.

// aheadLog is the log as the library writes it.
type aheadLog struct {
	*storage.LogStore
	begun   func(entries []*raft.Log) // called before entries are written
	writing *writing
}

// StoreLogs appends entries; when it returns nil they are on disk.
func (l aheadLog) StoreLogs(entries []*raft.Log) error {
	l.writing.begin()
	defer l.writing.end()
	l.begun(entries)
	return l.LogStore.StoreLogs(entries)
}

// writing knows whether the log is being appended to. Safe for concurrent use.
type writing struct {
	mu    sync.Mutex
	under bool
	ended func() // called once at the end; nil: no goroutine waits
}

func (w *writing) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under = true
}

func (w *writing) end() {
	w.mu.Lock()
	ended := w.ended
	w.under, w.ended = false, nil
	w.mu.Unlock()
	if ended != nil {
		ended()
	}
}

// now reports whether the log is being appended to; then ended is called at the end. Only the
// last ended is called: only one goroutine asks.
func (w *writing) now(ended func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.under {
		w.ended = ended
	}
	return w.under
}

// aheadSender is a pipeline that can send what the library has not asked for yet.
type aheadSender interface {
	// sendAhead sends a message whose answer is kept until it is asked for. It does
	// not wait for others to be answered: errBusy. Without wait it does not wait for the
	// other end either; finish, if it is not nil, writes the rest and may.
	sendAhead(args *raft.AppendEntriesRequest, wait bool) (message *appended, finish func() error, err error)
	// busy reports whether it would wait for others to be answered.
	busy() bool
	// ask delivers the answer to such a message as soon as it is there.
	ask(message *appended) error
}

var errBusy = errors.New("as many messages as may be are under way")

// begun sends entries that this node begins to write as the leader to the followers
// that have all before. It never waits.
func (c *commitNotifier) begun(entries []*raft.Log) {
	if c.open.Load() == 0 || len(entries) == 0 || len(entries) >= appendEntriesMax || fitting(entries) < len(entries) {
		return
	}
	copied, size := make([]*raft.Log, len(entries)), 0 // the library goes on with its own
	for i, entry := range entries {
		own := *entry
		copied[i] = &own
		size += len(entry.Data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.pipelines { // order does not matter: each is its own
		if p.sender != nil {
			p.begun(copied, size <= nowMax)
		}
	}
}

// nowMax bounds the data that the writing goroutine sends itself, which copies the data.
const nowMax = 64 << 10

// begun sends entries without waiting for anything. What cannot be done at once another
// goroutine does.
func (p *notifyingPipeline) begun(entries []*raft.Log, now bool) {
	if !now || !p.tryTurn() {
		select {
		case p.offered <- entries:
		default: // it is sending: the library sends these
		}
		return
	}
	// The other goroutine would have to be scheduled while the disk keeps the processor
	// busy, as far as the runtime knows.
	if finish := p.goAhead(entries, false); finish != nil {
		p.unfinished <- finish // with the turn; there is one of them
		return
	}
	p.release()
}

// runAhead sends what is offered, or begun, until the pipeline is closed.
func (p *notifyingPipeline) runAhead() {
	for {
		select {
		case finish := <-p.unfinished:
			_ = finish() // the library hears of it from the connection
			p.release()
		case entries := <-p.offered:
			select {
			case p.turn <- struct{}{}:
				p.goAhead(entries, true)
				p.release()
			case finish := <-p.unfinished:
				_ = finish()
				p.release()
			case <-p.closed:
			}
		case <-p.closed:
			select {
			case <-p.unfinished: // nothing is begun any more
				p.release()
			default:
			}
			return
		}
	}
}

// goAhead sends entries if they follow what the follower was sent. The caller has the
// turn, and what is returned keeps it.
func (p *notifyingPipeline) goAhead(entries []*raft.Log, wait bool) (finish func() error) {
	first := entries[0]
	if p.last.Term != first.Term || p.last.PrevLogEntry+1 != first.Index {
		return nil // the library has sent them by now, or the follower is behind
	}
	message := p.last.AppendEntriesRequest
	message.Entries = entries
	// Read after the entries were begun in this term, and the pipeline sends only if
	// this node still leads in it: what is committed then is in the log of this leader.
	message.LeaderCommitIndex = max(message.LeaderCommitIndex, min(p.notifier.raft.CommitIndex(), p.last.PrevLogEntry))
	sent, finish, err := p.sender.sendAhead(&message, wait)
	if err != nil {
		return nil // the library sends them, and hears of it if the connection broke
	}
	p.last = sentAt(&message, p.notifier.clock.Monotonic())
	p.ahead = append(p.ahead, sent)
	return finish
}

// errNotSame: the library sends other entries than those that were sent ahead.
var errNotSame = errors.New("the entries are not those that were sent before")

// asks hands out the answers to entries that were sent ahead and that the library sends
// now. It returns what is left of its message, nil if nothing is. The caller has the
// turn.
func (p *notifyingPipeline) asks(args *raft.AppendEntriesRequest) (rest *raft.AppendEntriesRequest, last *appended, err error) {
	entries := args.Entries
	for len(p.ahead) > 0 && len(entries) > 0 {
		message := p.ahead[0]
		n := len(message.args.Entries)
		if message.args.Term != args.Term || n > len(entries) || message.args.Entries[0].Index != entries[0].Index {
			return nil, nil, errNotSame // the library begins again, one message at a time
		}
		if err := p.sender.ask(message); err != nil {
			return nil, nil, err
		}
		p.ahead[0] = nil
		last, p.ahead, entries = message, p.ahead[1:], entries[n:]
	}
	if last == nil {
		return args, nil, nil
	}
	if len(entries) == 0 {
		return nil, last, nil
	}
	end := last.args.Entries[len(last.args.Entries)-1]
	left := *args
	left.Entries, left.PrevLogEntry, left.PrevLogTerm = entries, end.Index, end.Term
	return &left, last, nil
}
