package grpc

import (
	"errors"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

const (
	// unansweredMax bounds the messages of a stream without an answer.
	unansweredMax = 1000
	// requestMessagesMax bounds the messages or receipt handles of one request of a stream.
	requestMessagesMax = 100
	// commandsMax bounds the commands of a stream in progress, largeCommandsMax those that may
	// be larger than a batch: fewer, because messages that arrive meanwhile make the next
	// command large, and few large commands cost less.
	commandsMax      = 16
	largeCommandsMax = 4
	// resultsMax bounds the results of one answer.
	resultsMax = 500
)

// outgoing is one message of a stream. E is its form in a command, R its result.
type outgoing[E, R any] struct {
	entry   E
	group   string
	ordered bool  // false: the message has no group
	size    int64 // counts against bytesMax
	memory  int64 // counts against the budget until the answer
	result  *R    // nil: none yet
}

// lane queues the messages of one group.
type lane[E, R any] struct {
	group   string
	ordered bool // false: the messages have no group
	busy    bool // a command with messages of the group is in progress
	waiting []*outgoing[E, R]
}

// commands executes the messages of a pipeline.
type commands[E, R any] struct {
	entriesMax int   // of one command
	bytesMax   int64 // of the messages of one command
	// submit executes a command. Without an error it returns a result for each entry.
	submit func(entries []E) ([]*R, error)
	// failed returns the result of a failed message.
	failed func(*seriatimpb.Failure) *R
	// status converts an error into a status.
	status func(error) error
}

// pipeline executes the messages of one stream: those of one group in one command after
// another, those of different groups in parallel. Safe for concurrent use.
type pipeline[E, R any] struct {
	commands[E, R]
	progress chan struct{} // capacity 1: answered may return more
	inFlight sync.WaitGroup

	mu      sync.Mutex
	lanes   map[string]*lane[E, R]
	ready   []*lane[E, R]     // not busy, with waiting messages
	order   []*outgoing[E, R] // without an answer, in order of arrival
	running int               // commands in progress
	stopped bool              // add takes no more messages
	broken  error             // status that ends the stream; no further command starts
}

func newPipeline[E, R any](c commands[E, R]) *pipeline[E, R] {
	return &pipeline[E, R]{commands: c, progress: make(chan struct{}, 1), lanes: make(map[string]*lane[E, R])}
}

// errNotReached is the result of messages behind a failure.
var errNotReached = newError(codes.Unavailable, reasonNotReached,
	"An earlier message of the stream failed. This one was not written, send it again.")

// add queues messages. It reports false, and queues none, if the stream ends.
func (p *pipeline[E, R]) add(messages []*outgoing[E, R]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.broken != nil {
		return false
	}
	for _, m := range messages {
		p.order = append(p.order, m)
		key, ordered := "", m.ordered
		if ordered {
			key = "g" + m.group
		}
		l := p.lanes[key]
		if l == nil {
			l = &lane[E, R]{group: key, ordered: ordered}
			p.lanes[key] = l
		}
		if l.waiting = append(l.waiting, m); len(l.waiting) == 1 && !l.busy {
			p.ready = append(p.ready, l)
		}
	}
	p.dispatch()
	return true
}

// stop makes add refuse further messages.
func (p *pipeline[E, R]) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// full reports whether reading should pause.
func (p *pipeline[E, R]) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.order) >= unansweredMax
}

// answered takes the next results in the order of the messages, and returns the memory of
// their messages. done reports that no message is left; failed is the error that ends the
// stream, if any.
func (p *pipeline[E, R]) answered() (results []*R, memory int64, done bool, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && len(results) < resultsMax && p.order[0].result != nil {
		results = append(results, p.order[0].result)
		memory += p.order[0].memory
		p.order[0] = nil
		p.order = p.order[1:]
	}
	return results, memory, len(p.order) == 0, p.broken
}

// dispatch starts commands with the ready messages. It needs the mutex.
func (p *pipeline[E, R]) dispatch() {
	for p.broken == nil && p.running < p.atOnce() && len(p.ready) > 0 {
		batch, lanes := p.take()
		p.running++
		p.inFlight.Go(func() { p.execute(batch, lanes) })
	}
}

// atOnce returns the bound for the commands in progress.
func (c *commands[E, R]) atOnce() int {
	if c.entriesMax > limits.BatchEntriesMax {
		return largeCommandsMax
	}
	return commandsMax
}

// take fills a batch from the ready lanes and marks them busy. It needs the mutex.
func (p *pipeline[E, R]) take() (batch []*outgoing[E, R], lanes []*lane[E, R]) {
	size := int64(0)
	for len(p.ready) > 0 {
		l, took := p.ready[0], 0
		for _, m := range l.waiting {
			if len(batch) == p.entriesMax || len(batch) > 0 && size+m.size > p.bytesMax {
				break
			}
			batch = append(batch, m)
			size += m.size
			took++
		}
		if took == 0 {
			break
		}
		l.waiting = l.waiting[took:]
		p.ready = p.ready[1:]
		if l.ordered {
			l.busy = true
			lanes = append(lanes, l)
		} else if len(l.waiting) > 0 {
			p.ready = append(p.ready, l)
		}
	}
	return batch, lanes
}

// execute executes a batch and stores the results.
func (p *pipeline[E, R]) execute(batch []*outgoing[E, R], lanes []*lane[E, R]) {
	results, err := p.sendParts(batch)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, m := range batch {
		m.result = results[i]
	}
	for _, l := range lanes {
		l.busy = false
		if len(l.waiting) > 0 {
			p.ready = append(p.ready, l)
		} else {
			delete(p.lanes, l.group)
		}
	}
	p.running--
	if err != nil {
		p.fail(err)
	}
	p.dispatch()
	select {
	case p.progress <- struct{}{}:
	default:
	}
}

// send executes one command. It returns results also with an error.
func (p *pipeline[E, R]) send(batch []*outgoing[E, R]) ([]*R, error) {
	entries := make([]E, len(batch))
	for i, m := range batch {
		entries[i] = m.entry
	}
	results, err := p.submit(entries)
	if err != nil {
		results = make([]*R, len(batch))
		failure := errorFailure(p.status(err))
		for i := range results {
			results[i] = p.failed(failure)
		}
	}
	return results, err
}

// sendParts executes a batch. If a rule refuses it as a whole, nothing was written: sendParts
// tries its halves, so that one bad message does not fail the others. Any other error ends
// the batch.
func (p *pipeline[E, R]) sendParts(batch []*outgoing[E, R]) ([]*R, error) {
	results, err := p.send(batch)
	if _, refused := errors.AsType[*queue.Error](err); !refused {
		return results, err
	}
	if len(batch) == 1 {
		return results, nil
	}
	half := len(batch) / 2
	results, err = p.sendParts(batch[:half])
	if err == nil {
		var second []*R
		second, err = p.sendParts(batch[half:])
		return append(results, second...), err
	}
	for range batch[half:] {
		results = append(results, p.failed(errorFailure(errNotReached)))
	}
	return results, err
}

// fail fails the messages that wait. It needs the mutex.
func (p *pipeline[E, R]) fail(err error) {
	if p.broken == nil {
		p.broken = p.status(err)
	}
	failure := errorFailure(errNotReached)
	for _, l := range p.lanes {
		for _, m := range l.waiting {
			m.result = p.failed(failure)
		}
		l.waiting = nil
	}
	p.ready = nil
}
