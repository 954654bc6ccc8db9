package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func TestHistogram(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var first, second histogram
	var all []time.Duration
	for i := range 20_000 {
		d := time.Duration(random.ExpFloat64() * float64(3*time.Millisecond))
		all = append(all, d)
		if i%3 == 0 {
			first.record(d)
		} else {
			second.record(d)
		}
	}
	first.add(&second)
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(int(q*float64(len(all))+0.5), 1)-1]
		if got := first.quantile(q); got < want || got-want > want/linear+1 {
			t.Errorf("quantile %v: %v, want %v and at most 1/64 more", q, got, want)
		}
	}
	for i := 1; i < buckets; i++ {
		if end := bucketEnd(i - 1); bucketOf(end) != i-1 || bucketOf(end+1) != i {
			t.Fatalf("bucket %d ends at %d, which is in %d, and the next in %d", i-1, end, bucketOf(end), bucketOf(end+1))
		}
	}
	for _, d := range []time.Duration{-1, 0, 1 << 62} {
		if i := bucketOf(d); i < 0 || i >= buckets {
			t.Errorf("%d is in bucket %d", d, i)
		}
	}
}

// TestGroupsHaveOneSender: the order of a group is known only if one client sends to it.
func TestGroupsHaveOneSender(t *testing.T) {
	t.Parallel()
	for _, groups := range []int{3, 4, 7, 100} {
		r := &run{Load: Load{Clients: 3, Groups: groups}}
		owner := map[int64]int{}
		for number := range 3 {
			w := &worker{run: r, number: number, senders: 3}
			for n := range int64(100) {
				g := w.groupOf(n)
				if other, taken := owner[g]; g < 0 || g >= int64(groups) || taken && other != number {
					t.Fatalf("%d groups: client %d uses %d of client %d", groups, number, g, other)
				}
				owner[g] = number
			}
		}
		if len(owner) != groups {
			t.Errorf("%d of %d groups used", len(owner), groups)
		}
	}
}

// TestRate: the calls of all clients together have the rate, and a late call counts from its due
// time, but not from before the measurement.
func TestRate(t *testing.T) {
	t.Parallel()
	r := &run{Load: Load{Clients: 2, Batch: 10, Rate: 100}, started: time.Now()}
	for _, c := range []struct {
		number int
		n      int64
		want   time.Duration
	}{{0, 0, 0}, {1, 0, 100 * time.Millisecond}, {0, 10, 200 * time.Millisecond}, {1, 10, 300 * time.Millisecond}} {
		w := &worker{run: r, number: c.number}
		if got := w.due(c.n).Sub(r.started); got != c.want {
			t.Errorf("message %d of client %d is due after %v, want %v", c.n, c.number, got, c.want)
		}
	}
	now := time.Now()
	r = &run{Load: Load{Clients: 1, Batch: 1, Rate: 10}, started: now.Add(-time.Minute), warmEnd: now.Add(-30 * time.Second),
		deadline: now.Add(time.Hour)}
	w := &worker{run: r}
	for n, want := range map[int64]time.Time{500: r.started.Add(50 * time.Second), 100: r.warmEnd} {
		if got := w.awaitTurn(t.Context(), n); !got.Equal(want) {
			t.Errorf("message %d counts from %v after the start, want %v", n, got.Sub(r.started), want.Sub(r.started))
		}
	}
	if got := w.awaitTurn(t.Context(), 601); got.Before(w.due(601)) {
		t.Errorf("a message that is not late counts from %v before it was due", w.due(601).Sub(got))
	}
}

func count(t *testing.T, report *Report, name string) Check {
	t.Helper()
	i := slices.IndexFunc(report.Checks, func(c Check) bool { return strings.HasPrefix(c.Name, name) })
	if i < 0 {
		t.Fatalf("no check %q in %+v", name, report.Checks)
	}
	return report.Checks[i]
}

// TestBrokenGuarantees: the checks find each broken guarantee in an order of receives and
// confirmations.
func TestBrokenGuarantees(t *testing.T) {
	t.Parallel()
	r, _ := fakeRun(t, map[string]string{"GetQueueAttributes": attributes(0, 0)})
	for _, c := range []struct {
		name   string
		events string // r3: number 3 is received, d3: its deletion is confirmed
		want   map[string]int64
	}{
		{"as it should be", "r1 d1 r2 r3 d2 d3", nil},
		{"confirmations overtake each other", "r1 r2 d2 d1 r3 d3", nil},
		{"redelivered", "r1 r1 d1 d1 r2 d2 r3 d3", map[string]int64{"redelivered": 1}},
		{"out of order", "r1 d1 r3 d3 r2 d2", map[string]int64{"out of order": 1, "received after": 1, "lost": 1}},
		{"lost", "r1 d1 r2 d2", map[string]int64{"lost": 1}},
		{"resurrected", "r1 d1 r2 d2 r1 d1 r3 d3", map[string]int64{"received after": 1}},
	} {
		l := newLives(r).(*lives)
		l.sent.Store(3)
		for event := range strings.FieldsSeq(c.events) {
			one, ok := r.parse("0 " + event[1:] + " 0 x")
			switch {
			case !ok:
				t.Fatal(event)
			case event[0] == 'r':
				l.arrived("0 "+event[1:]+" 0 x", time.Now())
			default:
				l.ended(one)
			}
		}
		report := &Report{}
		if err := l.finish(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		for _, check := range report.Checks {
			want := int64(0)
			for name, n := range c.want {
				if strings.HasPrefix(check.Name, name) {
					want = n
				}
			}
			if check.Name != "messages sent" && check.Count != want {
				t.Errorf("%s: %s: %d, want %d", c.name, check.Name, check.Count, want)
			}
		}
	}
}

// TestLostOrLeft: messages that the queue still has are not lost, and clients whose calls failed may
// leave some.
func TestLostOrLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deleted, held, lost, left int64
		failed                    bool
	}{{10, 0, 0, 0, false}, {7, 0, 3, 0, false}, {7, 3, 0, 3, true}, {7, 3, 0, 3, false}, {7, 2, 1, 2, true}, {7, 9, 0, 3, true}} {
		r, _ := fakeRun(t, map[string]string{"GetQueueAttributes": attributes(0, c.held)})
		l, report := newLives(r).(*lives), &Report{Messages: 1, Errors: map[string]int64{}}
		if c.failed {
			report.Errors["Timeout"] = 1
		}
		l.sent.Store(10)
		l.deleted.Store(c.deleted)
		if err := l.finish(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		lost, left := count(t, report, "lost"), count(t, report, "left")
		if lost.Count != c.lost || !lost.MustBeZero || left.Count != c.left || left.MustBeZero == c.failed {
			t.Errorf("%+v: %+v, %+v", c, lost, left)
		}
	}
}

// TestRepeatedIDs: an answer to a repeat has the first message id, any other answer a new one, and
// the queue has one message for each id.
func TestRepeatedIDs(t *testing.T) {
	t.Parallel()
	s := &sends{}
	history := s.compare(nil, []string{"a", "b"}, []*earlier{nil, nil}, 0)
	history = s.compare(history, []string{"a", "c"}, []*earlier{&history[0], nil}, 2)
	if s.accepted.Load() != 0 || s.dropped.Load() != 0 || s.fresh.Load() != 3 || s.repeated.Load() != 1 {
		t.Fatalf("right answers: %d accepted again, %d dropped", s.accepted.Load(), s.dropped.Load())
	}
	s.compare(history, []string{"b", "d", "d"}, []*earlier{&history[0], nil, nil}, 3)
	if s.accepted.Load() != 1 || s.dropped.Load() != 1 {
		t.Errorf("wrong answers: %d accepted again, want 1; %d dropped, want 1", s.accepted.Load(), s.dropped.Load())
	}
	r, _ := fakeRun(t, map[string]string{"GetQueueAttributes": attributes(12, 0)})
	r.Repeat = 50
	for _, c := range []struct{ fresh, before, unknown, broken int64 }{
		{12, 0, 0, 0}, {11, 0, 0, 1}, {13, 0, 0, -1}, {10, 0, 2, 0}, {10, 0, 5, 0}, {10, 0, 1, 1}, {13, 0, 2, -1}, {7, 5, 0, 0},
		{6, 5, 0, 1},
	} {
		s, report := &sends{run: r, before: c.before}, &Report{}
		s.fresh.Store(c.fresh)
		s.unknown.Store(c.unknown)
		if err := s.finish(t.Context(), report); err != nil {
			t.Fatal(err)
		}
		if got := count(t, report, "messages in the queue more"); got.Count != c.broken || !got.MustBeZero {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	good, bad, none := &Report{Messages: 1}, &Report{Messages: 1}, &Report{}
	good.check("counted", 5, false)
	good.check("lost", 0, true)
	bad.check("lost", 1, true)
	for want, report := range map[exit.Code]*Report{exit.OK: good, exit.Failed: bad, exit.Unavailable: none} {
		if got := exit.CodeOf(report.verdict()); got != want {
			t.Errorf("exit code %d, want %d", got, want)
		}
	}
}

// TestOutageAtTheEnd: the rate counts the time at the end in which no node answers.
func TestOutageAtTheEnd(t *testing.T) {
	t.Parallel()
	r, _ := fakeRun(t, nil)
	r.warmEnd = time.Now().Add(-time.Minute)
	r.deadline = r.warmEnd.Add(10 * time.Second)
	r.workers = []*worker{{done: 100, last: r.warmEnd.Add(2 * time.Second)}}
	if report := r.report(t.Context(), 0); report.MeasuredSeconds != 10 || report.MessagesPerSecond != 10 {
		t.Errorf("100 messages in 10 s, of which 8 s without an answer, are %v/s in %v s", report.MessagesPerSecond, report.MeasuredSeconds)
	}
	r.Count = 100 // which ends it earlier
	if report := r.report(t.Context(), 0); report.MeasuredSeconds != 2 {
		t.Errorf("a run of 100 messages took %v s, want 2", report.MeasuredSeconds)
	}
}

// TestForeignMessages: the run keeps messages of others in an existing queue. In its own queue they
// are a broken guarantee.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 10} {
		r, calls := fakeRun(t, map[string]string{ // a deletion would fail the test
			"ReceiveMessage": `{"Messages":[{"ReceiptHandle":"h","Body":"precious"}]}`,
		})
		r.Batch, r.deadline = batch, time.Now().Add(time.Minute)
		w, err := r.newWorker(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		l := newLives(r).(*lives)
		if n, err := l.consume(t.Context(), w, batch); n != 0 || err != nil || l.foreign.Load() != 1 {
			t.Errorf("%d taken, %d foreign, %v", n, l.foreign.Load(), err)
		}
		p := &polls{run: r, polling: t.Context()}
		p.wait(w)
		w.close()
		if seen := calls(); len(seen) != 2 {
			t.Errorf("calls %v", seen)
		}
		for existing, want := range map[bool]exit.Code{true: exit.OK, false: exit.Failed} {
			report := &Report{Messages: 1}
			if r.Existing = existing; l.finish(t.Context(), report) != nil || exit.CodeOf(report.verdict()) != want {
				t.Errorf("existing %v: %v, want exit code %d", existing, report.verdict(), want)
			}
		}
	}
}

// TestInterruptedWhileFilling checks that an interrupted run reports the interruption and deletes
// its queue.
func TestInterruptedWhileFilling(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r, calls := fakeRun(t, map[string]string{"CreateQueue": `{"QueueUrl":"http://h/1/q.fifo"}`, "DeleteQueue": `{}`,
		"SendMessageBatch": "interrupt"})
	interrupted = interrupt
	load := Load{Workload: &Workloads[2], Protocol: HTTP, Clients: 1, Batch: 1, Groups: 1, Size: 10, Count: 100, Duration: time.Minute}
	_, err := Run(ctx, r.target, load)
	if exit.CodeOf(err) != exit.Interrupted || !slices.Contains(calls(), "DeleteQueue") {
		t.Errorf("exit code %d after %v: %v", exit.CodeOf(err), calls(), err)
	}
}

var interrupted func() // by a call whose answer is interrupt

// attributes are those of a queue with messages.
func attributes(visible, inFlight int64) string {
	text, _ := json.Marshal(map[string]map[string]string{"Attributes": {
		"ApproximateNumberOfMessages": fmt.Sprint(visible), "ApproximateNumberOfMessagesNotVisible": fmt.Sprint(inFlight),
		"ApproximateNumberOfMessagesDelayed": "0",
	}})
	return string(text)
}

// fakeRun is a run against a server with fixed answers. A call without one does not find the queue.
func fakeRun(t *testing.T, answers map[string]string) (r *run, calls func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // a failure shows at the other end
		action := strings.TrimPrefix(q.Header.Get("X-Amz-Target"), "AmazonSQS.")
		mu.Lock()
		seen = append(seen, action)
		mu.Unlock()
		switch answer := answers[action]; answer {
		case "interrupt":
			interrupted()
			<-q.Context().Done()
		case "empty":
		case "":
			if action != "GetQueueUrl" {
				t.Errorf("a call of %s", action)
			}
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no"}`)
		default:
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	target := Target{
		Addresses: []string{strings.TrimPrefix(server.URL, "http://")}, Timeout: time.Minute,
		Status: func(context.Context) (Status, error) { return Status{}, nil },
	}
	r = &run{Load: Load{Workload: &Workloads[1], Protocol: HTTP, Clients: 1, Batch: 1, Groups: 1, Size: 10}, target: target,
		admin: newSQSCaller(target, 0), started: time.Now()}
	t.Cleanup(r.admin.close)
	return r, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}
