package check

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// In these stories a call takes 10 ms and its entry is written after 5 of them: log time
// is that, in milliseconds, and one more than 0.

// at is what stands in the log of a call.
func at(e history.Event, when int64) history.Event {
	e.LogTime, e.Index = when+5, uint64(when)+5
	return e
}

// fanStory has a topic with a queue that gets envelopes, a raw one and one with a filter.
func fanStory() *story {
	s := newStory()
	s.events[0].Rules.Subscriptions = []history.Subscription{
		{Topic: "t", Queue: "q"}, {Topic: "t", Queue: "raw", Raw: true}, {Topic: "t", Queue: "red", Raw: true, Shades: []string{"red"}},
	}
	return s
}

func shaded(shade string) string {
	return history.AttributesText([]history.Attribute{{Name: history.ShadeAttribute, Type: "String", Value: shade}})
}

func (s *story) publish(when int64, result history.Result, body, shade, id, number string) {
	e := at(history.Event{Action: history.Publish, Body: body, Dedup: body, Group: "g", Result: result, Message: id, Sequence: number}, when)
	e.Topic, e.Extra = "t", shaded(shade)
	s.add(when, e).Queue = ""
}

// taken is a message that a queue of the topic delivered, and that was deleted.
func (s *story) taken(when int64, queue, body, shade, publication, number, sequence string) {
	m := history.Message{ID: queue + body + sequence, Body: body, Group: "g", Dedup: body, Sequence: sequence, Handle: queue + body + sequence, Count: 1, Sent: when, Extra: shaded(shade)}
	if queue == "q" {
		m.Extra = ""
		m.Body = fmt.Sprintf(`{"Type":"Notification","MessageId":%q,"SequenceNumber":%q,"TopicArn":"arn:aws:sns:us-east-1:000000000000:t","Message":%q,
			"MessageAttributes":{"shade":{"Type":"String","Value":%q}}}`, publication, number, body, shade)
	}
	s.add(when, at(history.Event{Action: history.Receive, Messages: []history.Message{m}}, when)).Queue = queue
	s.add(when+20, at(history.Event{Action: history.Delete, Handle: m.Handle, Message: m.ID}, when+20)).Queue = queue
}

func (s *story) emptied(queues ...string) {
	for _, q := range queues {
		s.events = append(s.events, history.Event{Kind: history.KindDrained, Queue: q, Call: 60e6, Return: 60e6})
	}
}

func TestFanOut(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"once in each queue", "", func(s *story) {
			s.publish(0, "", "a", "red", "A", "1")
			s.publish(100, "", "b", "blue", "B", "2")
			s.publish(200, "", "b", "blue", "B", "2") // a duplicate
			s.taken(300, "q", "a", "red", "A", "1", "1")
			s.taken(400, "q", "b", "blue", "B", "2", "2")
			s.taken(500, "raw", "a", "red", "", "", "1")
			s.taken(600, "raw", "b", "blue", "", "", "2")
			s.taken(700, "red", "a", "red", "", "", "1")
		}},
		{"an unanswered publish that took effect", "", func(s *story) {
			s.publish(0, history.Unknown, "a", "blue", "", "")
			s.taken(300, "q", "a", "blue", "A", "1", "1")
			s.taken(500, "raw", "a", "blue", "", "", "1")
		}},
		{"an unanswered publish that did not", "", func(s *story) { s.publish(0, history.Unknown, "a", "blue", "", "") }},
		{"lost for one subscription", "I18", func(s *story) {
			s.publish(0, "", "a", "blue", "A", "1")
			s.taken(300, "q", "a", "blue", "A", "1", "1")
		}},
		{"lost for all", "I18", func(s *story) { s.publish(0, "", "a", "blue", "A", "1") }},
		{"an unanswered publish that came to one queue only", "I18", func(s *story) {
			s.publish(0, history.Unknown, "a", "blue", "", "")
			s.taken(500, "raw", "a", "blue", "", "", "1")
		}},
		{"twice in a queue", "I18 I3 I12", func(s *story) {
			s.publish(0, "", "a", "blue", "A", "1")
			s.taken(300, "q", "a", "blue", "A", "1", "1")
			s.taken(500, "raw", "a", "blue", "", "", "1")
			s.taken(700, "raw", "a", "blue", "", "", "2")
		}},
		{"a retry is another message", "I18", func(s *story) {
			s.publish(0, "", "a", "blue", "A", "1")
			s.publish(100, "", "a", "blue", "B", "2")
			s.taken(300, "q", "a", "blue", "A", "1", "1")
			s.taken(500, "raw", "a", "blue", "", "", "1")
		}},
		{"what a filter refuses", "I18 I2", func(s *story) {
			s.publish(0, "", "a", "blue", "A", "1")
			s.taken(300, "q", "a", "blue", "A", "1", "1")
			s.taken(500, "raw", "a", "blue", "", "", "1")
			s.taken(700, "red", "a", "blue", "", "", "1")
		}},
		{"a queue in another order than the topic", "I18 I4", func(s *story) {
			s.publish(0, "", "a", "blue", "A", "1")
			s.publish(100, "", "b", "blue", "B", "2")
			s.taken(300, "q", "a", "blue", "A", "1", "1")
			s.taken(400, "q", "b", "blue", "B", "2", "2")
			s.taken(500, "raw", "b", "blue", "", "", "1")
			s.taken(600, "raw", "a", "blue", "", "", "2")
		}},
		{"numbers of a topic that go back", "I4", func(s *story) {
			s.publish(0, "", "a", "blue", "A", "2")
			s.publish(100, "", "b", "blue", "B", "1")
			s.taken(300, "q", "b", "blue", "B", "1", "1")
			s.taken(400, "q", "a", "blue", "A", "2", "2")
			s.taken(500, "raw", "b", "blue", "", "", "1")
			s.taken(600, "raw", "a", "blue", "", "", "2")
		}},
		{"an envelope with another number", "I18", func(s *story) {
			s.publish(0, "", "a", "blue", "A", "1")
			s.taken(300, "q", "a", "blue", "A", "7", "1")
			s.taken(500, "raw", "a", "blue", "", "", "1")
		}},
		{"a publish that failed was done", "I12", func(s *story) {
			s.publish(0, history.Fail, "a", "blue", "", "")
			s.taken(300, "q", "a", "blue", "A", "1", "1")
			s.taken(500, "raw", "a", "blue", "", "", "1")
		}},
		{"nobody published it", "I18 I2", func(s *story) { s.taken(500, "raw", "a", "blue", "", "", "1") }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := fanStory()
			c.tell(s)
			s.emptied("q", "raw", "red")
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

// accept locks the session g for two seconds.
func (s *story) accept(when int64, token string) {
	e := at(history.Event{Action: history.AcceptSession, Group: "g"}, when)
	e.Session, e.Until = token, when+5+2000
	s.add(when, e)
}

// under is a call in the session.
func (s *story) under(when int64, token, action string, change func(*history.Event)) {
	e := at(history.Event{Action: action, Group: "g"}, when)
	e.Session = token
	if action == history.RenewSession {
		e.Until = when + 5 + 2000
	}
	if change != nil {
		change(&e)
	}
	s.add(when, e)
}

func with(messages ...history.Message) func(*history.Event) {
	return func(e *history.Event) { e.Messages = messages }
}

func of(handle, id string) func(*history.Event) {
	return func(e *history.Event) { e.Handle, e.Message = handle, id }
}

func state(text string) func(*history.Event) {
	return func(e *history.Event) { e.State = text }
}

func unanswered(e *history.Event) { e.Result, e.LogTime, e.Index = history.Unknown, 0, 0 }

func refused(code string) func(*history.Event) { return func(e *history.Event) { e.Error = code } }

func TestSessions(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"one holder after the other", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.accept(100, "1")
			s.under(200, "1", history.Receive, with(got("A", "a", "10", "h1", 1, 5)))
			s.under(300, "1", history.Receive, with(got("B", "b", "11", "h2", 1, 25)))
			s.under(400, "1", history.Delete, of("h2", "B"))
			s.under(500, "1", history.RenewSession, nil)
			s.under(2400, "1", history.Abandon, of("h1", "A"))
			s.under(2450, "1", history.Receive, with(got("A", "a", "10", "h3", 1, 5)))
			s.under(2480, "1", history.ReleaseSession, nil)
			s.accept(2500, "2")
			s.under(2600, "2", history.Receive, with(got("A", "a", "10", "h4", 1, 5)))
			s.accept(4600, "3")
			s.under(4650, "2", history.Delete, refused(history.SessionLockLost))
			s.under(4700, "3", history.Receive, with(got("A", "a", "10", "h5", 2, 5)))
			s.under(4800, "3", history.Delete, of("h5", "A"))
		}},
		{"a release without an answer", "", func(s *story) {
			s.accept(100, "1")
			s.under(200, "1", history.ReleaseSession, unanswered)
			s.accept(300, "2")
		}},
		{"a renewal without an answer", "", func(s *story) {
			s.accept(100, "1")
			s.under(1900, "1", history.RenewSession, unanswered)
			s.under(2500, "1", history.SetState, state("x"))
		}},
		{"a receive in a session without an answer", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.accept(100, "1")
			s.under(200, "1", history.Receive, unanswered)
			s.under(300, "1", history.Receive, with(got("B", "b", "11", "h2", 1, 25)))
			s.under(400, "1", history.Delete, of("h2", "B"))
			s.add(3000, at(history.Event{Action: history.Receive, Messages: []history.Message{got("A", "a", "10", "h3", 2, 5)}}, 3000))
			s.remove(3100, "h3", "A")
		}},
		{"two holders", "I19", func(s *story) {
			s.accept(100, "1")
			s.accept(300, "2")
		}},
		{"two holders after a renewal", "I19", func(s *story) {
			s.accept(100, "1")
			s.under(1900, "1", history.RenewSession, nil)
			s.accept(2300, "2")
		}},
		{"a former holder goes on", "I19", func(s *story) {
			s.accept(100, "1")
			s.accept(2300, "2")
			s.under(2400, "1", history.SetState, func(e *history.Event) { e.State, e.LogTime = "x", 0 })
		}},
		{"done after the end of the lock", "I19", func(s *story) {
			s.accept(100, "1")
			s.under(2200, "1", history.SetState, state("x"))
		}},
		{"a message settled under a lost lock comes again", "I8 I19", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.accept(100, "1")
			s.under(200, "1", history.Receive, with(got("A", "a", "10", "h1", 1, 5)))
			s.under(2200, "1", history.Delete, of("h1", "A"))
			s.accept(2300, "2")
			s.under(2400, "2", history.Receive, with(got("A", "a", "10", "h2", 2, 5)))
			s.under(2500, "2", history.Delete, of("h2", "A"))
		}},
		{"a settlement that was refused took the message", "I7", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.accept(100, "1")
			s.under(200, "1", history.Receive, with(got("A", "a", "10", "h1", 1, 5)))
			s.under(2200, "1", history.Delete, func(e *history.Event) { e.Handle, e.Error = "h1", history.SessionLockLost })
			s.add(2300, history.Event{Action: history.Delete, Handle: "h0", Message: "A"})
		}},
		{"a message of a locked session for another one", "I19", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.accept(100, "1")
			s.add(200, at(history.Event{Action: history.Receive, Messages: []history.Message{got("A", "a", "10", "h1", 1, 5)}}, 200))
			s.remove(300, "h1", "A")
		}},
		{"a session in the wrong order", "I4", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.accept(100, "1")
			s.under(200, "1", history.Receive, with(got("B", "b", "11", "h2", 1, 25)))
			s.under(300, "1", history.Delete, of("h2", "B"))
			s.under(400, "1", history.Receive, with(got("A", "a", "10", "h1", 1, 5)))
			s.under(500, "1", history.Delete, of("h1", "A"))
		}},
		{"what was given back is passed", "I5", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.accept(100, "1")
			s.under(200, "1", history.Receive, with(got("A", "a", "10", "h1", 1, 5)))
			s.under(300, "1", history.Abandon, of("h1", "A"))
			s.under(400, "1", history.Receive, with(got("B", "b", "11", "h2", 1, 25)))
			s.under(500, "1", history.Delete, of("h2", "B"))
			s.under(600, "1", history.Receive, with(got("A", "a", "10", "h3", 1, 5)))
			s.under(700, "1", history.Delete, of("h3", "A"))
		}},
		{"states in their order", "", func(s *story) {
			s.accept(100, "1")
			s.under(200, "1", history.GetState, state(""))
			s.under(300, "1", history.SetState, state("x"))
			s.under(400, "1", history.SetState, func(e *history.Event) { unanswered(e); e.State = "y" })
			s.under(500, "1", history.GetState, state("x"))
			s.under(600, "1", history.GetState, state("y"))
			s.under(700, "1", history.SetState, state("z"))
			s.under(800, "1", history.GetState, state("z"))
		}},
		{"a stale state", "I19", func(s *story) {
			s.accept(100, "1")
			s.under(200, "1", history.SetState, state("x"))
			s.under(300, "1", history.SetState, state("y"))
			s.under(400, "1", history.GetState, state("x"))
		}},
		{"a state that is gone", "I19", func(s *story) {
			s.accept(100, "1")
			s.under(200, "1", history.SetState, state("x"))
			s.under(400, "1", history.GetState, state(""))
		}},
		{"a state that comes back", "I19", func(s *story) {
			s.accept(100, "1")
			s.under(200, "1", history.SetState, func(e *history.Event) { unanswered(e); e.State = "x" })
			s.under(300, "1", history.SetState, state("y"))
			s.under(400, "1", history.GetState, state("x"))
			s.under(500, "1", history.GetState, state("y"))
			s.under(600, "1", history.GetState, state("x"))
		}},
		{"a state from the future", "I19", func(s *story) {
			s.accept(100, "1")
			s.under(200, "1", history.GetState, state("x"))
			s.under(300, "1", history.SetState, state("x"))
		}},
		{"a state that nobody set", "I19", func(s *story) {
			s.accept(100, "1")
			s.under(200, "1", history.GetState, state("x"))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			s.drained(60 * second)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

func (s *story) schedule(when int64, result history.Result, body, dedup string, due int64, id, number string) {
	e := at(history.Event{Action: history.Schedule, Body: body, Dedup: dedup, Group: "g", Result: result, Message: id, Sequence: number}, when)
	e.Due = due
	s.add(when, e)
}

func (s *story) cancel(when int64, number string, result history.Result, code string) {
	s.add(when, at(history.Event{Action: history.Cancel, Sequence: number, Result: result, Error: code}, when))
}

// comes is the delivery of a message, which is deleted.
func (s *story) comes(when int64, id, body, number string, sent int64) {
	m := got(id, body, number, "h"+id, 1, sent)
	m.Dedup = "k"
	s.add(when, at(history.Event{Action: history.Receive, Messages: []history.Message{m}}, when))
	s.add(when+20, at(history.Event{Action: history.Delete, Handle: m.Handle, Message: m.ID}, when+20))
}

func TestSchedules(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"delivered at its time", "", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.schedule(300, "", "b", "k", 2500, "A", "10") // a duplicate
			s.comes(2100, "A", "a", "12", 2000)
			s.cancel(2200, "10", "", history.MessageNotFound)
		}},
		{"cancelled", "", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.cancel(300, "10", "", "")
			s.cancel(400, "10", "", history.MessageNotFound)
		}},
		{"cancelled without an answer", "", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.cancel(300, "10", history.Unknown, "")
			s.cancel(400, "10", "", history.MessageNotFound)
		}},
		{"a send before its schedule", "", func(s *story) {
			s.send(100, "a", "k", "A", "10")
			s.schedule(200, "", "b", "k", 2000, "A", "10")
			s.comes(300, "A", "a", "10", 105)
			s.cancel(400, "10", "", history.MessageNotFound)
		}},
		{"a send after its schedule", "", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.send(200, "b", "k", "A", "10")
			s.comes(2300, "A", "a", "12", 2000)
		}},
		{"too early", "I20", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.comes(1500, "A", "a", "12", 1505)
		}},
		{"cancelled and delivered", "I20", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.cancel(300, "10", "", "")
			s.comes(2100, "A", "a", "12", 2000)
		}},
		{"cancelled after its time", "I20", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.cancel(2300, "10", "", "")
		}},
		{"cancelled twice", "I20", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.cancel(300, "10", "", "")
			s.cancel(400, "10", "", "")
		}},
		{"not found while it waits", "I20", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.cancel(300, "10", "", history.MessageNotFound)
			s.comes(2100, "A", "a", "12", 2000)
		}},
		{"lost after a cancel that came too late", "I20", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.cancel(2300, "10", "", history.MessageNotFound)
		}},
		{"a cancel takes away what was sent", "I20", func(s *story) {
			s.send(100, "a", "k", "A", "10")
			s.schedule(200, "", "b", "k", 2000, "A", "10")
			s.cancel(300, "10", "", "")
		}},
		{"a duplicate is another message", "I20", func(s *story) {
			s.schedule(100, "", "a", "k", 2000, "A", "10")
			s.send(200, "b", "k", "B", "11")
			s.comes(300, "B", "b", "11", 205)
			s.comes(2100, "A", "a", "12", 2000)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			// The window is measured from the first answer, of a call before.
			s.add(0, at(history.Event{Action: history.Tag}, 0))
			c.tell(s)
			s.add(50*second, at(history.Event{Action: history.Tag}, 50*second))
			s.drained(60 * second)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

// TestMinimumsOfExtensions: a run without topics, sessions or scheduled messages proves
// nothing about them, and is not conclusive.
func TestMinimumsOfExtensions(t *testing.T) {
	for _, profile := range []string{profileQuick, "smoke", profileNight, profileSoak} {
		for _, name := range []string{"messages fanned out", "sessions accepted", "states of sessions read", "messages scheduled"} {
			r := Report{Counts: map[string]int{}, waived: map[string]bool{}, profile: profile}
			for _, m := range r.Minimums() {
				r.Counts[m.Name] = m.Least
			}
			if r.fall(); r.Verdict() != "pass" {
				t.Fatalf("%s: %v", profile, r.Short)
			}
			r.Counts[name] = 0
			if r.fall(); r.Verdict() != "inconclusive" {
				t.Errorf("%s without %s: %s", profile, name, r.Verdict())
			}
		}
	}
}
