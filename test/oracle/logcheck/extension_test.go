package logcheck

import (
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

func (s *scene) publish(dedup, body string) *history.Event {
	s.t.Helper()
	e, answer := s.call(history.Event{Action: history.Publish, Group: "g", Dedup: dedup, Body: body}, &queue.Publish{Topic: "t.fifo", SenderID: "000000000000", Entries: []queue.PublishEntry{{
		Message: body, GroupID: "g", GroupIDGiven: true, DeduplicationID: dedup, DeduplicationIDGiven: true,
	}}})
	e.Queue, e.Topic = "", "t.fifo"
	if r, ok := answer.Result.(queue.Published); ok {
		e.Message, e.Sequence = r.Entries[0].MessageID.String(), r.Entries[0].Sequence.String()
	}
	return e
}

// locked is an accept or a renewal with its answer.
func (s *scene) locked(action, session, token string, cmd queue.Command) *history.Event {
	s.t.Helper()
	e, answer := s.call(history.Event{Action: action, Group: session}, cmd)
	e.Session = token
	if r, ok := answer.Result.(queue.SessionLocked); ok && r.SessionID != "" {
		e.Group, e.Session, e.Until = r.SessionID, r.Token.String(), int64(r.LockedUntil)
	}
	if answer.Err != nil {
		e.Error = history.SessionLockLost
	}
	return e
}

func (s *scene) accept(session string) *history.Event {
	s.t.Helper()
	return s.locked(history.AcceptSession, session, "", &queue.AcceptSession{Queue: sceneQueue, SessionID: session, SessionIDGiven: true})
}

func (s *scene) setState(held *history.Event, state string) *history.Event {
	s.t.Helper()
	e, answer := s.call(history.Event{Action: history.SetState, Group: held.Group}, &queue.SetSessionState{
		Queue: sceneQueue, Session: queue.SessionRef{SessionID: held.Group, Token: held.Session}, State: state, StateGiven: true,
	})
	e.Session, e.State = held.Session, state
	if answer.Err != nil {
		e.Error = history.SessionLockLost
	}
	return e
}

// readState leaves no entry.
func (s *scene) readState(held *history.Event, state string) *history.Event {
	s.t.Helper()
	e, _ := s.call(history.Event{Action: history.GetState, Group: held.Group}, nil)
	e.Session, e.State = held.Session, state
	return e
}

func (s *scene) schedule(dedup, body string, in int64) *history.Event {
	s.t.Helper()
	at := s.at + in
	e, answer := s.call(history.Event{Action: history.Schedule, Group: "g", Dedup: dedup, Body: body}, &queue.SendMessages{Queue: sceneQueue, SenderID: "000000000000", Entries: []queue.SendEntry{{
		Body: body, GroupID: "g", GroupIDGiven: true, DeduplicationID: dedup, DeduplicationIDGiven: true, Options: &queue.SendOptions{EnqueueAt: queue.Timestamp(at)},
	}}})
	sent := answer.Result.(queue.MessagesSent).Entries[0]
	e.Due, e.Message, e.Sequence = at, sent.MessageID.String(), sent.Sequence.String()
	return e
}

func (s *scene) cancel(scheduled *history.Event) *history.Event {
	s.t.Helper()
	number, ok := identifier.ParseSequenceNumber(scheduled.Sequence)
	if !ok {
		s.t.Fatal(scheduled.Sequence)
	}
	e, answer := s.call(history.Event{Action: history.Cancel, Sequence: scheduled.Sequence}, &queue.CancelScheduled{Queue: sceneQueue, Sequences: []queue.SequenceNumber{number}})
	if answer.Result.(queue.EntriesDone).Errs[0] != nil {
		e.Error = history.MessageNotFound
	}
	return e
}

// extended is a sound scene with a topic, sessions and scheduled messages.
func extended(t *testing.T) *scene {
	s := newScene(t)
	s.apply("", &queue.CreateTopic{Topic: "t.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:t.fifo", Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}}})
	s.publish("1", "first")
	s.publish("1", "first again")
	held := s.accept("a")
	s.readState(held, "")
	s.setState(held, "x")
	s.readState(held, "x")
	s.at += 6000
	s.setState(held, "y") // its lock is over
	held = s.accept("a")
	s.readState(held, "x")
	again := s.setState(held, "z") // and once more, as a node does that lost its answer
	s.apply(again.OpID(), &queue.SetSessionState{Queue: sceneQueue, Session: queue.SessionRef{SessionID: "a", Token: held.Session}, State: "z", StateGiven: true})
	again.Index, again.LogTime = s.index, s.at
	waits := s.schedule("2", "scheduled", 60_000)
	s.cancel(waits)
	s.cancel(waits)
	return s
}

func TestExtendedRun(t *testing.T) {
	r := extended(t).judge(nil)
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Counts["states of sessions compared"] != 3 || r.Counts["entries of operations"] != 11 {
		t.Errorf("counts: %v", r.Counts)
	}
}

// TestReadsBehindEntriesWithoutCommands: a new leader writes entries that change
// nothing. Of two reads, the later one may name the index before them.
func TestReadsBehindEntriesWithoutCommands(t *testing.T) {
	s := extended(t)
	held := s.accept("b")
	before := s.index
	s.index += 2
	s.readState(held, "")
	s.index = before
	s.readState(held, "")
	s.index += 2
	s.setState(held, "x")
	for _, v := range s.judge(nil).Violations {
		t.Error(v)
	}
}

func TestPlantedInExtensions(t *testing.T) {
	cases := []struct {
		name, check, invariant string
		plant                  func(s *scene)
	}{
		{"a read of an old state", "W2", "I19", func(s *scene) {
			held := s.accept("b")
			s.setState(held, "x")
			s.setState(held, "y")
			s.readState(held, "x")
		}},
		{"another lock than the log gives", "W2", "I12", func(s *scene) { s.accept("b").Until++ }},
		{"another session than the client asked for", "W2", "I2", func(s *scene) { s.accept("b").Group = "c" }},
		{"another publication than the log gives", "W2", "I12", func(s *scene) { s.publish("3", "third").Sequence = "7" }},
		{"a publish done twice", "W2", "I12", func(s *scene) {
			e := s.publish("3", "third")
			s.apply(e.OpID(), &queue.Publish{Topic: "t.fifo", SenderID: "000000000000", Entries: []queue.PublishEntry{{
				Message: "third", GroupID: "g", GroupIDGiven: true, DeduplicationID: "4", DeduplicationIDGiven: true,
			}}})
			e.Dedup = "4"
		}},
		{"a cancel that failed was done", "W4", "I12", func(s *scene) { s.cancel(s.schedule("5", "fifth", 60_000)).Result = history.Fail }},
		{"a cancel was told that nothing waits", "W2", "I12", func(s *scene) { s.cancel(s.schedule("5", "fifth", 60_000)).Error = history.MessageNotFound }},
		{"another time than the client asked for", "W2", "I2", func(s *scene) { s.schedule("5", "fifth", 60_000).Due++ }},
		{"a state set twice by one call", "W5", "I12", func(s *scene) {
			held := s.accept("b")
			e := s.setState(held, "x")
			s.setState(held, "y")
			s.apply(e.OpID(), &queue.SetSessionState{Queue: sceneQueue, Session: queue.SessionRef{SessionID: "b", Token: held.Session}, State: "x", StateGiven: true})
			e.Result = history.Unknown
		}},
		{"a state that no entry sets", "W2", "I12", func(s *scene) {
			held := s.accept("b")
			e, _ := s.call(history.Event{Action: history.SetState, Group: "b"}, nil)
			e.Session, e.State = held.Session, "x"
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := extended(t)
			c.plant(s)
			for _, v := range s.judge(nil).Violations {
				if v.Check == c.check && v.Invariant == c.invariant {
					return
				}
				t.Log(v)
			}
			t.Errorf("%s did not find it", c.check)
		})
	}
}
