package clustertest

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Entry returns an entry with one command that changes the state.
func Entry(tb testing.TB, at int) []byte {
	tb.Helper()
	return EntryOf(tb, at, &queue.CreateQueue{Queue: fmt.Sprintf("q%d", at)})
}

// EntryOf returns an entry of these commands, stamped with at milliseconds.
func EntryOf(tb testing.TB, at int, commands ...queue.Command) []byte {
	tb.Helper()
	var frames [][]byte
	for _, command := range commands {
		frames = append(frames, encode(tb, command))
	}
	return codec.AppendEntry(nil, queue.Timestamp(at), frames)
}

// EncodedSend returns a send of 256 bytes, for benchmarks.
func EncodedSend(tb testing.TB) []byte {
	tb.Helper()
	return encode(tb, &queue.SendMessages{Queue: "orders.fifo", SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
		Body: string(make([]byte, 256)), GroupID: "group-17", GroupIDGiven: true,
		DeduplicationID: "0d1e7c5a-4f0e-4a58-9d53-1a2b3c4d5e6f", DeduplicationIDGiven: true,
	}}})
}

func encode(tb testing.TB, command queue.Command) []byte {
	tb.Helper()
	frame, err := codec.AppendCommand(nil, command)
	if err != nil {
		tb.Fatal(err)
	}
	return frame
}
