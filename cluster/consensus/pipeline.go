package consensus

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
)

const (
	// sentMax is how many messages are under way to a follower at the most. With
	// more, entries wait in the connection instead of being sent together.
	sentMax = 2
	// answersMax is how many answers wait until the library takes them. It stops
	// taking them when a follower refuses entries or knows a later term; if it sends
	// once more before it notices that itself, nothing may wait for an answer to be
	// taken, or the library waits for ever: the follower gets heartbeats and no entries
	// until another node leads, and the leader cannot even stop (raft issue 612). It
	// sends at most a few messages after it stopped asking.
	answersMax = 64
)

// pipeline sends entries to one follower, and the next ones before it has answered.
// One goroutine sends.
type pipeline struct {
	links   *links
	use     *link
	leads   func(term uint64) bool
	timeout time.Duration
	slots   chan struct{} // filled by each message that is not answered
	answers chan raft.AppendFuture
	closed  chan struct{}
	broken  chan struct{} // closed when no answer comes any more
	once    sync.Once
	reading sync.WaitGroup

	mu   sync.Mutex
	sent []*appended // without an answer, oldest first
}

var _ raft.AppendPipeline = (*pipeline)(nil)

// appended is one message of a pipeline. Only its end is ever told.
type appended struct {
	at   time.Time
	args *raft.AppendEntriesRequest
	resp *raft.AppendEntriesResponse
	done chan struct{} // closed when it is answered, or will not be
	err  error
}

// Start is when it was sent.
func (a *appended) Start() time.Time { return a.at }

// Request is what was sent.
func (a *appended) Request() *raft.AppendEntriesRequest { return a.args }

// Response is the answer.
func (a *appended) Response() *raft.AppendEntriesResponse { return a.resp }

// Error waits for the answer.
func (a *appended) Error() error {
	<-a.done
	return a.err
}

func newPipeline(links *links, use *link, leads func(term uint64) bool, timeout time.Duration) *pipeline {
	p := &pipeline{
		links: links, use: use, leads: leads, timeout: timeout, slots: make(chan struct{}, sentMax),
		answers: make(chan raft.AppendFuture, answersMax), closed: make(chan struct{}), broken: make(chan struct{}),
	}
	_ = use.conn.SetDeadline(time.Time{}) // of its last exchange; what fails here fails again
	p.reading.Go(p.read)
	return p
}

var errPipelineBroken = errors.New("the connection has ended")

// AppendEntries sends entries. It waits while too many messages are under way. Of a
// leader that was deposed nothing is sent, see transport.AppendEntries.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if !p.leads(args.Term) {
		return nil, errDeposed
	}
	select {
	case p.slots <- struct{}{}:
	case <-p.broken:
		return nil, errPipelineBroken
	case <-p.closed:
		return nil, errPipelineBroken
	}
	deadline := environment.DeadlineAfter(p.timeout)
	message := &appended{at: deadline.Add(-p.timeout), args: args, resp: resp, done: make(chan struct{})}
	p.mu.Lock()
	p.sent = append(p.sent, message)
	var err error
	if len(p.sent) == 1 {
		err = p.use.conn.SetReadDeadline(deadline)
	}
	p.mu.Unlock()
	if err == nil {
		err = p.use.conn.SetWriteDeadline(deadline)
	}
	if err == nil {
		err = p.use.Ask(args)
	}
	if err != nil {
		return nil, err
	}
	return message, nil
}

// Consumer gives the answers, in the order of the messages.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.answers }

// read takes the answers from the connection until it breaks. The message that was to
// be answered then is handed out without an answer, which is what the library gives the
// pipeline up for.
func (p *pipeline) read() {
	defer close(p.broken)
	defer p.use.conn.Close()
	for {
		var answer raft.AppendEntriesResponse
		err := p.use.Answer(&answer)
		message := p.answered()
		if message == nil {
			return
		}
		*message.resp, message.err = answer, err
		close(message.done)
		select {
		case p.answers <- message:
		case <-p.closed:
			return
		}
		if err != nil {
			return
		}
		<-p.slots
	}
}

// answered takes the oldest message, and gives the next one its time. It returns nil if
// there is none: the connection broke while nothing was under way.
func (p *pipeline) answered() *appended {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sent) == 0 {
		return nil
	}
	message := p.sent[0]
	p.sent[0] = nil
	p.sent = p.sent[1:]
	deadline := time.Time{}
	if len(p.sent) > 0 {
		deadline = environment.DeadlineAfter(p.timeout)
	}
	_ = p.use.conn.SetReadDeadline(deadline) // what fails here fails again when the answer is read
	return message
}

// Close ends the pipeline and its connection.
func (p *pipeline) Close() error {
	p.once.Do(func() {
		close(p.closed)
		p.links.end(p.use)
	})
	p.reading.Wait()
	return nil
}
