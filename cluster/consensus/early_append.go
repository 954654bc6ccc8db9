package consensus

import (
	"errors"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// Early append: the library writes entries to the leader's disk and sends them after the sync, so a
// client waits for two syncs in a row. Here entries are sent when the library begins to write them
// (Raft dissertation, 10.2.1). The later message of the library is not sent: the answer to the
// early one answers it. The package comment argues that nothing is lost.
// exploit_early_append_test.go tests the reliance on the library.

// earlyLog is the log that the library writes to.
type earlyLog struct {
	*storage.LogStore
	begun   func(entries []*raft.Log) // called before each write
	writing *writing
}

// StoreLogs appends entries. When it returns nil, they are on disk.
func (l earlyLog) StoreLogs(entries []*raft.Log) error {
	l.writing.begin()
	defer l.writing.end()
	l.begun(entries)
	return l.LogStore.StoreLogs(entries)
}

// writing tracks whether the log is being written. Safe for concurrent use.
type writing struct {
	mu     sync.Mutex
	active bool
	ended  func() // called once at the end; nil: not requested
}

func (w *writing) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = true
}

func (w *writing) end() {
	w.mu.Lock()
	ended := w.ended
	w.active, w.ended = false, nil
	w.mu.Unlock()
	if ended != nil {
		ended()
	}
}

// now reports whether the log is being written. If so, ended is called when the write ends, unless
// a later call replaces it.
func (w *writing) now(ended func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active {
		w.ended = ended
	}
	return w.active
}

// earlySender is a pipeline that can send entries before the library requests it.
type earlySender interface {
	// sendEarly sends a message and keeps its answer until request. If too many messages are
	// unanswered, it returns errBusy. Without wait it does not block on the connection: finish, if not
	// nil, writes the remainder and may block.
	sendEarly(args *raft.AppendEntriesRequest, wait bool) (message *appended, finish func() error, err error)
	// busy reports whether sending would block until an answer arrives.
	busy() bool
	// request delivers the answer to such a message as soon as it arrives.
	request(message *appended) error
}

var errBusy = errors.New("too many messages are unanswered")

// begun sends the entries that this leader begins to write to the followers that have all entries
// before them. It never blocks.
func (c *commitNotifier) begun(entries []*raft.Log) {
	if c.open.Load() == 0 || len(entries) == 0 || len(entries) >= appendEntriesMax || fitting(entries) < len(entries) {
		return
	}
	copied, size := make([]*raft.Log, len(entries)), 0 // the library changes its own entries
	for i, entry := range entries {
		own := *entry
		copied[i] = &own
		size += len(entry.Data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.pipelines { // order does not matter: they are independent
		if p.sender != nil {
			p.begun(copied, size <= inlineMax)
		}
	}
}

// inlineMax bounds the data that the writing goroutine sends itself. Sending copies the data.
const inlineMax = 64 << 10

// begun sends entries without blocking. It leaves a send that would block to another goroutine.
func (p *notifyingPipeline) begun(entries []*raft.Log, now bool) {
	if !now || !p.tryLock() {
		select {
		case p.offered <- entries:
		default: // the sending goroutine is busy: the library will send these
		}
		return
	}
	// This goroutine writes as much as it can without blocking. Another one might wait for a
	// processor: the runtime does not know that the disk write leaves one idle.
	if finish := p.sendFollowing(entries, false); finish != nil {
		p.unfinished <- finish // keeps the lock; there is room
		return
	}
	p.unlock()
}

// sendOffered sends offered entries and unfinished messages until the pipeline is closed.
func (p *notifyingPipeline) sendOffered() {
	for {
		select {
		case finish := <-p.unfinished:
			_ = finish() // the library gets the error from the connection
			p.unlock()
		case entries := <-p.offered:
			select {
			case p.lock <- struct{}{}:
				p.sendFollowing(entries, true)
				p.unlock()
			case finish := <-p.unfinished:
				_ = finish()
				p.unlock()
			case <-p.closed:
			}
		case <-p.closed:
			select {
			case <-p.unfinished: // no message begins any more
				p.unlock()
			default:
			}
			return
		}
	}
}

// sendFollowing sends entries if they follow the last ones sent to the follower. The caller holds
// the lock, and finish keeps it.
func (p *notifyingPipeline) sendFollowing(entries []*raft.Log, wait bool) (finish func() error) {
	first := entries[0]
	if p.last.Term != first.Term || p.last.PrevLogEntry+1 != first.Index {
		return nil // already sent by the library, or the follower lags
	}
	message := p.last.AppendEntriesRequest
	message.Entries = entries
	// The index is read after the entries were begun in this term, and the pipeline sends only if
	// this node still leads in it. So it covers only entries of this leader's log.
	message.LeaderCommitIndex = max(message.LeaderCommitIndex, min(p.notifier.raft.CommitIndex(), p.last.PrevLogEntry))
	sent, finish, err := p.sender.sendEarly(&message, wait)
	if err != nil {
		return nil // the library sends them, and gets the error of a broken connection
	}
	p.last = sentAt(&message, p.notifier.clock.Monotonic())
	p.early = append(p.early, sent)
	return finish
}

// errNotSame: the library sends other entries than the early ones.
var errNotSame = errors.New("the entries are not those that were sent before")

// claimAnswers requests the answers to early messages that the library sends now. It returns the
// remaining entries of args as a message, nil if none remain. The caller holds the lock.
func (p *notifyingPipeline) claimAnswers(args *raft.AppendEntriesRequest) (left *raft.AppendEntriesRequest, last *appended, err error) {
	entries := args.Entries
	for len(p.early) > 0 && len(entries) > 0 {
		message := p.early[0]
		n := len(message.args.Entries)
		if message.args.Term != args.Term || n > len(entries) || message.args.Entries[0].Index != entries[0].Index {
			return nil, nil, errNotSame // the library restarts, one message at a time
		}
		if err := p.sender.request(message); err != nil {
			return nil, nil, err
		}
		p.early[0] = nil
		last, p.early, entries = message, p.early[1:], entries[n:]
	}
	if last == nil {
		return args, nil, nil
	}
	if len(entries) == 0 {
		return nil, last, nil
	}
	end := last.args.Entries[len(last.args.Entries)-1]
	remaining := *args
	remaining.Entries, remaining.PrevLogEntry, remaining.PrevLogTerm = entries, end.Index, end.Term
	return &remaining, last, nil
}
