package fsm

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// FuzzDecodeCommand: no input panics. An accepted one has one encoding, and gives the same result
// on two replicas.
func FuzzDecodeCommand(f *testing.F) {
	for _, frame := range fsmtest.GoldenFrames(f, filepath.Join("codec", "testdata", "commands")) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		name, sends := codec.SendsTo(frame)
		cmd, err := codec.DecodeCommand(frame)
		if err != nil {
			return
		}
		canonical := mustFrame(t, cmd)
		if bytes.Equal(canonical, frame) && sends && string(name) != cmd.QueueName() {
			t.Fatalf("it sends to %q, not to %q", cmd.QueueName(), name)
		}
		again, err := codec.DecodeCommand(canonical)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cmd, again); diff != "" {
			t.Fatalf("decoded again (-first +again):\n%s", diff)
		}
		if !bytes.Equal(canonical, mustFrame(t, again)) {
			t.Fatal("two encodings of one command")
		}
		if raise, is := cmd.(*queue.SetFormatVersion); is && raise.Version > format.CurrentVersion {
			return // leaders refuse it; a node with it in its log stops
		}
		one, two := eventful(t), eventful(t)
		at := start.Add(logtime.Minute)
		if diff := cmp.Diff(one.apply(at, cmd), two.apply(at, again), fsmtest.SameBody); diff != "" {
			t.Fatalf("answers (-one +two):\n%s", diff)
		}
		if one.fsm.Position().StateHash != two.fsm.Position().StateHash {
			t.Fatal("states differ")
		}
		one.sound()
	})
}
