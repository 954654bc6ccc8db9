package queue

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/rules"
)

const benchBody = 256

// filler generates distinct sends: 256-byte bodies, 36-character deduplication ids.
type filler struct {
	b    *Broker
	at   Timestamp
	n    int
	body string
}

func newFiller(tb testing.TB, attributes ...Attribute) *filler {
	tb.Helper()
	f := &filler{b: New(), at: 1_000_000, body: strings.Repeat("x", benchBody)}
	f.must(tb, &SetClusterSetting{SettingReceiptKey, "000102030405060708090a0b0c0d0e0f"})
	f.must(tb, &CreateQueue{Queue: "q.fifo", Attributes: append(attributes, Attribute{Name: "FifoQueue", Value: "true"})})
	return f
}

func (f *filler) must(tb testing.TB, c Command) Result {
	r, err := f.b.Apply(f.at, c)
	if err != nil {
		tb.Fatal(err)
	}
	f.b.scratch.events = f.b.scratch.events[:0]
	return r
}

// entry copies the strings, as decoding a log entry does.
func (f *filler) entry(groups int) SendEntry {
	f.n++
	id := strconv.Itoa(f.n)
	return SendEntry{
		Body:                 strings.Clone(f.body),
		GroupID:              "customer-" + strconv.Itoa(f.n%groups),
		GroupIDGiven:         true,
		DeduplicationID:      strings.Repeat("0", 36-len(id)) + id,
		DeduplicationIDGiven: true,
	}
}

func (f *filler) send(tb testing.TB, groups int) {
	f.must(tb, &SendMessages{Queue: "q.fifo", SenderID: "000000000000", Entries: []SendEntry{f.entry(groups)}})
}

// BenchmarkCycle sends, receives and deletes a message, with a window of 300,000 ids.
func BenchmarkCycle(b *testing.B) {
	f := newFiller(b)
	for f.n < 300_000 {
		f.send(b, 1000)
		f.cycle(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.at++
		f.send(b, 1000)
		f.cycle(b)
	}
}

func (f *filler) cycle(tb testing.TB) {
	got := f.must(tb, &ReceiveMessages{Queue: "q.fifo"}).(MessagesReceived).Messages
	f.must(tb, &DeleteMessages{Queue: "q.fifo", Handles: []string{got[0].Handle.String()}})
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemoryPerMessage stores one million messages with forgotten ids, so that only messages
// count.
func BenchmarkMemoryPerMessage(b *testing.B) {
	for b.Loop() {
		before := heap()
		f := newFiller(b, Attribute{Name: "DeduplicationEnabled", Value: "false"})
		for f.n < 1_000_000 {
			f.at++
			f.send(b, 1000)
		}
		b.ReportMetric(float64(heap()-before)/float64(f.n)-benchBody, "B/message")
		runtime.KeepAlive(f)
	}
}

// elsewhere is a Store that keeps bodies outside of memory.
type elsewhere struct {
	message.Memory
	offset uint32
}

func (*elsewhere) Keeps(int) bool { return true }

func (e *elsewhere) Append(text string, digest uint64) Body {
	e.offset += uint32(16 + len(text))
	return message.StoredBody(message.Place{Segment: 1 + e.offset>>26, Offset: e.offset}, uint32(len(text)), digest)
}

// BenchmarkMemoryPerBody measures a message with its body, in memory and in a store, to choose the
// size from which bodies go into files.
func BenchmarkMemoryPerBody(b *testing.B) {
	for _, size := range []int{32, 64, 128, 256, 512, 1024} {
		for name, store := range map[string]message.Store{"memory": message.Memory{}, "store": &elsewhere{}} {
			b.Run(fmt.Sprint(size, "/", name), func(b *testing.B) {
				for b.Loop() {
					before := heap()
					f := newFiller(b, Attribute{Name: "DeduplicationEnabled", Value: "false"})
					f.b.UseStore(store)
					f.body = strings.Repeat("x", size)
					for f.n < 200_000 {
						f.at++
						f.send(b, 1000)
					}
					b.ReportMetric(float64(heap()-before)/float64(f.n), "B/message")
					runtime.KeepAlive(f)
				}
			})
		}
	}
}

// BenchmarkMemoryPerDeduplicationID remembers the ids of one million deleted messages.
func BenchmarkMemoryPerDeduplicationID(b *testing.B) {
	for b.Loop() {
		before := heap()
		f := newFiller(b, Attribute{Name: "DeduplicationWindowSeconds", Value: "604800"})
		for f.n < 1_000_000 {
			f.at++
			f.send(b, 1000)
			f.cycle(b)
		}
		b.ReportMetric(float64(heap()-before)/float64(f.n), "B/id")
		runtime.KeepAlive(f)
	}
}

// BenchmarkFreeze measures Freeze at one million messages, and the first change after it.
func BenchmarkFreeze(b *testing.B) {
	f := newFiller(b)
	for f.n < 1_000_000 {
		f.send(b, 1000)
	}
	for b.Loop() {
		frozen := f.b.Freeze()
		runtime.KeepAlive(frozen)
	}
}

// BenchmarkPublishWithRules publishes to a topic with 2,000 subscriptions, each of which has a rule in SQL.
func BenchmarkPublishWithRules(b *testing.B) {
	const subscriptions = 2000
	for _, matches := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("matches=%d", matches), func(b *testing.B) {
			f := newFiller(b)
			fifo := Attribute{Name: "FifoTopic", Value: "true"}
			f.must(b, &CreateTopic{Topic: "t.fifo", TopicARN: topicARN("t.fifo"), Attributes: []Attribute{fifo}})
			for i := range subscriptions {
				name := fmt.Sprintf("s%d.fifo", i)
				f.must(b, &CreateQueue{Queue: name, Attributes: []Attribute{
					{Name: "DeduplicationEnabled", Value: "false"}, {Name: "FifoQueue", Value: "true"}}})
				d := rules.Definition{Name: "r", Kind: rules.KindSQL,
					SQL: &rules.Expression{Text: fmt.Sprintf("region = 'r%d' AND amount > 10", i/matches)}}
				canonical, err := d.InCanonicalForm()
				if err != nil {
					b.Fatal(err)
				}
				f.must(b, &Subscribe{Topic: "t.fifo", Endpoint: queueARN(name), Owner: "000000000000",
					Rules:      []rules.Definition{canonical},
					Attributes: []Attribute{{Name: "RawMessageDelivery", Value: "true"}}})
			}
			published := 0
			b.ReportAllocs()
			for b.Loop() {
				f.n++
				f.must(b, &Publish{Topic: "t.fifo", Entries: []PublishEntry{{
					Message: strings.Clone(f.body), GroupID: "g", GroupIDGiven: true,
					DeduplicationID: strconv.Itoa(f.n), DeduplicationIDGiven: true,
					Attributes: []MessageAttribute{
						{Name: "amount", DataType: "Number", Value: "50"}, {Name: "region", DataType: "String", Value: "r0"}},
				}}})
				if published++; published%500 == 0 {
					b.StopTimer()
					f.at += 61_000 // the least time between two purges
					for i := range matches {
						f.must(b, &PurgeQueue{Queue: fmt.Sprintf("s%d.fifo", i)})
					}
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "publishes/s")
			if stats, err := f.b.View().Stats("s0.fifo"); err != nil || stats.Visible != int64(published%500) {
				b.Errorf("the first queue has %+v, %v after %d", stats, err, published)
			}
			if stats, err := f.b.View().Stats(fmt.Sprintf("s%d.fifo", matches)); err != nil || stats.Visible != 0 {
				b.Errorf("the queue of another region has %+v, %v", stats, err)
			}
		})
	}
}
