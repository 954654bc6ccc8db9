package consensus

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
)

const (
	// sentMax bounds the unanswered messages to a follower. With more, entries would wait in the
	// connection instead of being sent together.
	sentMax = 2
	// answersMax bounds the answers that wait for the library. The library stops reading them when
	// a follower refuses entries or knows a later term, but may send a few more messages. If one of
	// these waited for room, the library would block for ever: the follower would get heartbeats
	// but no entries until another node leads, and the leader could not stop (raft issue 612).
	answersMax = 64
)

// pipeline sends entries to one follower without waiting for its answers. One goroutine sends.
type pipeline struct {
	heard   *contacts // records every answer
	links   *links
	use     *link
	leads   func(term uint64) bool
	timeout time.Duration
	slots   chan struct{} // one for each unanswered message
	answers chan raft.AppendFuture
	closed  chan struct{}
	broken  chan struct{} // closed when no more answers come
	once    sync.Once
	reading sync.WaitGroup

	mu   sync.Mutex
	sent []*appended // unanswered, oldest first
}

var (
	_ raft.AppendPipeline = (*pipeline)(nil)
	_ earlySender         = (*pipeline)(nil)
)

// appended is one message of a pipeline.
type appended struct {
	at   time.Time
	args *raft.AppendEntriesRequest
	resp *raft.AppendEntriesResponse
	done chan struct{} // closed when it is answered or the connection ended
	err  error

	// kept: the library has not requested the answer; ended: the answer arrived. Guarded by the
	// pipeline's mu.
	kept, ended bool
}

// Start returns the time of sending.
func (a *appended) Start() time.Time { return a.at }

// Request returns the message.
func (a *appended) Request() *raft.AppendEntriesRequest { return a.args }

// Response returns the answer.
func (a *appended) Response() *raft.AppendEntriesResponse { return a.resp }

// Error waits for the answer.
func (a *appended) Error() error {
	<-a.done
	return a.err
}

func newPipeline(links *links, use *link, leads func(term uint64) bool, timeout time.Duration, heard *contacts) *pipeline {
	p := &pipeline{
		heard: heard, links: links, use: use, leads: leads, timeout: timeout, slots: make(chan struct{}, sentMax),
		answers: make(chan raft.AppendFuture, answersMax), closed: make(chan struct{}), broken: make(chan struct{}),
	}
	_ = use.conn.SetDeadline(time.Time{}) // the deadline of its last exchange; an error recurs
	p.reading.Go(p.read)
	return p
}

var errPipelineBroken = errors.New("the connection ended")

// AppendEntries sends entries. It blocks while too many messages are unanswered. A deposed leader
// sends nothing, see transport.AppendEntries.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	select {
	case p.slots <- struct{}{}:
	case <-p.broken:
		return nil, errPipelineBroken
	case <-p.closed:
		return nil, errPipelineBroken
	}
	return p.send(&appended{args: args, resp: resp}, func() error { return p.use.Ask(args) })
}

// sendEarly sends entries that the library has not sent yet, see earlySender.
func (p *pipeline) sendEarly(args *raft.AppendEntriesRequest, wait bool) (_ *appended, finish func() error, err error) {
	select {
	case p.slots <- struct{}{}:
	default:
		return nil, nil, errBusy
	}
	message := &appended{args: args, resp: new(raft.AppendEntriesResponse), kept: true}
	if wait {
		_, err = p.send(message, func() error { return p.use.Ask(args) })
		return message, nil, err
	}
	var remainder func() error
	if _, err = p.send(message, func() (err error) {
		remainder, err = p.use.AskNow(args)
		return err
	}); err != nil || remainder == nil {
		return message, nil, err
	}
	return message, func() error { return p.finish(remainder) }, nil
}

// busy reports whether the maximum of messages is unanswered.
func (p *pipeline) busy() bool { return len(p.slots) == cap(p.slots) }

// finish writes the remainder of a message.
func (p *pipeline) finish(remainder func() error) error {
	err := remainder()
	if err != nil {
		_ = p.use.conn.Close() // a part of it may be written
	}
	return err
}

// send sends a message that has a slot.
func (p *pipeline) send(message *appended, write func() error) (*appended, error) {
	if !p.leads(message.args.Term) {
		<-p.slots
		return nil, errDeposed
	}
	deadline := environment.DeadlineAfter(p.timeout)
	message.at, message.done = deadline.Add(-p.timeout), make(chan struct{})
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
		err = write()
	}
	if err != nil {
		_ = p.use.conn.Close() // a part of it may be written
		return nil, err
	}
	return message, nil
}

// request delivers the answer to an early message, see earlySender.
func (p *pipeline) request(message *appended) error {
	select {
	case <-p.broken:
		return errPipelineBroken
	default:
	}
	p.mu.Lock()
	ended := message.ended
	message.kept = false
	p.mu.Unlock()
	if ended {
		return p.deliver(message)
	}
	return nil
}

// deliver passes an answer to the library.
func (p *pipeline) deliver(message *appended) error {
	select {
	case p.answers <- message:
		return nil
	case <-p.closed:
		return errPipelineBroken
	}
}

// Consumer returns the answers, in the order of the messages.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.answers }

// read reads answers until the connection breaks. It then delivers the next unanswered message with
// an error, which makes the library close the pipeline.
func (p *pipeline) read() {
	defer close(p.broken)
	defer p.use.conn.Close()
	for {
		var answer raft.AppendEntriesResponse
		err := p.use.Answer(&answer)
		message, kept := p.answered(answer, err)
		if message == nil {
			return
		}
		if err == nil {
			p.heard.answered(string(p.use.to), message.args, &answer)
		}
		if !kept && p.deliver(message) != nil || err != nil {
			return
		}
		<-p.slots
	}
}

// answered completes the oldest message and sets the deadline for the next one. It returns nil if
// no message was unanswered when the connection broke. A kept message is delivered when the library
// requests it.
func (p *pipeline) answered(answer raft.AppendEntriesResponse, err error) (message *appended, kept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sent) == 0 {
		return nil, false
	}
	message = p.sent[0]
	p.sent[0] = nil
	p.sent = p.sent[1:]
	deadline := time.Time{}
	if len(p.sent) > 0 {
		deadline = environment.DeadlineAfter(p.timeout)
	}
	_ = p.use.conn.SetReadDeadline(deadline) // an error recurs when the answer is read
	*message.resp, message.err, message.ended = answer, err, true
	close(message.done)
	return message, message.kept
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
