package cluster

import (
	"testing"

	"pgregory.net/rapid"
)

func joined(t *testing.T, p *polls, queue string, front bool) *poll {
	t.Helper()
	w, ok := p.join(queue, front)
	if !ok {
		t.Fatal("no room")
	}
	return w
}

func isWoken(w *poll) bool {
	select {
	case <-w.woken:
		return true
	default:
		return false
	}
}

func TestPollsWakeOneAtATimeInOrder(t *testing.T) {
	p := newPolls(10)
	first, second, third := joined(t, p, "q", false), joined(t, p, "q", false), joined(t, p, "q", false)
	other := joined(t, p, "other", false)
	p.available("q")
	p.available("q") // the one being served looks again anyway
	if !isWoken(first) || isWoken(second) || isWoken(third) || isWoken(other) {
		t.Fatal("not exactly the first one was woken")
	}
	if !p.leave(first) {
		t.Fatal("the woken poll has no turn")
	}
	p.release(first)
	again := joined(t, p, "q", true) // it found nothing and waits on, at the front
	p.available("q")
	if !isWoken(again) || isWoken(second) {
		t.Fatal("a poll that waited before did not keep its place")
	}
	p.leave(again)
	p.release(again)
	if p.leave(second) {
		t.Fatal("a poll that was not woken has a turn")
	}
	p.available("q")
	if !isWoken(third) {
		t.Fatal("a poll that left was woken instead of the next")
	}
}

func TestPollsDeletedWakesAll(t *testing.T) {
	p := newPolls(10)
	first, second := joined(t, p, "q", false), joined(t, p, "q", false)
	p.deleted("q")
	p.deleted("unknown")
	if !isWoken(first) || !isWoken(second) {
		t.Fatal("not all were woken")
	}
	if p.leave(first) || p.leave(second) {
		t.Fatal("nobody has a turn at a queue that is gone")
	}
}

func TestPollsAreBounded(t *testing.T) {
	p := newPolls(1)
	w := joined(t, p, "q", false)
	if _, ok := p.join("q", false); ok {
		t.Fatal("one too many")
	}
	p.leave(w)
	joined(t, p, "q", false)
}

// Whatever happens in whatever order: at most one turn per queue, the turn goes
// to who waits longest, and nothing is remembered when nobody is left.
func TestPollsAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPolls(1000)
		var waiting []*poll // in order
		var served *poll
		t.Repeat(map[string]func(*rapid.T){
			"join": func(*rapid.T) {
				w, _ := p.join("q", false)
				waiting = append(waiting, w)
			},
			"available": func(t *rapid.T) {
				p.available("q")
				if served == nil && len(waiting) > 0 {
					served, waiting = waiting[0], waiting[1:]
					if !isWoken(served) {
						t.Fatal("the first in line was not woken")
					}
				}
			},
			"give up": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "who")
				if p.leave(waiting[i]) {
					t.Fatal("a turn out of nothing")
				}
				waiting = append(waiting[:i:i], waiting[i+1:]...)
			},
			"finish": func(t *rapid.T) {
				if served == nil {
					t.Skip("nobody is served")
				}
				if !p.leave(served) {
					t.Fatal("the turn got lost")
				}
				p.release(served)
				served = nil
			},
			"": func(t *rapid.T) {
				for _, w := range waiting {
					if isWoken(w) {
						t.Fatal("woken without a turn")
					}
				}
				if p.waitingCount() != len(waiting) {
					t.Fatalf("%d wait, want %d", p.waitingCount(), len(waiting))
				}
				if len(waiting) == 0 && served == nil && len(p.queues) != 0 {
					t.Fatal("an empty queue is remembered")
				}
			},
		})
	})
}
