package history

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

var begin = time.UnixMilli(1_700_000_100_000) // a multiple of both steps

func TestValuesKeepFourDigits(t *testing.T) {
	t.Parallel()
	for n := int64(0); n < 4096; n++ {
		if got := encode(n).decode(); got != n {
			t.Fatalf("%d becomes %d", n, got)
		}
	}
	for n := int64(4096); n < numberMax && n > 0; n = n*5/3 + 7 {
		v := encode(n)
		if off := math.Abs(float64(v.decode()-n)) / float64(n); off > 1./4096 || v == missing {
			t.Errorf("%d becomes %d", n, v.decode())
		}
	}
	if v := encode(math.MaxInt64); v == missing || v.decode() != numberMax || encode(-1).decode() != 0 {
		t.Errorf("the limits become %d and %d", v.decode(), encode(-1).decode())
	}
}

func sample(at time.Time, sent uint64, visible int64) *Sample {
	return &Sample{At: at, Node: Measured{CommitP50: 1500, DiskFreeKB: 1 << 20, Requests: 50, RequestP99: -1}, Queues: []Queue{
		{Name: "a", Gauges: Gauges{Visible: visible}, Counters: Counters{Sent: sent}}, {Name: "idle"},
	}}
}

func number(t *testing.T, s Series, name string, i int) float64 {
	t.Helper()
	list := s[name]
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) || list[i] == nil {
		return math.NaN()
	}
	return *list[i]
}

// An hour is kept in short steps and a day in long ones, of which counters are sums and gauges
// peaks.
func TestSeriesOfBothSteps(t *testing.T) {
	t.Parallel()
	h := New()
	for i := range 61 { // two long steps and a sample
		h.Add(sample(begin.Add(time.Duration(i)*Step), uint64(100*i), int64(10+i)))
	}
	now := begin.Add(60 * Step)
	a := h.Since("a", 15*time.Minute, now)
	if len(a.Queue["sent"]) != 90 || number(t, a.Queue, "sent", -1) != 10 || number(t, a.Queue, "visible", -1) != 70 ||
		!math.IsNaN(number(t, a.Queue, "sent", -62)) || number(t, a.Queue, "sent", -61) != 0 {
		t.Errorf("short steps: %v", a)
	}
	a = h.Since("", 6*time.Hour, now)
	if len(a.Queue["sent"]) != 72 || number(t, a.Queue, "sent", -2) != 10 || number(t, a.Queue, "visible", -2) != 69 ||
		number(t, a.Queue, "sent", -3) != 2900./300 || number(t, a.Node, "requests", -2) != 5 ||
		number(t, a.Node, "commitP50Ms", -2) != 1.5 || !math.IsNaN(number(t, a.Node, "requestP99Ms", -2)) ||
		number(t, a.Node, "diskFreeBytes", -1) != 1<<30 {
		t.Errorf("long steps: %v sent, %v visible, %v requests", number(t, a.Queue, "sent", -2), number(t, a.Queue, "visible", -2),
			number(t, a.Node, "requests", -2))
	}
	if a := h.Since("idle", time.Hour, now); a.Queue != nil {
		t.Error("an idle queue has series")
	}
	rates, known := h.Rates()
	if !known || rates["a"][Sent] != 10 || len(rates) != 1 {
		t.Errorf("rates %v, %t", rates, known)
	}
}

// Steps without samples are missing, also after a round of the ring and after the clock was set
// back.
func TestGapsAndClocks(t *testing.T) {
	t.Parallel()
	h := New()
	h.Add(sample(begin, 0, 1))
	h.Add(sample(begin.Add(3*Step), 30, 4))
	a := h.Since("a", time.Minute, begin.Add(4*Step)).Queue
	if number(t, a, "visible", -1) != 4 || !math.IsNaN(number(t, a, "visible", -2)) || number(t, a, "visible", -4) != 1 {
		t.Errorf("after a gap: %v", a)
	}
	h.Add(sample(begin.Add(Step), 40, 9))
	if a = h.Since("a", time.Minute, begin.Add(2*Step)).Queue; number(t, a, "visible", -1) != 9 || number(t, a, "visible", -2) != 1 {
		t.Errorf("after the clock was set back: %v", a)
	}
	later := begin.Add(2 * time.Hour)
	h.Add(sample(later, 50, 5))
	a = h.Since("a", time.Hour, later).Queue
	if number(t, a, "visible", -1) != 5 || !math.IsNaN(number(t, a, "visible", 0)) || !math.IsNaN(number(t, a, "visible", -2)) {
		t.Errorf("after two hours: %v", a)
	}
	a = h.Since("a", time.Hour, later.Add(3*time.Hour)).Queue
	if !math.IsNaN(number(t, a, "visible", -1)) {
		t.Errorf("without samples: %v", a)
	}
}

// The queues in use most recently have series.
func TestIdleQueuesMakeRoom(t *testing.T) {
	t.Parallel()
	h := New()
	fill := func(i int, names ...string) {
		s := &Sample{At: begin.Add(time.Duration(i) * Step)}
		for _, name := range names {
			s.Queues = append(s.Queues, Queue{Name: name, Gauges: Gauges{Visible: 1}})
		}
		h.Add(s)
	}
	var names []string
	for i := range queuesMax {
		names = append(names, fmt.Sprint(i))
	}
	fill(0, names...)
	fill(1, append(names[1:], "late")...) // 0 was in use one step ago
	fill(3, append(names[1:], "new")...)
	if len(h.queues) != queuesMax || h.queues["0"] != nil || h.queues["new"] == nil || h.queues["1"] == nil {
		t.Errorf("%d queues, the new one: %v", len(h.queues), h.queues["new"] != nil)
	}
}

// A file has all series. A damaged, cut or old one is refused and changes nothing.
func TestFiles(t *testing.T) {
	t.Parallel()
	h := New()
	for i := range 5 {
		h.Add(sample(begin.Add(time.Duration(i)*Step), uint64(100*i), int64(i)))
	}
	now := begin.Add(5 * Step)
	var file bytes.Buffer
	if err := h.Write(&file, now); err != nil {
		t.Fatal(err)
	}
	read := New()
	if err := read.Read(bytes.NewReader(file.Bytes()), now.Add(59*time.Minute)); err != nil {
		t.Fatal(err)
	}
	want, got := h.Since("a", time.Hour, now), read.Since("a", time.Hour, now)
	if fmt.Sprint(number(t, want.Queue, "sent", -1), len(want.Queue)) != fmt.Sprint(number(t, got.Queue, "sent", -1), len(got.Queue)) ||
		number(t, got.Queue, "visible", -1) != 4 {
		t.Errorf("read %v", got)
	}
	read.Add(sample(now, 7, 8)) // the first one of the new process has no events
	if a := read.Since("a", time.Hour, now); number(t, a.Queue, "sent", -1) != 0 || number(t, a.Queue, "visible", -1) != 8 {
		t.Errorf("after a restart: %v", a)
	}
	if err := New().Read(bytes.NewReader(file.Bytes()), now.Add(61*time.Minute)); !errors.Is(err, ErrOld) {
		t.Errorf("an old file: %v", err)
	}
	for at := 0; at < file.Len(); at += 1 + file.Len()/64 {
		bad := bytes.Clone(file.Bytes())
		bad[at] ^= 0x40
		for _, content := range [][]byte{bad, bad[:at]} {
			if err := read.Read(bytes.NewReader(content), now); err == nil {
				t.Errorf("a file damaged at %d is accepted", at)
			}
		}
	}
	if a := read.Since("a", time.Hour, now); number(t, a.Queue, "visible", -1) != 8 {
		t.Error("a damaged file changed the series")
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	one, two := New(), New()
	for i := range 4 {
		one.Add(sample(begin.Add(time.Duration(i)*Step), uint64(100*i), 5))
		two.Add(sample(begin.Add(time.Duration(i)*Step), uint64(300*i), 5))
	}
	now := begin.Add(3 * Step)
	merged := Merge([]Answer{one.Since("a", time.Minute, now), two.Since("a", time.Minute, now.Add(Step))})
	if number(t, merged, "sent", -1) != 40 || number(t, merged, "visible", -1) != 5 || len(merged["sent"]) != 6 {
		t.Errorf("merged %v", merged)
	}
	if merged := Merge([]Answer{one.Since("none", time.Minute, now)}); merged != nil {
		t.Errorf("a queue without series has %v", merged)
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	b := Buckets{Bounds: []float64{.001, .01, .1}, UpTo: []uint64{100, 190, 199, 200}}
	before := Buckets{Bounds: b.Bounds, UpTo: []uint64{100, 100, 100, 100}}
	if got := b.Quantiles(&before, .5, .99, .995); got[0] != 6000 || got[1] != 100_000 || got[2] != 100_000 {
		t.Errorf("quantiles %v", got)
	}
	if got := b.Quantiles(&b, .5); got[0] != -1 || b.Count(&before) != 100 {
		t.Errorf("without observations: %v; %d", got, b.Count(&before))
	}
}

// BenchmarkAdd samples 10,000 queues, of which 1,000 are in use.
func BenchmarkAdd(b *testing.B) {
	h, s := New(), &Sample{}
	for i := range 10_000 {
		s.Queues = append(s.Queues, Queue{Name: fmt.Sprintf("queue-%05d", i)})
	}
	for i := 0; b.Loop(); i++ {
		s.At = begin.Add(time.Duration(i) * Step)
		for j := range 1000 {
			s.Queues[10*j].Counters[Sent] += 100
			s.Queues[10*j].Gauges.Visible = int64(i)
		}
		h.Add(s)
	}
}

func TestDepths(t *testing.T) {
	h := New()
	at := time.UnixMilli(1_700_000_000_000)
	for i, n := range []int64{3, 5, 9} {
		h.Add(sample(at.Add(time.Duration(i)*2*Step), uint64(i), n)) // every second step is missing
	}
	if got := h.Depths("a", 5); !slices.Equal(got, []int64{3, -1, 5, -1, 9}) {
		t.Errorf("got %v", got)
	}
	if got := h.Depths("a", 1<<20); len(got) != fineSlots || got[0] != -1 || got[len(got)-1] != 9 {
		t.Errorf("got %d steps, from %d to %d", len(got), got[0], got[len(got)-1])
	}
	if got := h.Depths("unknown", 5); got != nil {
		t.Errorf("a queue without series has %v", got)
	}
}
