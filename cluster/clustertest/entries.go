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

func encode(tb testing.TB, command queue.Command) []byte {
	tb.Helper()
	frame, err := codec.AppendCommand(nil, command)
	if err != nil {
		tb.Fatal(err)
	}
	return frame
}
