package codec

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

var sampleSend = fsmtest.Send()

// BenchmarkEncodeSend measures the node that accepts a message.
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

// BenchmarkDecodeSend measures a replica.
func BenchmarkDecodeSend(b *testing.B) {
	frame := mustFrame(b, sampleSend)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCommand(frame); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeSendFresh encodes without a reused buffer, as for a frame that is sent to another
// node.
func BenchmarkEncodeSendFresh(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendCommand(nil, sampleSend); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeBatch and BenchmarkDecodeBatch use one command with ten messages.
func BenchmarkEncodeBatch(b *testing.B) {
	cmd := fsmtest.SendBatch()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendCommand(nil, cmd); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeBatch(b *testing.B) {
	frame := mustFrame(b, fsmtest.SendBatch())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCommand(frame); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResponse encodes an answer at the leader and decodes it at another node.
func BenchmarkResponse(b *testing.B) {
	message := queue.ReceivedMessage{
		MessageID: queue.MessageID{1}, Body: message.NewBody(strings.Repeat("b", 256)), GroupID: "group", DeduplicationID: "id",
		SenderID: "sender", Sequence: 1 << 40, SentAt: 1 << 40, ReceiveCount: 1,
	}
	responses := map[string]Response{
		"sent":     {Result: queue.MessagesSent{Entries: []queue.SentEntry{{MessageID: queue.MessageID{1}, Sequence: 1 << 40}}}},
		"received": {Result: queue.MessagesReceived{Messages: []queue.ReceivedMessage{message}}},
		"deleted":  {Result: queue.EntriesDone{Errs: make([]*queue.Error, 1)}},
	}
	for _, name := range slices.Sorted(maps.Keys(responses)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data, err := AppendResponse(nil, responses[name])
				if err != nil {
					b.Fatal(err)
				}
				if _, err := DecodeResponse(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
