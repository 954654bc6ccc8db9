package codec

import (
	"testing"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
)

var sampleSend = fsmtest.Send()

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

// BenchmarkEncodeBatch and BenchmarkDecodeBatch are the two for ten messages in
// one command.
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
