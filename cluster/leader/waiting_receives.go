package leader

import (
	"container/list"
	"context"
	"sync"

	"github.com/seriatimq/seriatim/fsm/codec"
)

// waitingReceives are the receives that wait for messages, and the others that wait for
// a session, by what they wait for and in order of arrival. A receive has its turn from
// when it is woken or piggybacked on a send until it releases it; while one has, none is
// woken. So a message wakes one receive, not all. Safe for concurrent use; one that waits
// costs nothing but memory.
type waitingReceives struct {
	max int

	mu     sync.Mutex
	queues map[waitingPlace]*waitingQueue
	count  int
}

// waitingQueue are those of one place.
type waitingQueue struct {
	waiting list.List // of *waitingReceive
	turns   int       // receives that have their turn
	// inVain: the last piggybacked receive found nothing, and nothing became
	// available since.
	inVain bool
}

// waitingReceive is one of them.
type waitingReceive struct {
	place       waitingPlace
	ctx         context.Context // of the receive
	request     ReceiveRequest
	element     *list.Element // nil once it has its turn or is gone
	turn        bool
	woken       chan struct{} // closed when it is to look, or piggybacked has its outcome
	resume      func()        // called then, too; does not block
	piggybacked *Submission   // its receive, proposed behind a send; nil: none was
	outcome     Outcome       // of piggybacked, once woken is closed
}

func newWaitingReceives(limit int) *waitingReceives {
	return &waitingReceives{max: limit, queues: make(map[waitingPlace]*waitingQueue)}
}

// add begins to wait, unless too many do. One that waited before goes to the front.
func (r *waitingReceives) add(ctx context.Context, request ReceiveRequest, front bool, resume func()) (*waitingReceive, bool) {
	place := waitingPlace{Queue: request.Command.QueueName()}
	if w := codec.WaitingOf(request.Command); w != nil {
		place = w.Place(request.Command)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count >= r.max {
		return nil, false
	}
	q := r.queues[place]
	if q == nil {
		q = &waitingQueue{}
		r.queues[place] = q
	}
	w := &waitingReceive{place: place, ctx: ctx, request: request, woken: make(chan struct{}), resume: resume}
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
	q := r.queues[w.place]
	if w.element != nil {
		r.dequeue(q, w)
	}
	r.forgetUnused(w.place, q)
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
	q := r.queues[w.place]
	q.turns--
	r.forgetUnused(w.place, q)
}

// available wakes the receive that waited longest at a place, unless one has its turn:
// that one looks again when it is done.
func (r *waitingReceives) available(place waitingPlace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[place]
	if q == nil {
		return
	}
	q.inVain = false
	if q.turns > 0 || q.waiting.Len() == 0 {
		r.forgetUnused(place, q)
		return
	}
	r.giveTurn(q).wake()
}

// wake has the receive look. It never blocks.
func (w *waitingReceive) wake() {
	close(w.woken)
	w.resume()
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
	q := r.queues[waitingPlace{Queue: string(queue)}]
	if q == nil || q.inVain || q.waiting.Len() == 0 || q.waiting.Front().Value.(*waitingReceive).ctx.Err() != nil {
		return nil
	}
	w := r.giveTurn(q)
	w.piggybacked = w.request.piggybacked(func(o Outcome) {
		w.outcome = o
		w.wake()
	})
	return w.piggybacked
}

// inVain notes that a piggybacked receive found nothing: the messages of its group
// are with a consumer, say, or delayed. No other is piggybacked until something
// becomes available by itself.
func (r *waitingReceives) inVain(w *waitingReceive) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues[w.place].inVain = true
}

// deleted wakes all receives of a queue to find that out.
func (r *waitingReceives) deleted(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for place, q := range r.queues {
		if place.Queue == queue {
			r.wakeAll(place, q)
		}
	}
}

func (r *waitingReceives) wakeAll(place waitingPlace, q *waitingQueue) {
	for q.waiting.Len() > 0 {
		w := q.waiting.Front().Value.(*waitingReceive)
		r.dequeue(q, w)
		w.wake()
	}
	q.inVain = false
	r.forgetUnused(place, q)
}

// end has all that wait find out that the leader's term has ended.
func (r *waitingReceives) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues { // order does not matter: each is its own
		for element := q.waiting.Front(); element != nil; element = element.Next() {
			element.Value.(*waitingReceive).resume()
		}
	}
}

func (r *waitingReceives) dequeue(q *waitingQueue, w *waitingReceive) {
	q.waiting.Remove(w.element)
	w.element = nil
	r.count--
}

// forgetUnused forgets a place that nobody waits at and nothing is to be known of.
func (r *waitingReceives) forgetUnused(place waitingPlace, q *waitingQueue) {
	if q != nil && q.turns == 0 && q.waiting.Len() == 0 && !q.inVain {
		delete(r.queues, place)
	}
}

// number counts the receives that wait.
func (r *waitingReceives) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}
