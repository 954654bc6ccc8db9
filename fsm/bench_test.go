package fsm

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/queue"
)

var sampleSend = &queue.SendMessages{Queue: "orders.fifo", SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
	Body: strings.Repeat("x", 256), GroupID: "group-17", GroupIDGiven: true,
	DeduplicationID: "0d1e7c5a-4f0e-4a58-9d53-1a2b3c4d5e6f", DeduplicationIDGiven: true,
}}}

// BenchmarkEncodeSend is the cost on the node that accepts a message.
func BenchmarkEncodeSend(b *testing.B) {
	b.ReportAllocs()
	var buffer []byte
	for b.Loop() {
		var err error
		if buffer, err = AppendCommand(buffer[:0], sampleSend); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeSend is the cost per replica.
func BenchmarkDecodeSend(b *testing.B) {
	frame := mustFrame(b, sampleSend)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCommand(frame); err != nil {
			b.Fatal(err)
		}
	}
}

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
		return r.fsm.Apply(&raft.Log{Index: r.index, Term: 1, Data: AppendEntry(nil, at, frames)}).(EntryResult)
	}
	receive := mustFrame(b, &queue.ReceiveMessages{Queue: "orders.fifo"})
	cycles := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range frames {
			cmd := *sampleSend
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

// BenchmarkSnapshot writes and restores 100,000 messages.
func BenchmarkSnapshot(b *testing.B) {
	r := founded(b, Options{})
	r.apply(start, &queue.CreateQueue{Queue: "orders.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	const messages = 100_000
	for i := range messages / 10 {
		cmd := &queue.SendMessages{Queue: "orders.fifo", Batch: true, Entries: make([]queue.SendEntry, 10)}
		for j := range cmd.Entries {
			cmd.Entries[j] = sampleSend.Entries[0]
			cmd.Entries[j].DeduplicationID = fmt.Sprint(i*10 + j)
		}
		r.fsm.Apply(r.entry(start, cmd))
	}
	data := r.snapshot()
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := WriteSnapshot(io.Discard, r.fsm.Position(), r.fsm.Broker().Freeze()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ReadSnapshot(strings.NewReader(string(data))); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEncodeSendFresh is the same without a buffer to fill: a frame
// travels on its own.
func BenchmarkEncodeSendFresh(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendCommand(nil, sampleSend); err != nil {
			b.Fatal(err)
		}
	}
}

// sampleBatch is a full batch of sampleSend.
func sampleBatch() *queue.SendMessages {
	cmd := *sampleSend
	cmd.Batch = true
	cmd.Entries = nil
	for range 10 {
		cmd.Entries = append(cmd.Entries, sampleSend.Entries[0])
	}
	return &cmd
}

// BenchmarkEncodeBatch and BenchmarkDecodeBatch are the two for ten messages in
// one command.
func BenchmarkEncodeBatch(b *testing.B) {
	cmd := sampleBatch()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendCommand(nil, cmd); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeBatch(b *testing.B) {
	frame := mustFrame(b, sampleBatch())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCommand(frame); err != nil {
			b.Fatal(err)
		}
	}
}
