package check

import (
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// stock is a send by a stock SDK that took until a time.
func (s *story) stock(at, until int64, body, id, seq string) {
	e := s.add(at, history.Event{Action: history.Send, Body: body, Dedup: body, Group: "g", Message: id, Sequence: seq})
	e.Return, e.Stock = until*1000, true
}

// TestRepetitions are histories with calls that a stock SDK repeats by itself, and
// with purges, after which a queue knows nothing of what was sent before: the
// first half is sound, the second differs from it in what makes it so.
func TestRepetitions(t *testing.T) {
	purge := func(s *story, at int64, result history.Result) {
		s.add(at, history.Event{Action: history.Purge, Result: result})
	}
	twice := func(s *story, sent int64) {
		s.receive(6*second, "", got("A", "a", "10", "h1", 1, 5), got("B", "a", "11", "h2", 1, sent))
		s.remove(6100, "h1", "A")
		s.remove(6200, "h2", "B")
		s.drained(30 * second)
	}
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"an SDK's tries a window apart make two messages", "", func(s *story) {
			s.stock(0, 5*second, "a", "B", "11")
			twice(s, 3005)
		}},
		{"an SDK's tries, a purge without an answer between them", "", func(s *story) {
			s.stock(0, 2*second, "a", "B", "11")
			purge(s, 500, history.Unknown)
			twice(s, 1500)
		}},
		{"a key again after a purge without an answer, which came late", "", func(s *story) {
			purge(s, 0, history.Unknown)
			s.send(100, "a", "a", "A", "10")
			s.send(300, "a", "a", "B", "11")
			twice(s, 305)
		}},
		{"purged by a call without an answer, which came late", "", func(s *story) {
			purge(s, 0, history.Unknown)
			s.send(100, "a", "a", "A", "10")
			s.drained(30 * second)
		}},
		{"passed because it was purged", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			purge(s, 100, history.OK)
			s.send(200, "b", "b", "B", "11")
			s.receive(300, "", got("B", "b", "11", "h1", 1, 205))
			s.remove(400, "h1", "B")
			s.drained(30 * second)
		}},
		{"an SDK's receive for longer than an attempt is known", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			e := s.add(100, history.Event{Action: history.Receive, Attempt: "t", Messages: []history.Message{got("A", "a", "10", "h1", 2, 5)}})
			e.Return, e.Stock = 25*second*1000, true
			s.remove(26*second, "h1", "A")
			s.drained(60 * second)
		}},

		{"an SDK's tries inside a window make two messages", "I2 I3 I12", func(s *story) {
			s.stock(0, 5*second, "a", "B", "11")
			twice(s, 2995)
		}},
		{"one try makes two messages, a window apart", "I2 I12", func(s *story) {
			s.stock(0, 5*second, "a", "B", "11")
			s.events[len(s.events)-1].Stock = false
			twice(s, 3005)
		}},
		{"an SDK's tries, a purge before both", "I2 I3 I12", func(s *story) {
			purge(s, 0, history.OK)
			s.stock(100, 2*second, "a", "B", "11")
			twice(s, 1500)
		}},
		{"a key again after a purge that was over before", "I3", func(s *story) {
			purge(s, 0, history.OK)
			s.send(100, "a", "a", "A", "10")
			s.send(300, "a", "a", "B", "11")
			twice(s, 305)
		}},
		{"lost after a purge that left it", "I1", func(s *story) {
			e := s.add(0, history.Event{Action: history.Purge})
			e.Return = 200_000
			s.send(100, "a", "a", "A", "10")
			s.receive(300, "", got("A", "a", "10", "h1", 1, 105))
			s.drained(30 * second)
		}},
		{"passed before it was purged", "I5", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(200, "", got("B", "b", "11", "h2", 1, 25))
			purge(s, 300, history.OK)
		}},
		{"a client's receive for longer than an attempt is known", "I10", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			e := s.add(100, history.Event{Action: history.Receive, Attempt: "t", Messages: []history.Message{got("A", "a", "10", "h1", 2, 5)}})
			e.Return = 25 * second * 1000
			s.remove(26*second, "h1", "A")
			s.drained(60 * second)
		}},
		{"an SDK's empty receive, whose first try a stopped node read late", "", func(s *story) {
			e := s.add(0, history.Event{Action: history.Receive, Attempt: "t"})
			e.Stock, e.Tries = true, 2
			s.send(10, "a", "a", "A", "10")
			s.add(10*second, history.Event{Action: history.Receive, Messages: []history.Message{got("A", "a", "10", "h1", 2, 5)}})
			s.remove(11*second, "h1", "A")
			s.drained(60 * second)
		}},
		{"an SDK's empty receive in one try", "I10", func(s *story) {
			e := s.add(0, history.Event{Action: history.Receive, Attempt: "t"})
			e.Stock, e.Tries = true, 1
			s.send(10, "a", "a", "A", "10")
			s.add(10*second, history.Event{Action: history.Receive, Messages: []history.Message{got("A", "a", "10", "h1", 2, 5)}})
			s.remove(11*second, "h1", "A")
			s.drained(60 * second)
		}},
		{"an SDK's receive while an attempt is known", "I10", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			e := s.add(100, history.Event{Action: history.Receive, Attempt: "t", Messages: []history.Message{got("A", "a", "10", "h1", 2, 5)}})
			e.Return, e.Stock = 15*second*1000, true
			s.remove(16*second, "h1", "A")
			s.drained(60 * second)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

// TestLateReceives are repetitions that found nothing, while the call they repeat took
// the messages. It is a violation unless the log shows that the call came later.
func TestLateReceives(t *testing.T) {
	tell := func(answers ...int64) *story { // their log times
		s := newStory()
		s.send(0, "a", "a", "A", "10")
		s.lost(100, "t")
		for i, logTime := range answers {
			s.add(int64(200+100*i), history.Event{Action: history.Receive, Attempt: "t", Detail: history.Detail{LogTime: logTime}})
		}
		s.receive(10*second, "", got("A", "a", "10", "h1", 2, 5))
		s.remove(11*second, "h1", "A")
		s.drained(60 * second)
		return s
	}
	const lost = 2 // the number of the call without an answer
	for _, c := range []struct {
		name, want string
		story      *story
		effects    map[int64]int64
	}{
		{"the log is not known", "I6", tell(205), nil},
		{"the call was not in the log", "I6", tell(205), map[int64]int64{}},
		{"the call came before its repetition", "I6", tell(205), map[int64]int64{lost: 105}},
		{"the call came between two repetitions", "I6", tell(205, 305), map[int64]int64{lost: 250}},
		{"the answer says no log time", "I6", tell(0), map[int64]int64{lost: 250}},
		{"the call came after its repetition", "", tell(205), map[int64]int64{lost: 250}},
	} {
		t.Run(c.name, func(t *testing.T) { wantInvariants(t, c.want, CheckWithEffects(c.story.events, c.effects)) })
	}
}

// TestReceivesOfCutConnections are calls that reach a node long after their client gave
// up, and when their attempt is forgotten. They explain a count that grew unseen if the
// log has them between the two deliveries that were seen.
func TestReceivesOfCutConnections(t *testing.T) {
	const lost = 2 // the number of the call without an answer
	at := func(logTime int64) history.Detail { return history.Detail{LogTime: logTime} }
	for _, c := range []struct {
		name, want    string
		first, second int64 // log times of the deliveries that were seen
		effects       map[int64]int64
	}{
		{"the log is not known", "I10", 15005, 40005, nil},
		{"before the first delivery", "I10", 15005, 40005, map[int64]int64{lost: 14000}},
		{"between the deliveries", "", 15005, 40005, map[int64]int64{lost: 30000}},
		{"after the second delivery", "I10", 15005, 40005, map[int64]int64{lost: 41000}},
		{"the first delivery says no log time", "I10", 0, 40005, map[int64]int64{lost: 30000}},
		{"the second delivery says no log time", "I10", 15005, 0, map[int64]int64{lost: 30000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			s.send(0, "a", "a", "A", "10")
			s.lost(100, "t")
			s.add(200, history.Event{Action: history.Receive, Attempt: "t", Detail: at(205)})
			s.add(15*second, history.Event{Action: history.Receive, Messages: []history.Message{got("A", "a", "10", "h1", 1, 5)}, Detail: at(c.first)})
			s.add(40*second, history.Event{Action: history.Receive, Messages: []history.Message{got("A", "a", "10", "h3", 3, 5)}, Detail: at(c.second)})
			s.remove(41*second, "h3", "A")
			s.drained(90 * second)
			wantInvariants(t, c.want, CheckWithEffects(s.events, c.effects))
		})
	}
}
