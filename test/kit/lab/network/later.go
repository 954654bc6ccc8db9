package network

import (
	"container/heap"
	"sync"
	"time"
)

// later delays frames until they are due. A single goroutine, for which close waits, delivers them.
type later struct {
	pass func(frame []byte)
	done chan struct{}
	wake chan struct{} // capacity 1, as several signals mean the same

	mu      sync.Mutex
	waiting dueHeap
	closed  bool
	number  uint64
}

func newLater(pass func([]byte)) *later {
	l := &later{pass: pass, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go l.run()
	return l
}

// put adds a frame.
func (l *later) put(frame []byte, due time.Time) {
	l.mu.Lock()
	l.number++
	heap.Push(&l.waiting, dueFrame{frame: frame, due: due, number: l.number})
	first := l.waiting[0].number == l.number
	l.mu.Unlock()
	if first {
		l.sign()
	}
}

func (l *later) sign() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// close drops the delayed frames.
func (l *later) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.sign()
	<-l.done
}

func (l *later) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		frame, wait, closed := l.next()
		switch {
		case closed:
			return
		case frame != nil:
			l.pass(frame)
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-l.wake:
		}
	}
}

// next returns a frame that is due, or else the time until one is.
func (l *later) next() (frame []byte, wait time.Duration, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.waiting) == 0 {
		return nil, time.Hour, l.closed
	}
	if wait := time.Until(l.waiting[0].due); wait > 0 {
		return nil, wait, false
	}
	return heap.Pop(&l.waiting).(dueFrame).frame, 0, false
}

type dueFrame struct {
	frame  []byte
	due    time.Time
	number uint64 // keeps the order of frames that are due at the same time
}

// dueHeap is a heap.Interface.
type dueHeap []dueFrame

func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].number < h[j].number
	}
	return h[i].due.Before(h[j].due)
}

func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) { *h = append(*h, x.(dueFrame)) }

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = dueFrame{}
	*h = old[:len(old)-1]
	return last
}
