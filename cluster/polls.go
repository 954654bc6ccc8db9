package cluster

import (
	"container/list"
	"sync"
)

// polls are the receives that wait for messages, by queue and in order of
// arrival. Per queue at most one of them at a time is being served: it has been
// woken and has not yet released its turn. So a message wakes one receive, not
// all. Safe for concurrent use; an idle poll costs nothing but memory.
type polls struct {
	max int

	mu     sync.Mutex
	queues map[string]*pollQueue
	count  int
}

type pollQueue struct {
	waiting list.List // of *poll
	serving bool      // one poll has been woken and has its turn
}

// poll is one waiting receive.
type poll struct {
	queue string
	place *list.Element // nil once woken or gone
	turn  bool          // this poll is the one being served
	woken chan struct{} // capacity 1: a poll is woken at most once
}

func newPolls(limit int) *polls {
	return &polls{max: limit, queues: make(map[string]*pollQueue)}
}

// join begins to wait. A poll that waited before goes to the front.
func (p *polls) join(queue string, front bool) (*poll, bool) {
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
	w := &poll{queue: queue, woken: make(chan struct{}, 1)}
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
		q.waiting.Remove(w.place)
		w.place = nil
		p.count--
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
	q.serving = false
	p.tidy(w.queue, q)
}

// available wakes the poll that waited longest, unless one is being served:
// that one looks again when it is done.
func (p *polls) available(queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[queue]
	if q == nil || q.serving || q.waiting.Len() == 0 {
		return
	}
	w := q.waiting.Front().Value.(*poll)
	p.wake(q, w)
	w.turn, q.serving = true, true
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
		p.wake(q, q.waiting.Front().Value.(*poll))
	}
	p.tidy(queue, q)
}

func (p *polls) wake(q *pollQueue, w *poll) {
	q.waiting.Remove(w.place)
	w.place = nil
	p.count--
	w.woken <- struct{}{}
}

// tidy forgets a queue that nobody waits for.
func (p *polls) tidy(queue string, q *pollQueue) {
	if q != nil && !q.serving && q.waiting.Len() == 0 {
		delete(p.queues, queue)
	}
}

// waitingCount counts the polls that wait.
func (p *polls) waitingCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}
