package leader

import (
	"container/list"
	"context"
	"sync"
)

// waitingReceives are the receives that wait for messages, by queue and in order of
// arrival. A receive has its turn from when it is woken or piggybacked on a send
// until it releases it; while one has, none is woken. So a message wakes one
// receive, not all. Safe for concurrent use; one that waits costs nothing but memory.
type waitingReceives struct {
	max int

	mu     sync.Mutex
	queues map[string]*waitingQueue
	count  int
}

// waitingQueue are those of one queue.
type waitingQueue struct {
	waiting list.List // of *waitingReceive
	turns   int       // receives that have their turn
	// inVain: the last piggybacked receive found nothing, and nothing became
	// available since.
	inVain bool
}

// waitingReceive is one of them.
type waitingReceive struct {
	queue       string
	ctx         context.Context // of the receive
	request     ReceiveRequest
	element     *list.Element // nil once it has its turn or is gone
	turn        bool
	woken       chan struct{} // closed when it is to look, or piggybacked has its outcome
	piggybacked *Submission   // its receive, proposed behind a send; nil: none was
	outcome     Outcome       // of piggybacked, once woken is closed
}

func newWaitingReceives(limit int) *waitingReceives {
	return &waitingReceives{max: limit, queues: make(map[string]*waitingQueue)}
}

// add begins to wait, unless too many do. One that waited before goes to the front.
func (r *waitingReceives) add(ctx context.Context, request ReceiveRequest, front bool) (*waitingReceive, bool) {
	queue := request.Command.Queue
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count >= r.max {
		return nil, false
	}
	q := r.queues[queue]
	if q == nil {
		q = &waitingQueue{}
		r.queues[queue] = q
	}
	w := &waitingReceive{queue: queue, ctx: ctx, request: request, woken: make(chan struct{})}
	if front {
		w.element = q.waiting.PushFront(w)
	} else {
		w.element = q.waiting.PushBack(w)
	}
	r.count++
	return w, true
}

// remove ends the waiting. It reports whether the receive has the turn of its
// queue, which it then must release.
func (r *waitingReceives) remove(w *waitingReceive) (turn bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[w.queue]
	if w.element != nil {
		r.dequeue(q, w)
	}
	r.forgetUnused(w.queue, q)
	return w.turn
}

// release ends the turn. The caller then calls available if the queue still
// has something to hand out.
func (r *waitingReceives) release(w *waitingReceive) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !w.turn {
		return
	}
	w.turn = false
	q := r.queues[w.queue]
	q.turns--
	r.forgetUnused(w.queue, q)
}

// available wakes the receive that waited longest, unless one has its turn: that
// one looks again when it is done.
func (r *waitingReceives) available(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[queue]
	if q == nil {
		return
	}
	q.inVain = false
	if q.turns > 0 || q.waiting.Len() == 0 {
		r.forgetUnused(queue, q)
		return
	}
	close(r.giveTurn(q).woken)
}

// giveTurn gives the receive that waited longest its turn.
func (r *waitingReceives) giveTurn(q *waitingQueue) *waitingReceive {
	w := q.waiting.Front().Value.(*waitingReceive)
	r.dequeue(q, w)
	w.turn = true
	q.turns++
	return w
}

// piggyback takes the receive that waited longest along with a send to its queue,
// and returns what to propose behind the send; nil if there is nothing.
func (r *waitingReceives) piggyback(queue []byte) *Submission {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[string(queue)]
	if q == nil || q.inVain || q.waiting.Len() == 0 || q.waiting.Front().Value.(*waitingReceive).ctx.Err() != nil {
		return nil
	}
	w := r.giveTurn(q)
	w.piggybacked = w.request.piggybacked(func(o Outcome) {
		w.outcome = o
		close(w.woken)
	})
	return w.piggybacked
}

// inVain notes that a piggybacked receive found nothing: the messages of its group
// are with a consumer, say, or delayed. No other is piggybacked until something
// becomes available by itself.
func (r *waitingReceives) inVain(w *waitingReceive) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues[w.queue].inVain = true
}

// deleted wakes all receives of a queue to find that out.
func (r *waitingReceives) deleted(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[queue]
	if q == nil {
		return
	}
	for q.waiting.Len() > 0 {
		w := q.waiting.Front().Value.(*waitingReceive)
		r.dequeue(q, w)
		close(w.woken)
	}
	q.inVain = false
	r.forgetUnused(queue, q)
}

func (r *waitingReceives) dequeue(q *waitingQueue, w *waitingReceive) {
	q.waiting.Remove(w.element)
	w.element = nil
	r.count--
}

// forgetUnused forgets a queue that nobody waits for and nothing is to be known of.
func (r *waitingReceives) forgetUnused(queue string, q *waitingQueue) {
	if q != nil && q.turns == 0 && q.waiting.Len() == 0 && !q.inVain {
		delete(r.queues, queue)
	}
}

// number counts the receives that wait.
func (r *waitingReceives) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}
