package fsm

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// FuzzDecodeCommand: no input may panic; what is accepted has one canonical
// encoding, and applying it gives the same on two replicas.
func FuzzDecodeCommand(f *testing.F) {
	for _, frame := range fsmtest.GoldenFrames(f, filepath.Join("testdata", "commands")) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		name, sends := SendsTo(frame)
		cmd, err := DecodeCommand(frame)
		if err != nil {
			return
		}
		canonical := mustFrame(t, cmd)
		if bytes.Equal(canonical, frame) && sends && string(name) != cmd.QueueName() {
			t.Fatalf("it sends to %q, not to %q", cmd.QueueName(), name)
		}
		again, err := DecodeCommand(canonical)
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
			return // leaders refuse it; a node that finds it in its log ends on purpose
		}
		one, two := eventful(t), eventful(t)
		at := start.Add(queue.Minute)
		if diff := cmp.Diff(one.apply(at, cmd), two.apply(at, again), fsmtest.SameBody); diff != "" {
			t.Fatalf("answers (-one +two):\n%s", diff)
		}
		if one.fsm.Position().StateHash != two.fsm.Position().StateHash {
			t.Fatal("states differ")
		}
		one.sound()
	})
}

// FuzzDecodeEntry: no input may panic; nothing is visited of an entry that is
// refused, and an accepted one encodes to the same bytes.
func FuzzDecodeEntry(f *testing.F) {
	frames := fsmtest.GoldenFrames(f, filepath.Join("testdata", "commands"))
	f.Add(AppendEntry(nil, start, frames))
	f.Add(AppendEntry(nil, 0, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, entry := range [][]byte{data, resealedEnd(data)} {
			var frames [][]byte
			at, err := DecodeEntry(entry, func(frame []byte) error {
				frames = append(frames, frame)
				return nil
			})
			if err != nil {
				if len(frames) > 0 {
					t.Fatalf("%d commands of a refused entry were visited", len(frames))
				}
				continue
			}
			if !bytes.Equal(entry, AppendEntry(nil, at, frames)) {
				t.Fatal("an accepted entry has another encoding")
			}
		}
	})
}

// resealedEnd lets the fuzzer get past the checksum.
func resealedEnd(data []byte) []byte {
	if len(data) < EntryOverheadBytes {
		return data
	}
	return resealed(data, func(entry []byte) []byte { return entry })
}

// FuzzDecodeResponse: no input may panic; what is accepted round-trips.
func FuzzDecodeResponse(f *testing.F) {
	for _, result := range everyResult() {
		data, err := AppendResponse(nil, Response{Result: filledResult(f, fsmtest.Distinct(), result)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeResponse(data)
		if err != nil {
			return
		}
		if diff := cmp.Diff(r, returned(t, r), fsmtest.SameBody); diff != "" {
			t.Fatalf("decoded again (-first +again):\n%s", diff)
		}
	})
}
