package queue

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
)

func (w *world) accept(queue, id string, seconds int64) SessionRef {
	w.t.Helper()
	r := w.must(&AcceptSession{Queue: queue, SessionID: id, SessionIDGiven: id != "", LockSeconds: Some(seconds)}).(SessionLocked)
	return SessionRef{SessionID: r.SessionID, Token: r.Token.String()}
}

func (w *world) receiveIn(queue string, s SessionRef, limit int64) []ReceivedMessage {
	w.t.Helper()
	return w.must(&ReceiveMessages{Queue: queue, MaxMessages: Some(limit),
		Options: &ReceiveOptions{Session: s}}).(MessagesReceived).Messages
}

// TestSessionsAtRandom runs session and ordinary receivers on few groups while locks, timeouts,
// delays and messages expire, more at a time than one command handles. Every command is followed by
// an invariant check.
func TestSessionsAtRandom(t *testing.T) {
	deferred := 0
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t)
		w.create("dead.fifo")
		w.create("q.fifo", Attribute{Name: "MessageRetentionPeriod", Value: "60"},
			Attribute{Name: "DelaySeconds", Value: fmt.Sprint(seed % 3)},
			Attribute{Name: "RedrivePolicy",
				Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":4}`})
		group := func() string { return fmt.Sprint("g", random.IntN(3)) }
		holders := map[string]SessionRef{} // the newest lock of each session
		var handles []string
		next, received := 0, 0
		for range 900 {
			switch n := random.IntN(115); {
			case n < 30:
				for range 1 + random.IntN(6) {
					next++
					w.send("q.fifo", group(), fmt.Sprint(next), "m")
				}
			case n < 40:
				id := group()
				r, err := w.apply(&AcceptSession{Queue: "q.fifo", SessionID: id, SessionIDGiven: n < 35,
					LockSeconds: Some(int64(1 + random.IntN(8)))})
				if n >= 35 && err == nil {
					id = r.(SessionLocked).SessionID
				}
				if err == nil && id != "" {
					holders[id] = SessionRef{SessionID: id, Token: r.(SessionLocked).Token.String()}
				}
			case n < 65:
				if s, held := holders[group()]; held {
					r, err := w.apply(&ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(int64(1 + random.IntN(10))),
						Options: &ReceiveOptions{Session: s, Delete: n < 45}})
					if err != nil {
						continue
					}
					for _, m := range r.(MessagesReceived).Messages {
						received++
						if m.GroupID != s.SessionID {
							t.Fatalf("a message of %s in the session %s", m.GroupID, s.SessionID)
						}
						handles = append(handles, m.Handle.String())
					}
				}
			case n < 70:
				for _, m := range w.receive("q.fifo", 10) {
					if r, ok := w.b.queues.Get("q.fifo"); ok && r.isLockedNow(m.GroupID, w.b.now) {
						t.Fatalf("a plain receive in the locked session %s", m.GroupID)
					}
					handles = append(handles, m.Handle.String())
				}
			case n < 76:
				if s, held := holders[group()]; held {
					w.apply(&ReleaseSession{Queue: "q.fifo", Session: s})
				}
			case n < 80:
				if s, held := holders[group()]; held {
					w.apply(&RenewSession{Queue: "q.fifo", Session: s, LockSeconds: Some(3)})
					w.apply(&SetSessionState{Queue: "q.fifo", Session: s, State: "x", StateGiven: true})
				}
			case n < 90 && len(handles) > 0:
				h := handles[len(handles)-1-random.IntN(min(20, len(handles)))]
				w.apply(&DeleteMessages{Queue: "q.fifo", Handles: []string{h}})
			case n < 96 && len(handles) > 0:
				h := handles[len(handles)-1-random.IntN(min(20, len(handles)))]
				w.apply(&ChangeMessageVisibility{Queue: "q.fifo",
					Entries: []VisibilityEntry{{Handle: h, VisibilityTimeout: Some(int64(random.IntN(3)))}}})
			case n < 97:
				w.must(&PurgeQueue{Queue: "q.fifo"})
			case n >= 112:
				w.must(&ReleaseGroup{Queue: "q.fifo", Group: group()})
			case n >= 100 && len(handles) > 0:
				h := handles[len(handles)-1-random.IntN(min(4, len(handles)))]
				var s SessionRef
				if n%2 == 0 {
					s = holders[group()]
				}
				switch {
				case n < 104:
					w.apply(&Defer{Queue: "q.fifo", Session: s, Handles: []string{h}})
				case n < 106:
					w.apply(&DeadLetter{Queue: "q.fifo", Session: s, Entries: []DeadLetterEntry{{Handle: h, Reason: "r"}}})
				case n < 108:
					w.apply(&DeleteMessages{Queue: "q.fifo", Handles: []string{h}, Options: &SettlementOptions{Session: s}})
				default:
					q, _ := w.b.queues.Get("q.fifo")
					skip, sequence := random.IntN(1+q.deferred.Len()), uint64(0)
					q.deferred.Scan(func(number uint64, _ *Message) bool {
						skip--
						sequence = number
						return skip >= 0
					})
					if skip < 0 {
						r, err := w.apply(&ReceiveDeferred{Queue: "q.fifo", Session: s,
							Sequences: []SequenceNumber{SequenceNumber(sequence)}, Delete: n == 108})
						if err == nil {
							deferred++
							handles = append(handles, r.(MessagesReceived).Messages[0].Handle.String())
						}
					}
				}
			default:
				w.pass(logtime.Duration(random.IntN(20)) * logtime.Second)
			}
			w.pass(logtime.Duration(random.IntN(300)))
		}
		if received < 60 {
			t.Errorf("seed %d: only %d messages received in sessions", seed, received)
		}
	}
	if deferred < 3 {
		t.Errorf("only %d deferred messages received", deferred)
	}
}

// isLockedNow reports whether a session has an active lock.
func (q *Queue) isLockedNow(group string, now Timestamp) bool {
	r, ok := q.groups.sessions.Get(group)
	return ok && r.Locked(now)
}

// TestSessionOrder: returned messages come before new ones, both in order.
func TestSessionOrder(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	for i := range 40 {
		w.send("q.fifo", "g", fmt.Sprint(i), fmt.Sprint(i))
	}
	s := w.accept("q.fifo", "g", 100)
	var got []ReceivedMessage
	for range 3 {
		got = append(got, w.receiveIn("q.fifo", s, 10)...)
	}
	if len(got) != 30 {
		t.Fatalf("%d messages in flight, want 30", len(got))
	}
	for _, i := range []int{20, 3, 11} {
		w.must(&ChangeMessageVisibility{Queue: "q.fifo",
			Entries: []VisibilityEntry{{Handle: got[i].Handle.String(), VisibilityTimeout: Some(0)}}})
	}
	if again := bodies(w.receiveIn("q.fifo", s, 5)); again != "3 11 20 30 31 " {
		t.Errorf("received %q", again)
	}
	w.must(&ReleaseSession{Queue: "q.fifo", Session: s})
	if all := bodies(w.receive("q.fifo", 10)); all != "0 1 2 3 4 5 6 7 8 9 " {
		t.Errorf("after the release %q", all)
	}
}

// TestSessionEndsInTime: an expired lock has no effect, even before a command removes it.
func TestSessionEndsInTime(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	var all []SessionRef
	for i := range 3 * queueExpiryBudget {
		all = append(all, w.accept("q.fifo", fmt.Sprint("s", i), 10))
	}
	w.send("q.fifo", all[0].SessionID, "1", "m")
	m := w.receiveIn("q.fifo", all[0], 1)[0]
	w.pass(logtime.Seconds(10))
	last := all[len(all)-1]
	for _, cmd := range []Command{
		&RenewSession{Queue: "q.fifo", Session: last}, &ReleaseSession{Queue: "q.fifo", Session: last},
		&ReceiveMessages{Queue: "q.fifo", Options: &ReceiveOptions{Session: last}},
	} {
		if _, err := w.apply(cmd); err == nil || err.Code != refusal.SessionLockLost {
			t.Errorf("%T: %v", cmd, err)
		}
	}
	if _, err := w.apply(&DeleteMessages{Queue: "q.fifo", Handles: []string{m.Handle.String()}}); err == nil {
		t.Error("a message was completed under a lock that is over")
	}
	again := w.accept("q.fifo", last.SessionID, 10)
	if again.Token == last.Token {
		t.Error("two locks have one token")
	}
	for w.b.NextDeadline() != 0 && w.b.NextDeadline() <= w.at {
		w.must(&AdvanceClock{})
	}
	if q, _ := w.b.queues.Get("q.fifo"); q.groups.sessions.Locks() != 1 {
		t.Errorf("%d locks are left", q.groups.sessions.Locks())
	}
	if got := bodies(w.receive("q.fifo", 1)); got != "m " {
		t.Errorf("received %q", got)
	}
}

// TestSessionStateCounts: states count in the size of the queue until cleared.
func TestSessionStateCounts(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	before := w.b.View().StateBytes()
	s := w.accept("q.fifo", "g", 100)
	w.must(&SetSessionState{Queue: "q.fifo", Session: s, State: strings.Repeat("x", 1000), StateGiven: true})
	if with := w.b.View().StateBytes(); with < before+1000 {
		t.Errorf("%d bytes with the state, %d before", with, before)
	}
	w.must(&SetSessionState{Queue: "q.fifo", Session: s})
	w.must(&ReleaseSession{Queue: "q.fifo", Session: s})
	if after := w.b.View().StateBytes(); after != before {
		t.Errorf("%d bytes after, %d before", after, before)
	}
}

func TestSessionTokens(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	w.create("r.fifo")
	s := w.accept("q.fifo", "g", 100)
	foreign := w.accept("r.fifo", "g", 100)
	forged := []byte(s.Token)
	forged[47] = map[bool]byte{true: '1', false: '0'}[forged[47] == '0']
	for name, token := range map[string]string{"of another queue": foreign.Token, "forged": string(forged)} {
		if _, err := w.apply(&RenewSession{Queue: "q.fifo", Session: SessionRef{SessionID: "g", Token: token}}); err == nil ||
			err.Code != refusal.SessionLockLost {
			t.Errorf("a token %s: %v", name, err)
		}
	}
	for _, token := range []string{"", "x", strings.ToUpper(s.Token), s.Token + "00", strings.Repeat("g", 48)} {
		cmd := &RenewSession{Queue: "q.fifo", Session: SessionRef{SessionID: "g", Token: token}}
		if err := cmd.Validate(); err == nil || err.Code != refusal.InvalidParameterValue {
			t.Errorf("token %q: %v", token, err)
		}
	}
	w.b.BeginEpoch("other", BrokerRecord{})
	if _, err := w.apply(&RenewSession{Queue: "q.fifo", Session: s}); err == nil || err.Code != refusal.SessionLockLost {
		t.Errorf("a token of another epoch: %v", err)
	}
	if token, ok := identifier.ParseSessionToken(s.Token); !ok || token.String() != s.Token {
		t.Error("a token changed on the way")
	}
}

func TestRestorerRefusesSessions(t *testing.T) {
	for name, rec := range map[string]SessionRecord{
		"nameless":                {Lock: 1, LockedUntil: 5},
		"lock of the future":      {Name: "a", Lock: 3, LockedUntil: 5},
		"nothing to say":          {Name: "a"},
		"an end without a lock":   {Name: "a", StateGiven: true, LockedUntil: 5},
		"state that is not given": {Name: "a", Lock: 1, State: "x"},
		"delivered the future":    {Name: "a", Lock: 1, Next: 99},
	} {
		b := New()
		b.now, b.nextIncarnation = 10, 1
		r, err := NewRestorer(b.record())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.AddSession(rec); err == nil {
			t.Errorf("%s: without a queue", name)
		}
		attributes := QueueAttributes{FIFO: true}
		if err := r.AddQueue(QueueRecord{Name: "q.fifo", Incarnation: 1, Attributes: attributes, LastLock: 2}); err != nil {
			t.Fatal(err)
		}
		if err := r.AddSession(rec); err == nil {
			t.Errorf("%s: accepted", name)
		}
		good := SessionRecord{Name: "a", Lock: 1, LockedUntil: 5}
		if err := r.AddSession(good); err != nil {
			t.Fatal(err)
		}
		if err := r.AddSession(good); err == nil {
			t.Error("twice")
		}
	}
}

// TestSessionEvents: events wake waiting receives.
func TestSessionEvents(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	s := w.accept("q.fifo", "g", 10)
	emitted := func(kind EventKind) bool {
		found := false
		for _, e := range w.b.TakeEvents(nil) {
			found = found || e.Kind == kind && e.Queue == "q.fifo"
		}
		return found
	}
	w.b.TakeEvents(nil)
	w.send("q.fifo", "g", "1", "m")
	if !emitted(SessionAvailable) {
		t.Error("no SessionAvailable for a message")
	}
	w.receiveIn("q.fifo", s, 1)
	w.b.TakeEvents(nil)
	w.pass(logtime.Seconds(10))
	w.must(&AdvanceClock{})
	if !emitted(MessagesAvailable) {
		t.Error("no MessagesAvailable when the session is free")
	}
	if list, err := w.b.View().Sessions("none", session.Position{}, 1); err == nil || list != nil {
		t.Errorf("sessions of no queue: %v", list)
	}
}

// TestAbandonedComesFirst: abandoned messages come before new ones, also while more timers are due
// than one command fires.
func TestAbandonedComesFirst(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	const others = 4 * queueExpiryBudget
	for i := range others {
		w.send("q.fifo", fmt.Sprint("p", i), fmt.Sprint("p", i), "p")
	}
	for i := range 4 {
		w.send("q.fifo", "s", fmt.Sprint("s", i), fmt.Sprint("m", i))
	}
	s := w.accept("q.fifo", "s", 60)
	for left := others; left > 0; {
		got := w.must(&ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(10), VisibilityTimeout: Some(10)}).(MessagesReceived).Messages
		left -= len(got)
	}
	first := w.receiveIn("q.fifo", s, 1)
	w.pass(logtime.Seconds(10))
	w.must(&ChangeMessageVisibility{Queue: "q.fifo",
		Entries: []VisibilityEntry{{Handle: first[0].Handle.String(), VisibilityTimeout: Some(0)}}})
	if again := bodies(w.receiveIn("q.fifo", s, 10)); again != "m0 m1 m2 m3 " {
		t.Errorf("received %q", again)
	}
}

// TestAbandonedAfterHalfADay: a session may hold a message for longer than any visibility timeout
// and abandon it.
func TestAbandonedAfterHalfADay(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	w.send("q.fifo", "s", "1", "m")
	s := w.accept("q.fifo", "s", limits.VisibilitySecondsMax)
	m := w.receiveIn("q.fifo", s, 1)[0]
	w.pass(logtime.Seconds(limits.VisibilitySecondsMax - 1))
	w.must(&RenewSession{Queue: "q.fifo", Session: s, LockSeconds: Some(60)})
	w.pass(logtime.Seconds(2))
	w.must(&ChangeMessageVisibility{Queue: "q.fifo", Entries: []VisibilityEntry{{Handle: m.Handle.String(), VisibilityTimeout: Some(0)}}})
	if again := bodies(w.receiveIn("q.fifo", s, 1)); again != "m " {
		t.Errorf("received %q", again)
	}
}
