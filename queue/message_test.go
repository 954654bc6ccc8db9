package queue

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/invariant"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
)

// The size returns to its old value when all messages are deleted. CheckInvariants compares it with
// the sum over all records in every other test.
func TestStateBytes(t *testing.T) {
	w := newWorld(t)
	size := func() int64 { return w.b.View().StateBytes() }
	empty := size()
	w.must(&CreateQueue{Queue: "q.fifo", Attributes: []Attribute{{Name: "FifoQueue", Value: "true"}}})
	created := size()
	if created <= empty {
		t.Errorf("a queue takes %d bytes", created-empty)
	}
	const messages, body = 10, 1000
	for i := range messages {
		w.must(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
			Body: strings.Repeat("x", body), GroupID: "g", GroupIDGiven: true,
			DeduplicationID: fmt.Sprint(i), DeduplicationIDGiven: true,
		}}})
	}
	sent := size()
	if least := int64(messages * (body + deduplicationOverhead)); sent-created < least || sent-created > 2*least {
		t.Errorf("%d messages of %d bytes take %d", messages, body, sent-created)
	}
	received := w.must(&ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(1)}).(MessagesReceived)
	inFlight := size()
	w.must(&DeleteMessages{Queue: "q.fifo", Handles: []string{received.Messages[0].Handle.String()}})
	if deleted := size(); inFlight-deleted < body {
		t.Errorf("a delete frees %d bytes", inFlight-deleted)
	}
	w.must(&PurgeQueue{Queue: "q.fifo"})
	if purged := size(); purged != created {
		t.Errorf("after a purge %d bytes, an empty queue had %d", purged, created)
	}
	w.must(&DeleteQueue{Queue: "q.fifo"})
	if gone := size(); gone != empty {
		t.Errorf("after all %d bytes, at first %d", gone, empty)
	}
}

// The tests below keep data of one message in keptEvery and delete its neighbours. A packed page
// has 64 messages, or 4 with the tag invariants. Shared memory would keep all bodies alive in the
// first case, and half of them in the second.
const (
	keptEvery  = 8
	parted     = 64 * 200 // messages: three times the number of unpacked ones
	partedSize = 4 << 10
)

// parting returns a queue with that many messages, each in its own group.
func parting(t *testing.T, attributes ...Attribute) *filler {
	t.Helper()
	f := newFiller(t, append(attributes, Attribute{Name: "DeduplicationEnabled", Value: "false"})...)
	f.body = strings.Repeat("x", partedSize)
	f.b.unchecked = math.MinInt // other tests check this in less time
	for f.n < parted {
		f.sendWith(t, nil)
	}
	return f
}

// sendWith sends a message that begins a group.
func (f *filler) sendWith(t *testing.T, options *SendOptions) {
	t.Helper()
	e := f.entry(parted)
	e.Options, e.TraceHeader = options, fmt.Sprintf("Root=1-%08x-000000000000000000000000", f.n)
	f.must(t, &SendMessages{Queue: "q.fifo", SenderID: "000000000000", Entries: []SendEntry{e}})
}

// completeAll receives all messages, applies a command to one in keptEvery and deletes the others.
func (f *filler) completeAll(t *testing.T, complete func(handle string) Command) {
	t.Helper()
	for left := parted; left > 0; left-- {
		m := f.must(t, &ReceiveMessages{Queue: "q.fifo"}).(MessagesReceived).Messages[0]
		handle := m.Handle.String()
		var cmd Command = &DeleteMessages{Queue: "q.fifo", Handles: []string{handle}}
		if left%keptEvery == 0 {
			cmd = complete(handle)
		}
		f.must(t, cmd)
	}
}

// wantFreed fails if more memory was allocated since before than the kept bodies and records need.
func (f *filler) wantFreed(t *testing.T, before uint64, bodies int) {
	t.Helper()
	const beside = 1 << 10
	grown := int64(heap()) - int64(before)
	if most := int64(bodies*partedSize + parted/keptEvery*beside + 4<<20); grown > most {
		t.Errorf("%d KiB stay in memory, want at most %d", grown>>10, most>>10)
	}
	runtime.KeepAlive(f)
}

// A session name outlives the message that provided it.
func TestSessionKeepsNoMessages(t *testing.T) {
	before := heap()
	f := parting(t)
	for left := parted; left > 0; left-- {
		lock := f.must(t, &AcceptSession{Queue: "q.fifo"}).(SessionLocked)
		s := SessionRef{SessionID: lock.SessionID, Token: lock.Token.String()}
		f.must(t, &ReceiveMessages{Queue: "q.fifo", Options: &ReceiveOptions{Session: s, Delete: true}})
		if left%keptEvery == 0 {
			f.must(t, &SetSessionState{Queue: "q.fifo", Session: s, State: "x", StateGiven: true})
		}
		f.must(t, &ReleaseSession{Queue: "q.fifo", Session: s})
	}
	f.wantFreed(t, before, 0)
}

// A dead-lettered message outlives the messages sent with it.
func TestDeadLetterKeepsNoOthers(t *testing.T) {
	before := heap()
	f := parting(t, Attribute{Name: "ImplicitDeadLetterQueue", Value: "true"})
	f.completeAll(t, func(handle string) Command {
		return &DeadLetter{Queue: "q.fifo", Entries: []DeadLetterEntry{{Handle: handle, Reason: "unwanted"}}}
	})
	f.wantFreed(t, before, parted/keptEvery)
}

// A deferred message and a due scheduled one outlive the messages sent with them.
func TestDeferredMessageKeepsNoOthers(t *testing.T) {
	if invariant.CheckEveryCommand {
		t.Skip("only messages in pages that are not packed can share the memory of others, here too few to be measured")
	}
	t.Run("deferred", func(t *testing.T) {
		before := heap()
		f := parting(t)
		f.completeAll(t, func(handle string) Command { return &Defer{Queue: "q.fifo", Handles: []string{handle}} })
		f.wantFreed(t, before, parted/keptEvery)
	})
	t.Run("scheduled", func(t *testing.T) {
		before := heap()
		f := newFiller(t, Attribute{Name: "DeduplicationEnabled", Value: "false"})
		f.body = strings.Repeat("x", partedSize)
		soon := f.at.Add(logtime.Hour)
		for f.n < parted {
			at := soon.Add(logtime.Hour)
			if f.n%keptEvery == 0 {
				at = soon
			}
			f.sendWith(t, &SendOptions{EnqueueAt: at})
		}
		for f.at = soon; f.b.NextDeadline() <= soon; {
			f.must(t, &AdvanceClock{})
		}
		for number := range SequenceNumber(parted) {
			if number%keptEvery != 0 {
				f.must(t, &CancelScheduled{Queue: "q.fifo", Sequences: []SequenceNumber{number + 1}})
			}
		}
		if st, _ := f.b.View().Stats("q.fifo"); st.Visible != parted/keptEvery {
			t.Fatalf("%+v", st)
		}
		f.wantFreed(t, before, parted/keptEvery)
	})
}

// forgetful is a Store that forgets a body without messages at once.
type forgetful struct {
	elsewhere
	texts map[message.Place]string
	holds map[message.Place]int
}

func (s *forgetful) Append(text string, digest uint64) Body {
	body := s.elsewhere.Append(text, digest)
	s.texts[body.Place()] = text
	return body
}

func (s *forgetful) Hold(b Body) { s.holds[b.Place()]++ }

func (s *forgetful) Free(b Body) { s.holds[b.Place()]-- }

func (s *forgetful) Require(b Body) (Body, error) {
	if s.holds[b.Place()] < 1 {
		return Body{}, errors.New("the body was freed")
	}
	return message.NewBody(s.texts[b.Place()]), nil
}

// A body is read before its message releases it.
func TestBodiesAreReadBeforeTheyAreFreed(t *testing.T) {
	stored := func(attributes ...Attribute) *world {
		w := newWorld(t)
		w.b.UseStore(&forgetful{texts: map[message.Place]string{}, holds: map[message.Place]int{}})
		w.create("dlq.fifo", attributes...)
		w.create("q.fifo", append(attributes, redrive("dlq.fifo", "1"))...)
		return w
	}
	contentBased := Attribute{Name: "ContentBasedDeduplication", Value: "true"}
	t.Run("cancelled", func(t *testing.T) {
		w := stored(contentBased)
		e := SendEntry{Body: "m", GroupID: "g", GroupIDGiven: true, Options: &SendOptions{EnqueueAt: w.at.Add(logtime.Hour)}}
		send := &SendMessages{Queue: "q.fifo", Entries: []SendEntry{e}}
		sent := w.must(send).(MessagesSent).Entries[0]
		cancel := &CancelScheduled{Queue: "q.fifo", Sequences: []SequenceNumber{sent.Sequence}, ForgetDeduplicationID: true}
		if err := w.must(cancel).(EntriesDone).Errs[0]; err != nil {
			t.Fatal(err)
		}
		if again := w.must(send).(MessagesSent).Entries[0]; again.Duplicate {
			t.Error("a cancelled message is remembered")
		}
	})
	t.Run("moved", func(t *testing.T) {
		w := stored(contentBased, Attribute{Name: "ContentDeduplicationMode", Value: "IdAndContent"})
		w.send("q.fifo", "g", "id", "m")
		w.must(&ReceiveMessages{Queue: "q.fifo", VisibilityTimeout: Some(0)})
		w.receive("q.fifo", 1)
		task := w.must(&StartMoveTask{Source: "dlq.fifo", Destination: "q.fifo"}).(MoveTaskStarted).TaskID
		if moved := w.must(&MoveMessages{TaskID: task, Max: 10}).(MessagesMoved); moved.Moved != 1 {
			t.Errorf("%+v", moved)
		}
	})
}
