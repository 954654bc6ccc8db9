package client

import (
	"context"
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

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/httpwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func TestHistogram(t *testing.T) {
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
		if got := first.quantile(q); got < want || got-want > want/benchLinear+1 {
			t.Errorf("quantile %v: %v, want %v and at most 1/64 more", q, got, want)
		}
	}
	if first.longest != all[len(all)-1] || first.total != uint64(len(all)) {
		t.Errorf("longest %v of %d", first.longest, first.total)
	}
}

func TestHistogramBuckets(t *testing.T) {
	for i := 1; i < benchBuckets; i++ {
		if end := bucketEnd(i - 1); bucketOf(end) != i-1 || bucketOf(end+1) != i {
			t.Fatalf("bucket %d ends at %d, which is in %d, and the next in %d", i-1, end, bucketOf(end), bucketOf(end+1))
		}
	}
	for _, d := range []time.Duration{-1, 0, 1 << 62} {
		if i := bucketOf(d); i < 0 || i >= benchBuckets {
			t.Errorf("%d is in bucket %d", d, i)
		}
	}
}

func TestTextValues(t *testing.T) {
	cases := []struct {
		name   string
		answer string
		want   []string
	}{
		{"nothing", ``, nil},
		{"one", `{"MessageId":"a","Other":"b"}`, []string{"a"}},
		{"spaces", "{ \"MessageId\" :\n \"a\" , \"MessageId\":\t\"b\"}", []string{"a", "b"}},
		{"in a list", `{"Successful":[{"Id":"0","MessageId":"a"},{"MessageId":"b","N":1}]}`, []string{"a", "b"}},
		{"as a value", `{"Body":"MessageId","MessageId":"a"}`, []string{"a"}},
		{"inside a text", `{"Body":"\"MessageId\":\"x\"","MessageId":"a"}`, []string{"a"}},
		{"behind a backslash", `{"Body":"\\","MessageId":"a"}`, []string{"a"}},
		{"no text", `{"MessageId":null,"x":{"MessageId":"a"}}`, []string{"a"}},
		{"longer name", `{"MessageIdentifier":"x"}`, nil},
		{"cut", `{"MessageId":"a`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, v := range httpwire.TextValues(nil, []byte(c.answer), "MessageId") {
				got = append(got, string(v))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBenchGroups makes sure that no group has two senders if there are enough.
func TestBenchGroups(t *testing.T) {
	for _, groups := range []int{3, 4, 7, 100} {
		run := &benchRun{flags: benchFlags{clients: 3, groups: groups}}
		owner := map[int64]int{}
		for number := range 3 {
			c := &benchClient{run: run, number: number}
			for n := range int64(100) {
				g := c.groupOf(n)
				if g < 0 || g >= int64(groups) {
					t.Fatalf("%d groups: client %d uses %d", groups, number, g)
				}
				if other, taken := owner[g]; taken && other != number {
					t.Fatalf("%d groups: clients %d and %d share %d", groups, other, number, g)
				}
				owner[g] = number
			}
		}
		if len(owner) != groups {
			t.Errorf("%d of %d groups used", len(owner), groups)
		}
	}
}

// TestFIFOChecks shows that each broken guarantee is noticed.
func TestFIFOChecks(t *testing.T) {
	cases := []struct {
		name   string
		events string // r3: number 3 received, d3: its deletion confirmed
		want   map[string]int64
	}{
		{"as it should be", "r1 d1 r2 r3 d2 d3", nil},
		{"confirmations overtake each other", "r1 r2 d2 d1 r3 d3", nil},
		{"redelivered", "r1 r1 d1 d1 r2 d2 r3 d3", map[string]int64{"redelivered": 1}},
		{"out of order", "r1 d1 r3 d3 r2 d2", map[string]int64{"out of order": 1, "received after": 1, "lost": 1}},
		{"lost", "r1 d1 r2 d2", map[string]int64{"lost": 1}},
		{"resurrected", "r1 d1 r2 d2 r1 d1 r3 d3", map[string]int64{"received after": 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := &benchRun{flags: benchFlags{clients: 1, groups: 1, batch: 1}}
			client := &benchClient{run: run}
			load := newFIFOLoad(run).(*fifoLoad)
			load.sent.Store(3)
			for event := range strings.FieldsSeq(c.events) {
				life, ok := load.parse(run, event[1:])
				switch {
				case !ok:
					t.Fatal(event)
				case event[0] == 'r':
					load.arrived(run, []byte("0 "+event[1:]+" 0 x"))
				default:
					load.ended(client, []fifoLife{life})
				}
			}
			report := &benchReport{}
			if err := load.finish(t.Context(), run, report); err != nil {
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
					t.Errorf("%s: %d, want %d", check.Name, check.Count, want)
				}
			}
		})
	}
}

// parse makes the life of one number of group 0.
func (f *fifoLoad) parse(r *benchRun, number string) (fifoLife, bool) {
	return parseFIFOBody(r, []byte("0 "+number+" 0 x"))
}

func TestDedupChecks(t *testing.T) {
	text := func(ids ...string) (list [][]byte) {
		for _, id := range ids {
			list = append(list, []byte(id))
		}
		return list
	}
	d, own := &dedupLoad{}, &dedupClient{}
	d.compare(own, text("a", "b"), []*dedupSent{nil, nil}, 0)
	d.compare(own, text("a", "c"), []*dedupSent{&own.history[0], nil}, 2)
	if d.accepted.Load() != 0 || d.dropped.Load() != 0 || d.fresh.Load() != 3 || d.repeated.Load() != 1 {
		t.Fatalf("right answers: %d accepted again, %d dropped", d.accepted.Load(), d.dropped.Load())
	}
	d.compare(own, text("b", "d", "d"), []*dedupSent{&own.history[0], nil, nil}, 3)
	if d.accepted.Load() != 1 || d.dropped.Load() != 1 {
		t.Errorf("wrong answers: %d accepted again, want 1; %d dropped, want 1", d.accepted.Load(), d.dropped.Load())
	}
}

// TestFIFOAccuses: what clients whose node stayed away could not receive is not lost as long as the
// queue has it.
func TestFIFOAccuses(t *testing.T) {
	for _, test := range []struct{ deleted, stranded, held, lost int64 }{
		{10, 0, 0, 0}, {7, 0, 3, 3}, {7, 3, 3, 0}, {7, 3, 2, 1}, {7, 2, 9, 1}, {7, 9, 9, 0}, {10, 3, 0, 0},
	} {
		endpoint, _ := fakeServer(t, map[string]string{"GetQueueAttributes": fmt.Sprintf(
			`{"Attributes":{"ApproximateNumberOfMessages":"%d","ApproximateNumberOfMessagesNotVisible":"1","ApproximateNumberOfMessagesDelayed":"0"}}`, test.held-1)})
		r := &benchRun{wire: &wire{client: &port{addresses: []string{endpoint}}, timeout: time.Second, http: &http.Client{}}}
		f, report := &fifoLoad{}, &benchReport{}
		f.sent.Store(10)
		f.deleted.Store(test.deleted)
		f.stranded.Store(test.stranded)
		if err := f.finish(t.Context(), r, report); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(report.Checks, func(c benchCheck) bool { return strings.HasPrefix(c.Name, "lost") })
		if got := report.Checks[i]; got.Count != test.lost || !got.MustBeZero {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

// TestFIFOStranded: a client whose node is gone says how many messages it could not receive.
func TestFIFOStranded(t *testing.T) {
	gone := false
	address, _ := node(t, func(w http.ResponseWriter, _ *http.Request) {
		if gone {
			panic(http.ErrAbortHandler)
		}
		gone = true
		_, _ = io.WriteString(w, `{"MessageId":"m"}`)
	})
	now := time.Now()
	r := &benchRun{
		flags: benchFlags{clients: 1, batch: 1, groups: 1, size: 64}, id: "r", targets: []string{strings.TrimPrefix(address, "http://")}, wire: &wire{},
		timeout: time.Second, started: now, deadline: now.Add(200 * time.Millisecond), filler: fillerText(64),
	}
	f := newFIFOLoad(r).(*fifoLoad)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	f.work(ctx, newBenchClient(r, 0))
	if f.sent.Load() != 1 || f.stranded.Load() != 1 {
		t.Errorf("sent %d, of which %d could not be received", f.sent.Load(), f.stranded.Load())
	}
}

// TestBenchLeavesWhatIsNotItsOwn: in a queue that existed there may be messages that somebody needs.
func TestBenchLeavesWhatIsNotItsOwn(t *testing.T) {
	for _, batch := range []int{1, 10} {
		endpoint, calls := fakeServer(t, map[string]string{ // a deletion would fail the test
			"ReceiveMessage": `{"Messages":[{"ReceiptHandle":"h","Body":"precious"}]}`,
		})
		now := time.Now()
		r := &benchRun{
			flags: benchFlags{clients: 1, batch: batch, groups: 1}, targets: []string{strings.TrimPrefix(endpoint, "http://")}, wire: &wire{},
			timeout: time.Second, started: now, deadline: now.Add(time.Minute), prefix: []byte(`{"QueueUrl":"q",`),
		}
		f, c, lives := newFIFOLoad(r).(*fifoLoad), newBenchClient(r, 0), []fifoLife{}
		if n, err := f.take(t.Context(), c, batch, &lives); n != 0 || err != nil || f.foreign.Load() != 1 {
			t.Errorf("%d taken, %d foreign, %v", n, f.foreign.Load(), err)
		}
		p := &pollLoad{}
		p.probes, p.stop = context.WithCancel(t.Context())
		p.wait(c)
		p.stop()
		if seen := calls(); len(seen) != 2 {
			t.Errorf("calls %+v", seen)
		}
	}
}

// TestDedupAccuses: of a message too many or too few, and not of those that were there before or
// whose sends were not answered.
func TestDedupAccuses(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]string{"GetQueueAttributes": `{"Attributes":{"ApproximateNumberOfMessages":"12"}}`})
	w := &wire{client: &port{addresses: []string{endpoint}}, timeout: time.Second, http: &http.Client{}}
	for _, test := range []struct{ fresh, before, unanswered, broken int64 }{
		{12, 0, 0, 0}, {11, 0, 0, 1}, {13, 0, 0, -1}, {10, 0, 2, 0}, {10, 0, 5, 0}, {10, 0, 1, 1}, {13, 0, 2, -1}, {7, 5, 0, 0}, {6, 5, 0, 1},
	} {
		d := &dedupLoad{before: test.before}
		d.fresh.Store(test.fresh)
		d.unanswered.Store(test.unanswered)
		report := &benchReport{Messages: 1}
		if err := d.finish(t.Context(), &benchRun{wire: w}, report); err != nil {
			t.Fatal(err)
		}
		got := report.Checks[len(report.Checks)-1]
		if got.Count != test.broken || !got.MustBeZero {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

func TestBenchVerdict(t *testing.T) {
	good, bad, none := &benchReport{Messages: 1}, &benchReport{Messages: 1}, &benchReport{}
	good.check("counted", 5, false)
	good.check("lost", 0, true)
	bad.check("lost", 1, true)
	for want, report := range map[exit.Code]*benchReport{exit.OK: good, exit.Failed: bad, exit.Unavailable: none} {
		if got := exit.CodeOf(report.verdict()); got != want {
			t.Errorf("exit code %d, want %d", got, want)
		}
	}
}

// TestBenchRate makes sure that the calls of all clients together have the rate.
func TestBenchRate(t *testing.T) {
	run := &benchRun{flags: benchFlags{clients: 2, batch: 10, rate: 100}, started: time.Now()}
	for _, c := range []struct {
		number int
		n      int64
		want   time.Duration
	}{{0, 0, 0}, {1, 0, 100 * time.Millisecond}, {0, 10, 200 * time.Millisecond}, {1, 10, 300 * time.Millisecond}} {
		client := &benchClient{run: run, number: c.number}
		if got := client.due(c.n).Sub(run.started); got != c.want {
			t.Errorf("message %d of client %d is due after %v, want %v", c.n, c.number, got, c.want)
		}
	}
}

// TestBenchRateLate: a call that had to wait for the one before is as late as it is: with a rate
// the latency counts from when it was due, but not from before the measurement.
func TestBenchRateLate(t *testing.T) {
	now := time.Now()
	run := &benchRun{flags: benchFlags{clients: 1, batch: 1, rate: 10}, started: now.Add(-time.Minute), warmEnd: now.Add(-30 * time.Second), deadline: now.Add(time.Hour)}
	c := &benchClient{run: run}
	for n, want := range map[int64]time.Time{500: run.started.Add(50 * time.Second), 100: run.warmEnd} {
		if got := c.awaitTurn(t.Context(), n); !got.Equal(want) {
			t.Errorf("message %d counts from %v after the start, want %v", n, got.Sub(run.started), want.Sub(run.started))
		}
	}
	if got := c.awaitTurn(t.Context(), 601); got.Before(c.due(601)) {
		t.Errorf("a message that is not late counts from %v before it was due", c.due(601).Sub(got))
	}
	run.flags.rate = 0
	if got := c.awaitTurn(t.Context(), 0); got.Before(now) {
		t.Error("without a rate a call is due when it is made")
	}
}

// TestBenchAccount: the queue of a run is in the account that was named, for calls of the native
// API as well.
func TestBenchAccount(t *testing.T) {
	for path, want := range map[string][]string{"/": nil, "/111111111111/": {"111111111111"}} {
		c := newBenchClient(&benchRun{targets: []string{"127.0.0.1:1"}, wire: &wire{path: path}}, 0)
		if got := c.signature("/seriatim.v1.Queues/Send")["Seriatim-Account"]; !slices.Equal(got, want) {
			t.Errorf("%s: the header names %v, want %v", path, got, want)
		}
	}
}

// TestBenchOutageAtTheEnd: the time in which nothing was answered any more is part of the run, and
// the rate is not that of the time before.
func TestBenchOutageAtTheEnd(t *testing.T) {
	address, _ := node(t, says(200, `{}`))
	warmEnd := time.Now().Add(-time.Minute)
	run := &benchRun{
		flags: benchFlags{clients: 1, batch: 1}, targets: []string{"127.0.0.1:1"}, warmEnd: warmEnd, deadline: warmEnd.Add(10 * time.Second),
		wire: &wire{admin: &port{addresses: []string{address}}, timeout: time.Second, http: &http.Client{}, ownTokens: new(sync.Map)},
	}
	c := &benchClient{run: run, last: warmEnd.Add(2 * time.Second)}
	c.done.Store(100)
	run.clients = []*benchClient{c}
	if r := run.report(t.Context(), "send"); r.MeasuredSeconds != 10 || r.MessagesPerSecond != 10 {
		t.Errorf("100 messages in 10 s, of which 8 s without an answer, are %v/s in %v s", r.MessagesPerSecond, r.MeasuredSeconds)
	}
	run.flags.count = 100 // which ends it earlier
	if r := run.report(t.Context(), "send"); r.MeasuredSeconds != 2 {
		t.Errorf("a run of 100 messages took %v s, want 2", r.MeasuredSeconds)
	}
}

func TestBenchUsage(t *testing.T) {
	for _, args := range []string{
		"send --clients 0", "send --batch 11", "send --size 0", "send --batch 10 --size 200000", "send --count -1",
		"send --rate -1", "send --duration 0s", "send --duration 25h", "send --warmup -1s", "send --groups -1", "send --queue standard",
		"send --endpoint https://127.0.0.1:1 --protocol grpc", "send --endpoint 127.0.0.1", "fifo --clients 4 --groups 3", "fifo --connections 4", "send --connections 4 --protocol stream", "send --clients 4 --protocol grpc --connections 5", "send --protocol grpc --connections -1", "dedup --connections 4", "consume --clients 4 --groups 3", "consume --protocol grpc",
		"send --protocol udp", "send --protocol grpc --batch 11", "send --protocol stream --batch 101", "dedup --repeat 101", "dedup --duration 5m", "poll --interval 0s", "poll --batch 2",
	} {
		endpoint := "http://127.0.0.1:1"
		fields := strings.Fields(args)
		if i := slices.Index(fields, "--endpoint"); i >= 0 {
			endpoint, fields = fields[i+1], slices.Delete(fields, i, i+2)
		}
		got := runTool(t, endpoint, "", append([]string{"bench"}, fields...)...)
		if code := exit.CodeOf(got.err); code != exit.Usage {
			t.Errorf("bench %s: exit code %d: %v", args, code, got.err)
		}
	}
}

// TestBenchAmongOthers: what others sent to a queue that existed breaks no guarantee; in a queue of
// the run it does.
func TestBenchAmongOthers(t *testing.T) {
	for existing, want := range map[bool]exit.Code{true: exit.OK, false: exit.Failed} {
		f, report := &fifoLoad{}, &benchReport{Messages: 1}
		f.foreign.Store(3)
		if err := f.finish(t.Context(), &benchRun{flags: benchFlags{existing: existing}}, report); err != nil {
			t.Fatal(err)
		}
		if code := exit.CodeOf(report.verdict()); code != want {
			t.Errorf("existing %v: exit code %d, want %d", existing, code, want)
		}
	}
}

// TestBenchInterruptedWhileFilling: who ends a run before it is measured reads that, and the queue goes.
func TestBenchInterruptedWhileFilling(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	deleted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.") {
		case "GetQueueUrl":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no"}`) // a failure shows at the other end
		case "CreateQueue":
			_, _ = io.WriteString(w, `{"QueueUrl":"http://h/1/q.fifo"}`)
		case "DeleteQueue":
			deleted = true
		default: // the first byte of a stream
			interrupt()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	r := runToolIn(ctx, server.URL, "", "bench", "consume", "--clients", "1", "--timeout", "2s")
	if exit.CodeOf(r.err) != exit.Interrupted || !deleted {
		t.Errorf("exit code %d, deleted %v: %v", exit.CodeOf(r.err), deleted, r.err)
	}
}
