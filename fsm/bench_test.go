package fsm

import (
	"fmt"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// BenchmarkApplyCycle sends, receives and deletes one message through the log, with 64 commands per
// entry.
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

// BenchmarkSends sends messages in entries of different sizes, with ids that stay remembered.
func BenchmarkSends(b *testing.B) {
	for _, size := range []struct{ commands, sends int }{{32, 1}, {64, 10}, {25, 100}} {
		b.Run(fmt.Sprint(size.commands, "x", size.sends), func(b *testing.B) { benchmarkSends(b, size.commands, size.sends) })
	}
}

func benchmarkSends(b *testing.B, commands, each int) {
	r := founded(b, Options{})
	r.apply(start, &queue.CreateQueue{Queue: "orders.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	frames := make([][]byte, commands)
	at, sample, sends := start, fsmtest.Send(), 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i := range frames {
			cmd := *sample
			cmd.Batch, cmd.Streamed, cmd.Entries = each > 1, each > 10, make([]queue.SendEntry, each)
			for j := range cmd.Entries {
				cmd.Entries[j] = sample.Entries[0]
				cmd.Entries[j].DeduplicationID, cmd.Entries[j].GroupID = fmt.Sprint(sends), fmt.Sprint("group-", i)
				sends++
			}
			frames[i] = mustFrame(b, &cmd)
		}
		r.index++
		at += 2
		entry := &raft.Log{Index: r.index, Term: 1, Data: codec.AppendEntry(nil, at, frames)}
		b.StartTimer()
		r.fsm.Apply(entry)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sends), "ns/send")
}
