package grpc

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

const (
	// unansweredMax is how many messages of a stream may wait for their answers.
	unansweredMax = 512
	// commandsMax is how many commands of a stream may be under way.
	commandsMax = 16
	// resultsMax is how many results one answer has.
	resultsMax = 100
)

// outgoing is one message of a SendStream.
type outgoing struct {
	entry  queue.SendEntry
	size   int64
	result *seriatimpb.SendResult // nil: not known yet
}

// lane is the messages of one group that wait for their command.
type lane struct {
	group   string
	ordered bool // false: the messages have no group
	busy    bool // a command with messages of the group is under way
	waiting []*outgoing
}

// pipeline sends the messages of one stream: those of one group one command after
// another, those of different groups at the same time. Safe for concurrent use.
type pipeline struct {
	// submit executes a command and says whether it was made twice.
	submit func(entries []queue.SendEntry) (sent queue.MessagesSent, repeated bool, err error)
	// status makes a status of an error.
	status   func(error) error
	progress chan struct{} // capacity 1: answered may have more

	commands sync.WaitGroup

	mu      sync.Mutex
	lanes   map[string]*lane
	ready   []*lane     // not busy, with waiting messages
	order   []*outgoing // not answered, as they came
	running int         // commands
	stopped bool        // no further messages are taken
	failed  error       // why no further commands are made, as a status
}

func newPipeline(submit func([]queue.SendEntry) (queue.MessagesSent, bool, error), status func(error) error) *pipeline {
	return &pipeline{submit: submit, status: status, progress: make(chan struct{}, 1), lanes: make(map[string]*lane)}
}

// errNotReached is the result of messages that wait behind a failure.
var errNotReached = newError(codes.Unavailable, reasonNotReached, "An earlier message of the stream failed. This one was not written, send it again.")

// add takes messages. It reports false if the stream is about to end, and then
// takes none.
func (p *pipeline) add(messages []*outgoing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.failed != nil {
		return false
	}
	for _, m := range messages {
		p.order = append(p.order, m)
		key, ordered := "", m.entry.GroupIDGiven
		if ordered {
			key = "g" + m.entry.GroupID
		}
		l := p.lanes[key]
		if l == nil {
			l = &lane{group: key, ordered: ordered}
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
func (p *pipeline) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// full reports whether no further messages should be read now.
func (p *pipeline) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.order) >= unansweredMax
}

// answered takes results that are known, in the order of the messages, and how
// many bytes the messages had. done says that no message is left, and failed
// why the stream must end, if so.
func (p *pipeline) answered() (results []*seriatimpb.SendResult, size int64, done bool, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && len(results) < resultsMax && p.order[0].result != nil {
		results = append(results, p.order[0].result)
		size += p.order[0].size
		p.order[0] = nil
		p.order = p.order[1:]
	}
	return results, size, len(p.order) == 0, p.failed
}

// dispatch makes commands of what is ready. It needs the mutex.
func (p *pipeline) dispatch() {
	for p.failed == nil && p.running < commandsMax && len(p.ready) > 0 {
		batch, lanes := p.take()
		p.running++
		p.commands.Go(func() { p.execute(batch, lanes) })
	}
}

// take makes a batch of the lanes that are ready, which are busy then. It needs
// the mutex.
func (p *pipeline) take() (batch []*outgoing, lanes []*lane) {
	size := int64(0)
	for len(p.ready) > 0 {
		l, took := p.ready[0], 0
		for _, m := range l.waiting {
			if len(batch) == limits.BatchEntriesMax || len(batch) > 0 && size+m.size > limits.BatchBytesMax {
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
func (p *pipeline) execute(batch []*outgoing, lanes []*lane) {
	results, err := p.send(batch)
	var refused *queue.Error
	if errors.As(err, &refused) && len(batch) > 1 {
		// Something is wrong with the batch as a whole, perhaps with a single
		// message, for which the others must not suffer. Nothing was written.
		results, err = p.sendSingly(batch)
	}
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
	if err != nil && !errors.As(err, &refused) {
		p.fail(err)
	}
	p.dispatch()
	select {
	case p.progress <- struct{}{}:
	default:
	}
}

// send sends a batch. There are results also if it fails.
func (p *pipeline) send(batch []*outgoing) ([]*seriatimpb.SendResult, error) {
	entries := make([]queue.SendEntry, len(batch))
	for i, m := range batch {
		entries[i] = m.entry
	}
	sent, repeated, err := p.submit(entries)
	results := make([]*seriatimpb.SendResult, len(batch))
	if err != nil {
		failure := errorFailure(p.status(err))
		for i := range results {
			results[i] = &seriatimpb.SendResult{Failure: failure}
		}
		return results, err
	}
	for i := range results {
		results[i] = sendResult(&sent.Entries[i], repeated)
	}
	return results, nil
}

// sendSingly sends the messages of a batch one after another, up to the first
// failure that may pass.
func (p *pipeline) sendSingly(batch []*outgoing) (results []*seriatimpb.SendResult, err error) {
	for i := range batch {
		if err != nil {
			results = append(results, &seriatimpb.SendResult{Failure: errorFailure(errNotReached)})
			continue
		}
		var one []*seriatimpb.SendResult
		one, err = p.send(batch[i : i+1])
		results = append(results, one[0])
		if _, refused := errors.AsType[*queue.Error](err); refused {
			err = nil
		}
	}
	return results, err
}

// fail ends what was not sent yet. It needs the mutex.
func (p *pipeline) fail(err error) {
	if p.failed == nil {
		p.failed = p.status(err)
	}
	failure := errorFailure(errNotReached)
	for _, l := range p.lanes {
		for _, m := range l.waiting {
			m.result = &seriatimpb.SendResult{Failure: failure}
		}
		l.waiting = nil
	}
	p.ready = nil
}

// submitter sends as the call does, one command at a time or several.
func (c *call) submitter(ctx context.Context) func([]queue.SendEntry) (queue.MessagesSent, bool, error) {
	name, sender := c.queue, c.senderID()
	return func(entries []queue.SendEntry) (queue.MessagesSent, bool, error) {
		reply, err := c.server.Node.Submit(ctx, &queue.SendMessages{Queue: name, SenderID: sender, Batch: len(entries) > 1, Entries: entries})
		sent, err := resultOf[queue.MessagesSent](reply.Result, err)
		return sent, reply.Repeated, err
	}
}
