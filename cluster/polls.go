package cluster

import (
	"container/list"
	"context"
	"sync"
)

// polls are the receives that wait for messages, by queue and in order of
// arrival. A poll has its turn from when it is woken or rides along with a send
// until it releases it; while one has, none is woken. So a message wakes one
// receive, not all. Safe for concurrent use; an idle poll costs nothing but memory.
type polls struct {
	max int

	mu     sync.Mutex
	queues map[string]*pollQueue
	count  int
}

type pollQueue struct {
	waiting list.List // of *poll
	served  int       // polls that have their turn
	// inVain: the last ride found nothing, and nothing became available since.
	inVain bool
}

// poll is one waiting receive.
type poll struct {
	queue   string
	ctx     context.Context // of the receive
	request receiveRequest
	place   *list.Element // nil once it has its turn or is gone
	turn    bool
	woken   chan struct{} // closed when it is to look, or ride has its outcome
	ride    *submission   // its receive, proposed behind a send; nil: none was
	outcome outcome       // of ride, once woken is closed
}

func newPolls(limit int) *polls {
	return &polls{max: limit, queues: make(map[string]*pollQueue)}
}

// join begins to wait. A poll that waited before goes to the front.
func (p *polls) join(ctx context.Context, request receiveRequest, front bool) (*poll, bool) {
	queue := request.cmd.Queue
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= p.max {
		return nil, false
	}
	q := p.queues[queue]
	if q == nil {
		q = &pollQueue{}
		p.queues[queue] = q
	}
	w := &poll{queue: queue, ctx: ctx, request: request, woken: make(chan struct{})}
	if front {
		w.place = q.waiting.PushFront(w)
	} else {
		w.place = q.waiting.PushBack(w)
	}
	p.count++
	return w, true
}

// leave ends the waiting. It reports whether the poll has the turn of its
// queue, which it then must release.
func (p *polls) leave(w *poll) (turn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[w.queue]
	if w.place != nil {
		p.remove(q, w)
	}
	p.tidy(w.queue, q)
	return w.turn
}

// release ends the turn. The caller then calls available if the queue still
// has something to hand out.
func (p *polls) release(w *poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !w.turn {
		return
	}
	w.turn = false
	q := p.queues[w.queue]
	q.served--
	p.tidy(w.queue, q)
}

// available wakes the poll that waited longest, unless one is being served:
// that one looks again when it is done.
func (p *polls) available(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[queue]
	if q == nil {
		return
	}
	q.inVain = false
	if q.served > 0 || q.waiting.Len() == 0 {
		p.tidy(queue, q)
		return
	}
	close(p.serve(q).woken)
}

// serve gives the poll that waited longest its turn.
func (p *polls) serve(q *pollQueue) *poll {
	w := q.waiting.Front().Value.(*poll)
	p.remove(q, w)
	w.turn = true
	q.served++
	return w
}

// board lets the poll that waited longest ride along with a send to its queue,
// and returns the receive to propose behind the send; nil if none is to.
func (p *polls) board(queue []byte) *submission {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[string(queue)]
	if q == nil || q.inVain || q.waiting.Len() == 0 || q.waiting.Front().Value.(*poll).ctx.Err() != nil {
		return nil
	}
	w := p.serve(q)
	w.ride = w.request.submission(func(o outcome) {
		w.outcome = o
		close(w.woken)
	})
	return w.ride
}

// inVain notes that a poll rode along and found nothing: the messages of its
// group are with a consumer, say, or delayed. There are no more rides until
// something becomes available by itself.
func (p *polls) inVain(w *poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues[w.queue].inVain = true
}

// deleted wakes all polls of a queue to find that out.
func (p *polls) deleted(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[queue]
	if q == nil {
		return
	}
	for q.waiting.Len() > 0 {
		w := q.waiting.Front().Value.(*poll)
		p.remove(q, w)
		close(w.woken)
	}
	q.inVain = false
	p.tidy(queue, q)
}

func (p *polls) remove(q *pollQueue, w *poll) {
	q.waiting.Remove(w.place)
	w.place = nil
	p.count--
}

// tidy forgets a queue that nobody waits for and nothing is to be known of.
func (p *polls) tidy(queue string, q *pollQueue) {
	if q != nil && q.served == 0 && q.waiting.Len() == 0 && !q.inVain {
		delete(p.queues, queue)
	}
}

// waitingCount counts the polls that wait.
func (p *polls) waitingCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}
