package fsm

import (
	"fmt"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// BenchmarkApplyCycle sends, receives and deletes one message through the
// log, 64 commands to an entry as under load.
func BenchmarkApplyCycle(b *testing.B) {
	r := founded(b, Options{})
	r.apply(start, &queue.CreateQueue{Queue: "orders.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	const size = 64
	frames := make([][]byte, size)
	at := start
	commit := func() EntryResult {
		r.index++
		at += 10
		return r.fsm.Apply(&raft.Log{Index: r.index, Term: 1, Data: codec.AppendEntry(nil, at, frames)}).(EntryResult)
	}
	receive := mustFrame(b, &queue.ReceiveMessages{Queue: "orders.fifo"})
	sample, cycles := fsmtest.Send(), 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range frames {
			cmd := *sample
			entry := cmd.Entries[0]
			entry.DeduplicationID = fmt.Sprint(cycles*size + i)
			entry.GroupID = fmt.Sprint("group-", i)
			cmd.Entries = []queue.SendEntry{entry}
			frames[i] = mustFrame(b, &cmd)
		}
		commit()
		for i := range frames {
			frames[i] = receive
		}
		for i, response := range commit().Responses {
			handle := response.Result.(queue.MessagesReceived).Messages[0].Handle.String()
			frames[i] = mustFrame(b, &queue.DeleteMessages{Queue: "orders.fifo", Handles: []string{handle}})
		}
		commit()
		cycles++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(cycles*size), "ns/cycle")
}

// BenchmarkSends sends 32 messages in each entry, with ids that are all remembered.
func BenchmarkSends(b *testing.B) {
	r := founded(b, Options{})
	r.apply(start, &queue.CreateQueue{Queue: "orders.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	const size = 32
	frames := make([][]byte, size)
	at, sample, sends := start, fsmtest.Send(), 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i := range frames {
			cmd := *sample
			entry := cmd.Entries[0]
			entry.DeduplicationID, entry.GroupID = fmt.Sprint(sends), fmt.Sprint("group-", i)
			cmd.Entries = []queue.SendEntry{entry}
			frames[i] = mustFrame(b, &cmd)
			sends++
		}
		r.index++
		at += 2
		entry := &raft.Log{Index: r.index, Term: 1, Data: codec.AppendEntry(nil, at, frames)}
		b.StartTimer()
		r.fsm.Apply(entry)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sends), "ns/send")
}
