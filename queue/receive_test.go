package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// script runs one-letter steps on a FIFO queue with VisibilityTimeout 30, for the AWS cases
// recorded in sqs.md 4:
//
//	s:g1-m1      send body g1-m1 to group g1
//	r3=a,b       receive with max 3, expect a and b
//	z3=a,b       receive with max 3 and VisibilityTimeout 0
//	d:a          delete a with its newest handle
//	v:a=60       change the visibility timeout of a
//	t31          31 seconds pass
type script struct {
	*world
	handles map[string]string
	queue   string
}

func (s *script) run(steps string) {
	s.t.Helper()
	for step := range strings.FieldsSeq(steps) {
		s.step(step)
	}
}

func (s *script) step(step string) {
	s.t.Helper()
	verb, rest := step[0], strings.TrimPrefix(step[1:], ":")
	name, value, _ := strings.Cut(rest, "=")
	switch verb {
	case 's':
		group, _, _ := strings.Cut(name, "-")
		s.send(s.queue, group, name, name)
	case 'r', 'z':
		c := &ReceiveMessages{Queue: s.queue, MaxMessages: Some(atoi(name))}
		if verb == 'z' {
			c.VisibilityTimeout = Some(0)
		}
		got := s.must(c).(MessagesReceived).Messages
		if have := strings.ReplaceAll(strings.TrimSpace(bodies(got)), " ", ","); have != value {
			s.t.Fatalf("step %s received %q", step, have)
		}
		for _, m := range got {
			s.handles[m.Body.String()] = m.Handle.String()
		}
	case 'd':
		s.must(&DeleteMessages{Queue: s.queue, Handles: []string{s.handles[name]}})
	case 'v':
		s.must(&ChangeMessageVisibility{Queue: s.queue, Entries: []VisibilityEntry{{s.handles[name], Some(atoi(value))}}})
	case 't':
		s.pass(logtime.Seconds(atoi(name)))
	default:
		s.t.Fatalf("unknown step %s", step)
	}
}

func atoi(text string) (n int64) {
	for _, digit := range text {
		n = n*10 + int64(digit-'0')
	}
	return n
}

func newScript(t *testing.T, attributes ...Attribute) *script {
	s := &script{world: newWorld(t), handles: map[string]string{}, queue: "q.fifo"}
	s.create("q.fifo", attributes...)
	return s
}

func TestFIFOReceive(t *testing.T) {
	for _, c := range []struct{ name, steps string }{
		{
			"several messages of one group in one answer",
			"s:a-1 s:b-1 s:a-2 s:a-3 r9=a-1,a-2,a-3,b-1",
		},
		{
			"in flight blocks what comes after it",
			"s:a-1 s:a-2 r1=a-1 r9= s:a-3 r9=",
		},
		{
			"other groups go on",
			"s:a-1 s:a-2 s:b-1 r1=a-1 r1=b-1",
		},
		{
			"deleting the blocker frees the rest at once",
			"s:a-1 s:a-2 s:a-3 r1=a-1 d:a-1 r9=a-2,a-3",
		},
		{
			"the second of two in flight still blocks after the first is deleted",
			"s:a-1 s:a-2 s:a-3 r2=a-1,a-2 d:a-1 r9=",
		},
		{
			"extended first: nothing is receivable",
			"s:a-1 s:a-2 s:a-3 r3=a-1,a-2,a-3 v:a-1=90 t31 r9=",
		},
		{
			"extended second: only the first",
			"s:a-1 s:a-2 s:a-3 r3=a-1,a-2,a-3 v:a-2=90 t31 r9=a-1",
		},
		{
			"extended third: first and second",
			"s:a-1 s:a-2 s:a-3 r3=a-1,a-2,a-3 v:a-3=90 t31 r9=a-1,a-2",
		},
		{
			"visibility of the first set to zero makes it alone receivable",
			"s:a-1 s:a-2 s:a-3 r2=a-1,a-2 v:a-1=0 r9=a-1",
		},
		{
			"after expiry the same messages in the original order",
			"s:a-1 s:a-2 s:a-3 r9=a-1,a-2,a-3 t30 r9=a-1,a-2,a-3",
		},
		{
			"a group emptied by deletes works as new",
			"s:a-1 r9=a-1 d:a-1 r9= s:a-2 r9=a-2",
		},
		{
			"groups by the time of becoming available, timeout zero",
			"s:g1-m1 t1 s:g2-m1 t1 s:g2-m2 t1 s:g3-m1 t1 s:g1-m2 t1 z3=g1-m1,g1-m2,g2-m1 t1 r9=g3-m1,g1-m1,g1-m2,g2-m1,g2-m2",
		},
		{
			"groups by the time of becoming available, deletes",
			"s:g1-m1 s:g2-m1 s:g1-m2 s:g2-m2 s:g1-m3 s:g1-m4 s:g3-m1 r2=g1-m1,g1-m2 d:g1-m1 d:g1-m2 r9=g2-m1,g2-m2,g1-m3,g1-m4,g3-m1",
		},
		{
			"a returned message queues behind one that waited longer",
			"s:g1-m1 s:g1-m2 s:g2-m1 r2=g1-m1,g1-m2 t1 v:g1-m1=0 r3=g2-m1,g1-m1",
		},
		{
			"delete order does not matter for what remains",
			"s:a-1 s:a-2 s:a-3 r3=a-1,a-2,a-3 d:a-2 t30 r9=a-1,a-3",
		},
	} {
		t.Run(c.name, func(t *testing.T) { newScript(t).run(c.steps) })
	}
}

func TestOneMessagePerGroupPerReceive(t *testing.T) {
	s := newScript(t, Attribute{Name: "MaxMessagesPerGroupPerReceive", Value: "1"})
	s.run("s:a-1 s:a-2 s:b-1 s:b-2 r9=a-1,b-1 r9= d:a-1 r9=a-2")
}

func TestGroupOptional(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "MessageGroupIdMode", Value: "Optional"})
	for _, id := range []string{"1", "2", "3"} {
		w.send("q.fifo", "", id, id)
	}
	if got := bodies(w.receive("q.fifo", 1)) + bodies(w.receive("q.fifo", 2)); got != "1 2 3 " {
		t.Fatalf("received %q: messages without a group must not block each other", got)
	}
}

// A message without a group returns to its old place.
func TestRedeliveryWithoutAGroup(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "MessageGroupIdMode", Value: "Optional"})
	for _, name := range []string{"1", "2", "3"} {
		w.send("q.fifo", "", name, name)
		w.pass(1)
	}
	w.lookAt("q.fifo", 1)
	w.pass(1)
	if got := bodies(w.lookAt("q.fifo", 3)); got != "1 2 3 " {
		t.Errorf("received %s after the first was abandoned", got)
	}
	w.receive("q.fifo", 2)
	w.send("q.fifo", "", "4", "4")
	w.pass(logtime.Seconds(30))
	if got := bodies(w.receive("q.fifo", 4)); got != "1 2 3 4 " {
		t.Errorf("received %s after two locks ended", got)
	}
}

func TestQueueDelayOfFIFOIsRetroactive(t *testing.T) {
	s := newScript(t, Attribute{Name: "DelaySeconds", Value: "10"})
	s.run("s:a-1 t5 s:c-2 r9=")
	if st, _ := s.b.View().Stats("q.fifo"); st.Delayed != 2 || st.Visible != 0 {
		t.Fatalf("stats %+v", st)
	}
	s.run("t5 r9=a-1 t5 r9=c-2")
	s.run("s:b-1 r9=")
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: "DelaySeconds", Value: "0"}}})
	s.run("r9=b-1 s:b-2")
	s.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: "DelaySeconds", Value: "60"}}})
	if st, _ := s.b.View().Stats("q.fifo"); st.Delayed != 1 || st.NotVisible != 3 {
		t.Fatalf("stats after raising the delay %+v", st)
	}
}

func TestStandardQueue(t *testing.T) {
	w := newWorld(t)
	w.create("q")
	one := func(body string, delay Int) {
		w.must(&SendMessages{Queue: "q", Entries: []SendEntry{{Body: body, DelaySeconds: delay}}})
	}
	one("a", Int{})
	one("b", Some(5))
	one("c", Int{})
	if got := bodies(w.receive("q", 10)); got != "a c " {
		t.Fatalf("received %q", got)
	}
	w.pass(5 * logtime.Second)
	if got := bodies(w.receive("q", 10)); got != "b " {
		t.Fatalf("after the delay %q", got)
	}
	w.pass(25 * logtime.Second)
	got := w.receive("q", 10)
	if bodies(got) != "a c " || got[0].ReceiveCount != 2 || got[0].Sequence != 0 {
		t.Fatalf("after expiry %q, count %d", bodies(got), got[0].ReceiveCount)
	}
	w.pass(31 * logtime.Second)
	w.must(&DeleteMessages{Queue: "q", Handles: []string{got[0].Handle.String()}}) // expired, still deletes
	if got := bodies(w.receive("q", 10)); got != "b c " {
		t.Fatalf("after the delete %q", got)
	}
}

func TestInFlightLimit(t *testing.T) {
	for _, name := range []string{"q", "q.fifo"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(name)
			for n := 0; n <= limits.InFlightMax; n += limits.BatchEntriesMax {
				c := &SendMessages{Queue: name, Batch: true}
				for i := range limits.BatchEntriesMax {
					e := SendEntry{Body: "x"}
					if isFIFOName(name) {
						e.GroupID, e.DeduplicationID = SequenceNumber(n+i).String(), SequenceNumber(n+i).String()
						e.GroupIDGiven, e.DeduplicationIDGiven = true, true
					}
					c.Entries = append(c.Entries, e)
				}
				w.b.Apply(w.at, c)
				w.b.Apply(w.at, &ReceiveMessages{Queue: name, MaxMessages: Some(limits.ReceiveMessagesMax)})
			}
			if st, _ := w.b.View().Stats(name); st.NotVisible != limits.InFlightMax || st.Visible == 0 {
				t.Fatalf("stats %+v", st)
			}
			if got := w.receive(name, 10); len(got) != 0 {
				t.Fatalf("long poll at the limit received %d", len(got))
			}
			_, err := w.b.Apply(w.at, &ReceiveMessages{Queue: name, ShortPoll: true})
			if over := err != nil && err.Code == refusal.OverLimit; over == isFIFOName(name) || over != w.b.View().OverLimit(name) {
				t.Fatalf("short poll at the limit: %v", err)
			}
			if w.b.View().Deliverable(name) {
				t.Fatal("deliverable at the limit: long polls would spin")
			}
		})
	}
}

func TestRetention(t *testing.T) {
	s := newScript(t, Attribute{Name: "MessageRetentionPeriod", Value: "60"})
	s.run("s:a-1 t30 s:a-2 r1=a-1 t30 r9=a-2 t60 r9=")
	if st, _ := s.b.View().Stats("q.fifo"); st.Visible+st.NotVisible != 0 {
		t.Fatalf("stats %+v", st)
	}
	if got := s.b.StateHash(); got != s.b.ComputeStateHash() {
		t.Fatal("state hash went wrong")
	}
}
