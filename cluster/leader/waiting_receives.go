package leader

import (
	"container/list"
	"context"
	"sync"

	"github.com/seriatimq/seriatim/fsm/codec"
)

// waitingReceives holds the receives that wait for messages or sessions, by place and in order of
// arrival. A receive has its turn from its wake-up, or from its piggybacking on a send, until it
// releases the turn; meanwhile no other is woken. So a message wakes one receive, not all. A
// waiting receive costs only memory. Safe for concurrent use.
type waitingReceives struct {
	max int

	mu     sync.Mutex
	queues map[codec.WaitingPlace]*waitingQueue
	count  int
}

// waitingQueue holds the receives of one place.
type waitingQueue struct {
	waiting list.List // of *waitingReceive
	turns   int       // receives that have their turn
	// inVain: the last piggybacked receive found nothing, and nothing became available since.
	inVain bool
}

type waitingReceive struct {
	place       codec.WaitingPlace
	ctx         context.Context // of the receive
	request     ReceiveRequest
	element     *list.Element // nil once it has its turn or was removed
	turn        bool
	woken       chan struct{} // closed when it should look again, or when outcome is set
	resume      func()        // called after woken is closed; never blocks
	piggybacked *Submission   // its command, proposed after a send; nil: none
	outcome     Outcome       // of piggybacked; set before woken is closed
}

func newWaitingReceives(limit int) *waitingReceives {
	return &waitingReceives{max: limit, queues: make(map[codec.WaitingPlace]*waitingQueue)}
}

// add adds a receive, unless too many wait. front is for a receive that waited before.
func (r *waitingReceives) add(ctx context.Context, request ReceiveRequest, front bool, resume func()) (*waitingReceive, bool) {
	place := codec.WaitingPlace{Queue: request.Command.QueueName()}
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

// remove removes a receive. It reports whether the receive has its turn, which the caller then must
// release.
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

// release ends the turn of a receive. The caller then calls available if the queue still has a
// message.
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

// available wakes the receive that waited longest at a place, unless another one has its turn. That
// one calls available at the end of its turn.
func (r *waitingReceives) available(place codec.WaitingPlace) {
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
	r.nextTurn(q).wake()
}

func (w *waitingReceive) wake() {
	close(w.woken)
	w.resume()
}

// nextTurn starts the turn of the receive that waited longest.
func (r *waitingReceives) nextTurn(q *waitingQueue) *waitingReceive {
	w := q.waiting.Front().Value.(*waitingReceive)
	r.dequeue(q, w)
	w.turn = true
	q.turns++
	return w
}

// piggyback starts the turn of the receive that waited longest for messages of a queue, and returns
// its command to propose after a send; nil if there is none.
func (r *waitingReceives) piggyback(queue []byte) *Submission {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[codec.WaitingPlace{Queue: string(queue)}]
	if q == nil || q.inVain || q.waiting.Len() == 0 || q.waiting.Front().Value.(*waitingReceive).ctx.Err() != nil {
		return nil
	}
	w := r.nextTurn(q)
	w.piggybacked = w.request.piggybacked(func(o Outcome) {
		w.outcome = o
		w.wake()
	})
	return w.piggybacked
}

// inVain notes that a piggybacked receive found nothing, because messages of its group are in
// flight or delayed. None is piggybacked again until something becomes available.
func (r *waitingReceives) inVain(w *waitingReceive) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues[w.place].inVain = true
}

// deleted wakes all receives of a deleted queue.
func (r *waitingReceives) deleted(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for place, q := range r.queues {
		if place.Queue == queue {
			r.wakeAll(place, q)
		}
	}
}

func (r *waitingReceives) wakeAll(place codec.WaitingPlace, q *waitingQueue) {
	for q.waiting.Len() > 0 {
		w := q.waiting.Front().Value.(*waitingReceive)
		r.dequeue(q, w)
		w.wake()
	}
	q.inVain = false
	r.forgetUnused(place, q)
}

// end resumes all receives at the end of the term.
func (r *waitingReceives) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues { // order does not matter
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

// forgetUnused deletes a place without receives and without state.
func (r *waitingReceives) forgetUnused(place codec.WaitingPlace, q *waitingQueue) {
	if q != nil && q.turns == 0 && q.waiting.Len() == 0 && !q.inVain {
		delete(r.queues, place)
	}
}

func (r *waitingReceives) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}
