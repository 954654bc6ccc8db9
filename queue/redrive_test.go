package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

const redriveTo = `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:`

func redrive(target, receives string) Attribute {
	return Attribute{Name: "RedrivePolicy", Value: redriveTo + target + `","maxReceiveCount":` + receives + `}`}
}

func TestDeadLetterOnReceive(t *testing.T) {
	s := newScript(t)
	s.create("dlq.fifo")
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{redrive("dlq.fifo", "2")}})
	s.run("s:a-1 s:a-2 z1=a-1 z1=a-1")
	id := s.b.View()
	before, _ := id.Peek("q.fifo", 0, "", 1)
	s.run("r1=a-2") // a-1 moves, and the receive continues with the next message of the group
	got := s.receive("dlq.fifo", 10)
	if bodies(got) != "a-1 " {
		t.Fatalf("dead-letter queue has %q", bodies(got))
	}
	m := got[0]
	if m.MessageID != before[0].MessageID || m.GroupID != "a" || m.ReceiveCount != 3 ||
		m.DeadLetterSource != "q.fifo" || m.DeduplicationID != m.MessageID.String() {
		t.Fatalf("moved message %+v", m)
	}
	s.must(&DeleteQueue{Queue: "dlq.fifo"})
	s.run("t31 z1=a-2 z1=a-2 z1=a-2 z1=a-2") // without a dead-letter queue the message stays and is delivered
}

func TestDeadLetterKeepsDeduplicationID(t *testing.T) {
	s := newScript(t, Attribute{Name: "DeadLetterKeepsDeduplicationId", Value: "true"})
	s.create("dlq.fifo")
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{redrive("dlq.fifo", "1")}})
	s.send("dlq.fifo", "x", "a-1", "same id, not affected")
	s.run("s:a-1 z1=a-1 r1=")
	if got := s.receive("dlq.fifo", 10); len(got) != 2 || got[1].DeduplicationID != "a-1" {
		t.Fatalf("received %q", bodies(got))
	}
}

func TestStandardDeadLetterKeepsAge(t *testing.T) {
	w := newWorld(t)
	w.create("dlq", Attribute{Name: "MessageRetentionPeriod", Value: "60"})
	w.create("q", redrive("dlq", "1"))
	w.send("q", "", "", "old")
	w.pass(50 * logtime.Second)
	w.send("dlq", "", "", "young")
	w.must(&ReceiveMessages{Queue: "q", VisibilityTimeout: Some(0)})
	w.receive("q", 1)
	if st, _ := w.b.View().Stats("dlq"); st.Visible != 2 {
		t.Fatalf("stats %+v", st)
	}
	w.pass(11 * logtime.Second)
	if got := bodies(w.receive("dlq", 10)); got != "young " {
		t.Fatalf("received %q: retention counts from the first send", got)
	}
}

func TestImplicitDeadLetterQueue(t *testing.T) {
	s := newScript(t, Attribute{Name: "ImplicitDeadLetterQueue", Value: "true"})
	s.run("s:a-1")
	for range implicitReceiveCount {
		s.run("z1=a-1")
	}
	s.run("r1=")
	if got := bodies(s.receive("q-dlq.fifo", 1)); got != "a-1 " {
		t.Fatalf("received %q", got)
	}
	if sources, _ := s.b.View().DeadLetterSources("q-dlq.fifo", "", 10); len(sources) != 1 || sources[0] != "q.fifo" {
		t.Fatalf("sources %v", sources)
	}
}

func TestMoveTask(t *testing.T) {
	s := newScript(t)
	s.create("dlq.fifo")
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{redrive("dlq.fifo", "1")}})
	s.run("s:a-1 s:a-2 s:b-1 z9=a-1,a-2,b-1 r9= t301")
	id := s.must(&StartMoveTask{Source: "dlq.fifo"}).(MoveTaskStarted).TaskID
	if err := s.refusal(&StartMoveTask{Source: "dlq.fifo"}); err.Code != refusal.InvalidParameterValue {
		t.Fatalf("second task: %v", err)
	}
	if got := s.must(&MoveMessages{TaskID: id, Max: 2}); got != (MessagesMoved{Moved: 2, Running: true}) {
		t.Fatalf("first step %+v", got)
	}
	if got := s.must(&MoveMessages{TaskID: id, Max: 2}); got != (MessagesMoved{Moved: 1}) {
		t.Fatalf("second step %+v", got)
	}
	tasks, _ := s.b.View().MoveTasks("dlq.fifo", 10)
	if len(tasks) != 1 || tasks[0].Status != MoveTaskCompleted || tasks[0].Moved != 3 || tasks[0].ToMove != 3 {
		t.Fatalf("tasks %+v", tasks)
	}
	got := s.receive("q.fifo", 9)
	if bodies(got) != "a-1 a-2 b-1 " || got[0].ReceiveCount != 1 || got[0].DeadLetterSource != "" {
		t.Fatalf("back in the source: %q, %+v", bodies(got), got[0])
	}
	if err := s.refusal(&CancelMoveTask{TaskID: id, Source: "dlq.fifo"}); err.Message != "Only active tasks can be cancelled." {
		t.Fatalf("cancel of an ended task: %v", err)
	}
}

func TestMoveTaskFailsWithoutDestination(t *testing.T) {
	s := newScript(t)
	s.create("dlq.fifo")
	s.create("to.fifo")
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{redrive("dlq.fifo", "1")}})
	s.send("dlq.fifo", "g", "d", "x")
	id := s.must(&StartMoveTask{Source: "dlq.fifo", Destination: "to.fifo"}).(MoveTaskStarted).TaskID
	s.must(&DeleteQueue{Queue: "to.fifo"})
	s.must(&MoveMessages{TaskID: id, Max: 10})
	tasks, _ := s.b.View().MoveTasks("dlq.fifo", 10)
	if tasks[0].Status != MoveTaskFailed || tasks[0].FailureReason != reasonNoQueue {
		t.Fatalf("tasks %+v", tasks)
	}
	if st, _ := s.b.View().Stats("dlq.fifo"); st.Visible != 1 {
		t.Fatalf("stats %+v: a failed move must not lose the message", st)
	}
}

func (s *script) wantPeeked(group string, from SequenceNumber, limit int, want string) {
	s.t.Helper()
	peeked, err := s.b.View().Peek("q.fifo", from, group, limit)
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, p := range peeked {
		got = append(got, p.Body.String()+":"+p.State)
	}
	if strings.Join(got, " ") != want {
		s.t.Errorf("peeked %q, want %q", got, want)
	}
}

func TestPeekByGroupNeedsFIFO(t *testing.T) {
	s := newScript(t)
	s.create("jobs")
	if _, err := s.b.View().Peek("jobs", 0, "g", 1); err == nil || err.Code != refusal.InvalidParameterValue {
		t.Errorf("got %v", err)
	}
	if _, err := s.b.View().Peek("jobs", 0, "", 1); err != nil {
		t.Error(err)
	}
}

func TestScheduledMessages(t *testing.T) {
	s := newScript(t, Attribute{Name: "ReservedAttributesEnabled", Value: "true"})
	send := func(body string, at Timestamp) SentEntry {
		e := SendEntry{
			Body: body, GroupID: "a", GroupIDGiven: true, DeduplicationID: body, DeduplicationIDGiven: true,
			Attributes: []MessageAttribute{{Name: "seriatim.ScheduledEnqueueTime", DataType: "Number",
				Value: Int{Value: int64(at)}.text()}},
		}
		return s.must(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{e}}).(MessagesSent).Entries[0]
	}
	due := s.at.Add(5 * logtime.Second)
	first := send("a-s1", due)
	send("a-s2", due)
	send("a-past", s.at-1)
	if !send("a-s1", due).Duplicate || !s.send("q.fifo", "a", "a-s1", "x").Duplicate {
		t.Fatal("a scheduled message takes part in deduplication")
	}
	if st, _ := s.b.View().Stats("q.fifo"); st.Delayed != 2 || st.Visible != 1 {
		t.Fatalf("stats %+v", st)
	}
	s.wantPeeked("", 0, 9, "a-s1:scheduled a-s2:scheduled a-past:visible")
	s.wantPeeked("a", 0, 2, "a-s1:scheduled a-s2:scheduled")
	s.wantPeeked("", first.Sequence+1, 1, "a-s2:scheduled")
	s.wantPeeked("b", 0, 9, "")
	if p, _ := s.b.View().Peek("q.fifo", 0, "", 1); p[0].MessageID != first.MessageID || p[0].VisibleAt != due {
		t.Fatalf("peeked %+v", p)
	}
	s.run("s:a-1 r9=a-past,a-1 d:a-past d:a-1 r9= t5")
	got := s.receive("q.fifo", 9)
	if bodies(got) != "a-s1 a-s2 " || got[0].MessageID != first.MessageID || got[0].Sequence <= first.Sequence || got[0].SentAt != due {
		t.Fatalf("received %q, first %+v", bodies(got), got[0])
	}
	s.wantPeeked("a", 0, 9, "a-s1:in flight a-s2:in flight")
}

// With DeadLetterKeepsDeduplicationId, a message that is moved back inside the window meets the
// record of its own send. It must not be dropped, even at a second move with another id.
func TestMovedBackIsNeverDropped(t *testing.T) {
	s := newScript(t, Attribute{Name: "DeadLetterKeepsDeduplicationId", Value: "true"})
	s.create("dlq.fifo")
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{redrive("dlq.fifo", "1")}})
	s.run("s:a-1")
	first, _ := s.b.View().Peek("q.fifo", 0, "", 1)
	for range 2 {
		s.run("z1=a-1 r1=")
		s.must(&MoveMessages{TaskID: s.must(&StartMoveTask{Source: "dlq.fifo"}).(MoveTaskStarted).TaskID, Max: 10})
	}
	s.run("r1=a-1")
	if again := s.send("q.fifo", "a", "a-1", "a-1"); !again.Duplicate || again.MessageID != first[0].MessageID {
		t.Fatalf("a late retry of the send was answered %+v", again)
	}
}

func TestRedrivePolicyIsCheckedAgain(t *testing.T) {
	w := newWorld(t)
	w.create("dlq")
	w.create("q", redrive("dlq", "1"))
	w.must(&DeleteQueue{Queue: "dlq"})
	err := w.refusal(&SetQueueAttributes{Queue: "q", Attributes: []Attribute{redrive("dlq", "1")}})
	if err.Code != refusal.InvalidParameterValue {
		t.Fatalf("a policy naming a deleted queue: %v", err)
	}
	w.must(&SetQueueAttributes{Queue: "q", Attributes: []Attribute{{Name: "DelaySeconds", Value: "1"}}})
}
