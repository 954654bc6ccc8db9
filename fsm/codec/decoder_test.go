package codec

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// All commands of an entry stay valid until Reset, however many they are, and contain nothing of an
// earlier entry.
func TestDecoderKeepsAnEntry(t *testing.T) {
	var d Decoder
	var want []queue.Command
	for round := range 3 {
		for range 48 * (round + 1) {
			want = append(want,
				fsmtest.SendBatch(), fsmtest.Send(),
				&queue.ReceiveMessages{Queue: "q.fifo", MaxMessages: queue.Some(7)}, &queue.ReceiveMessages{Queue: "r"},
				&queue.DeleteMessages{Queue: "q.fifo", Batch: true, Handles: []string{"a", "b"}},
				&queue.DeleteMessages{Queue: "r", Handles: []string{"c"}},
				&queue.AdvanceClock{})
		}
		got := make([]queue.Command, len(want))
		for i, cmd := range want {
			decoded, err := d.Decode(mustFrame(t, cmd))
			if err != nil {
				t.Fatal(err)
			}
			got[i] = decoded
		}
		for i, cmd := range want {
			if diff := cmp.Diff(cmd, got[i]); diff != "" {
				t.Fatalf("round %d, command %d (-want +got):\n%s", round, i, diff)
			}
		}
		want = want[:0]
		d.Reset()
	}
}

// The state keeps strings and message attributes of a command, so neither Reset nor a change of the
// frame may change them.
func TestDecoderGivesStringsAway(t *testing.T) {
	var d Decoder
	sent := *fsmtest.Send()
	sent.Entries = append([]queue.SendEntry(nil), sent.Entries...)
	sent.Entries[0].Attributes = []queue.MessageAttribute{{Name: "n", DataType: "String", Value: "v"}}
	frame := mustFrame(t, &sent)
	decoded, err := d.Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	kept := decoded.(*queue.SendMessages).Entries[0]
	kept.ContentHash = nil // a part of the frame
	want := sent.Entries[0]
	want.ContentHash = nil
	clear(frame)
	d.Reset()
	if _, err := d.Decode(mustFrame(t, fsmtest.SendBatch())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Fatalf("kept (-want +got):\n%s", diff)
	}
}

// FuzzDecoder checks that a Decoder reads the same as DecodeCommand, also into reused memory and
// inside an entry.
func FuzzDecoder(f *testing.F) {
	for _, frame := range fsmtest.GoldenFrames(f, filepath.Join("testdata", "commands")) {
		f.Add(frame[0], frame[frameHeaderBytes:])
	}
	f.Fuzz(func(t *testing.T, number byte, body []byte) {
		frame := append([]byte{number, 1, 0, 0, 0, 0}, body...)
		binary.LittleEndian.PutUint32(frame[2:], uint32(len(body)))
		want, refused := DecodeCommand(frame)
		d := usedDecoder(t)
		got, err := d.Decode(frame)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (refused == nil) {
			t.Fatalf("alone %v, with a decoder %v (-alone +decoder):\n%s", refused, err, diff)
		}
		d.Reset()
		decoded := 0
		_, err = d.DecodeEntry(AppendEntry(nil, 1, [][]byte{frame, frame}), func(cmd queue.Command) error {
			decoded++
			if diff := cmp.Diff(want, cmd); diff != "" {
				t.Fatalf("decoded in an entry (-alone +in it):\n%s\n%x", diff, body)
			}
			return nil
		})
		if (err == nil) != (refused == nil) || err == nil && decoded != 2 {
			t.Fatalf("alone %v, in an entry %v after %d commands", refused, err, decoded)
		}
	})
}

// usedDecoder returns a decoder whose memory was used for commands with all fields set.
func usedDecoder(t testing.TB) *Decoder {
	t.Helper()
	d := &Decoder{}
	for _, cmd := range everyCommand() {
		if _, err := d.Decode(mustFrame(t, filledCommand(t, fsmtest.Distinct(), cmd))); err != nil {
			t.Fatal(err)
		}
	}
	d.Reset()
	return d
}
