package leader

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// receiveOf returns a receive from a queue.
func receiveOf(name string) ReceiveRequest {
	return ReceiveRequest{Command: &queue.ReceiveMessages{Queue: name}}
}

func added(t *testing.T, p *waitingReceives, name string, front bool) *waitingReceive {
	t.Helper()
	w, ok := p.add(t.Context(), receiveOf(name), front, func() {})
	if !ok {
		t.Fatal("no room")
	}
	return w
}

func isWoken(w *waitingReceive) bool {
	select {
	case <-w.woken:
		return true
	default:
		return false
	}
}

func TestWaitingReceivesWakeOneAtATimeInOrder(t *testing.T) {
	p := newWaitingReceives(10)
	first, second, third := added(t, p, "q", false), added(t, p, "q", false), added(t, p, "q", false)
	other := added(t, p, "other", false)
	p.available(codec.WaitingPlace{Queue: "q"})
	p.available(codec.WaitingPlace{Queue: "q"}) // first has its turn and looks again anyway
	if !isWoken(first) || isWoken(second) || isWoken(third) || isWoken(other) {
		t.Fatal("not exactly the first one was woken")
	}
	if !p.remove(first) {
		t.Fatal("the woken receive has no turn")
	}
	p.release(first)
	again := added(t, p, "q", true) // first found nothing and waits again, at the front
	p.available(codec.WaitingPlace{Queue: "q"})
	if !isWoken(again) || isWoken(second) {
		t.Fatal("a receive that waited before is not the first")
	}
	p.remove(again)
	p.release(again)
	if p.remove(second) {
		t.Fatal("a receive that was not woken has a turn")
	}
	p.available(codec.WaitingPlace{Queue: "q"})
	if !isWoken(third) {
		t.Fatal("a receive that left was woken instead of the next")
	}
}

func TestDeletedQueueWakesWakesAll(t *testing.T) {
	p := newWaitingReceives(10)
	first, second := added(t, p, "q", false), added(t, p, "q", false)
	p.deleted("q")
	p.deleted("unknown")
	if !isWoken(first) || !isWoken(second) {
		t.Fatal("not all were woken")
	}
	if p.remove(first) || p.remove(second) {
		t.Fatal("nobody has a turn at a queue that is gone")
	}
}

func TestWaitingReceivesAreBounded(t *testing.T) {
	p := newWaitingReceives(1)
	w := added(t, p, "q", false)
	if _, ok := p.add(t.Context(), receiveOf("q"), false, func() {}); ok {
		t.Fatal("one too many")
	}
	p.remove(w)
	added(t, p, "q", false)
}

// A receive whose client hung up is not piggybacked. After one in vain, none is until something
// becomes available.
func TestPiggyback(t *testing.T) {
	p := newWaitingReceives(10)
	if p.piggyback([]byte("q")) != nil {
		t.Fatal("nobody waits, and a receive is piggybacked")
	}
	ctx, hangUp := context.WithCancel(t.Context())
	gone, _ := p.add(ctx, receiveOf("q"), false, func() {})
	hangUp()
	if p.piggyback([]byte("q")) != nil {
		t.Fatal("a receive of a client that hung up is piggybacked")
	}
	p.remove(gone)
	first := added(t, p, "q", false)
	receive := p.piggyback([]byte("q"))
	if receive == nil || isWoken(first) {
		t.Fatal("the first in line is not piggybacked")
	}
	receive.Complete(Outcome{Verdict: Overloaded})
	if !isWoken(first) || first.outcome.Verdict != NotProposed {
		t.Fatalf("no room ended the wait: %+v", first.outcome)
	}
	p.inVain(first)
	p.release(first)
	added(t, p, "q", true)
	if p.piggyback([]byte("q")) != nil {
		t.Fatal("another one after one in vain")
	}
	p.available(codec.WaitingPlace{Queue: "q"})
	added(t, p, "q", false)
	if p.piggyback([]byte("q")) == nil {
		t.Fatal("none although something became available")
	}
}

// In any order of events, a turn goes to the receive that waited longest, no receive is woken
// during a turn, and no state remains without receives.
func TestWaitingReceivesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newWaitingReceives(1000)
		var waiting, served []*waitingReceive // in order
		first := func() *waitingReceive {
			w := waiting[0]
			served, waiting = append(served, w), waiting[1:]
			return w
		}
		inVain := false
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				w, _ := p.add(context.Background(), receiveOf("q"), false, func() {})
				waiting = append(waiting, w)
			},
			"available": func(t *rapid.T) {
				p.available(codec.WaitingPlace{Queue: "q"})
				inVain = false
				if len(served) == 0 && len(waiting) > 0 && !isWoken(first()) {
					t.Fatal("the first in line was not woken")
				}
			},
			"piggyback": func(t *rapid.T) {
				receive := p.piggyback([]byte("q"))
				if want := len(waiting) > 0 && !inVain; (receive != nil) != want {
					t.Fatalf("piggybacked: %v, want %v", receive != nil, want)
				}
				if receive == nil {
					return
				}
				w := first()
				if isWoken(w) || w.piggybacked != receive {
					t.Fatal("not the first in line, or it has its outcome already")
				}
				if receive.Complete(Outcome{Verdict: Answered}); !isWoken(w) {
					t.Fatal("the outcome does not end the wait")
				}
			},
			"in vain": func(t *rapid.T) {
				if len(served) == 0 {
					t.Skip("nobody is served")
				}
				p.inVain(served[0])
				inVain = true
			},
			"give up": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "who")
				if p.remove(waiting[i]) {
					t.Fatal("a turn out of nothing")
				}
				waiting = append(waiting[:i:i], waiting[i+1:]...)
			},
			"finish": func(t *rapid.T) {
				if len(served) == 0 {
					t.Skip("nobody is served")
				}
				i := rapid.IntRange(0, len(served)-1).Draw(t, "who")
				if !p.remove(served[i]) {
					t.Fatal("the turn got lost")
				}
				p.release(served[i])
				served = append(served[:i:i], served[i+1:]...)
			},
			"": func(t *rapid.T) {
				for _, w := range waiting {
					if isWoken(w) {
						t.Fatal("woken without a turn")
					}
				}
				if p.number() != len(waiting) {
					t.Fatalf("%d wait, want %d", p.number(), len(waiting))
				}
				if known := len(waiting) > 0 || len(served) > 0 || inVain; known != (len(p.queues) == 1) {
					t.Fatalf("the queue is remembered: %v, want %v", !known, known)
				}
			},
		})
	})
}
