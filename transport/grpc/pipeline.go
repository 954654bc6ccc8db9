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
	// unansweredMax bounds the messages of a stream that wait for their answers.
	unansweredMax = 1000
	// requestMessagesMax is how many messages, or deliveries to settle, one request of a
	// stream has.
	requestMessagesMax = 100
	// commandsMax is how many commands of a stream may be under way, largeCommandsMax how
	// many if they may have more than a batch: what comes in meanwhile makes the next
	// ones large, which costs less than many small ones.
	commandsMax      = 16
	largeCommandsMax = 4
	// resultsMax bounds the results of one answer.
	resultsMax = 500
)

// outgoing is one message of a stream: E is its form in a command, R what becomes
// of it.
type outgoing[E, R any] struct {
	entry   E
	group   string
	ordered bool  // false: the message has no group
	size    int64 // against that of a command
	memory  int64 // what it takes until it is answered
	result  *R    // nil: not known yet
}

// lane is the messages of one group that wait for their command.
type lane[E, R any] struct {
	group   string
	ordered bool // false: the messages have no group
	busy    bool // a command with messages of the group is under way
	waiting []*outgoing[E, R]
}

// commands executes the messages of a pipeline.
type commands[E, R any] struct {
	entriesMax int   // of one command
	bytesMax   int64 // of the messages of one command
	// submit executes a command; there is a result for each entry if it does not fail.
	submit func(entries []E) ([]*R, error)
	// failed is the result of a message that failed.
	failed func(*seriatimpb.Failure) *R
	// status makes a status of an error.
	status func(error) error
}

// pipeline writes the messages of one stream: those of one group one command after
// another, those of different groups at the same time. Safe for concurrent use.
type pipeline[E, R any] struct {
	commands[E, R]
	progress chan struct{} // capacity 1: answered may have more
	underWay sync.WaitGroup

	mu      sync.Mutex
	lanes   map[string]*lane[E, R]
	ready   []*lane[E, R]     // not busy, with waiting messages
	order   []*outgoing[E, R] // not answered, as they came
	running int               // commands
	stopped bool              // no further messages are taken
	broken  error             // why no further commands are made, as a status
}

func newPipeline[E, R any](c commands[E, R]) *pipeline[E, R] {
	return &pipeline[E, R]{commands: c, progress: make(chan struct{}, 1), lanes: make(map[string]*lane[E, R])}
}

// errNotReached is the result of messages that wait behind a failure.
var errNotReached = newError(codes.Unavailable, reasonNotReached, "An earlier message of the stream failed. This one was not written, send it again.")

// add takes messages. It reports false if the stream is about to end, and then
// takes none.
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

// stop takes no further messages; those that were taken go on.
func (p *pipeline[E, R]) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// full reports whether no further messages should be read now.
func (p *pipeline[E, R]) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.order) >= unansweredMax
}

// answered takes results that are known, in the order of the messages, and how
// much memory the messages took. done says that no message is left, and failed
// why the stream must end, if so.
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

// dispatch makes commands of what is ready. It needs the mutex.
func (p *pipeline[E, R]) dispatch() {
	for p.broken == nil && p.running < p.atOnce() && len(p.ready) > 0 {
		batch, lanes := p.take()
		p.running++
		p.underWay.Go(func() { p.execute(batch, lanes) })
	}
}

// atOnce returns the bound for the commands in progress.
func (c *commands[E, R]) atOnce() int {
	if c.entriesMax > limits.BatchEntriesMax {
		return largeCommandsMax
	}
	return commandsMax
}

// take makes a batch of the lanes that are ready, which are busy then. It needs
// the mutex.
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

// execute sends a batch and notes what became of it.
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

// send sends a batch. There are results also if it fails.
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

// sendParts sends a batch, and the halves of one that is refused: something is
// wrong with it as a whole, perhaps with a single message, for which the others must
// not suffer, and nothing of it was written. The error is one that may pass; what
// comes after it is not sent.
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
		var rest []*R
		rest, err = p.sendParts(batch[half:])
		return append(results, rest...), err
	}
	for range batch[half:] {
		results = append(results, p.failed(errorFailure(errNotReached)))
	}
	return results, err
}

// fail ends what was not sent yet. It needs the mutex.
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
