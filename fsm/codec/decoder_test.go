package codec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// All commands of an entry are there at the same time, however many they are, and
// nothing of an earlier entry is in them.
func TestDecoderKeepsAnEntry(t *testing.T) {
	var d Decoder
	var want []queue.Command
	for round := range 3 {
		for range 3 * slabMin * (round + 1) {
			want = append(want,
				fsmtest.SendBatch(), fsmtest.Send(),
				&queue.ReceiveMessages{Queue: "q.fifo", MaxMessages: queue.Some(7)}, &queue.ReceiveMessages{Queue: "r"},
				&queue.DeleteMessages{Queue: "q.fifo", Batch: true, Handles: []string{"a", "b"}}, &queue.DeleteMessages{Queue: "r", Handles: []string{"c"}},
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

// Strings and message attributes are for the state to keep: neither a Reset nor what
// becomes of the frame changes them.
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

// Names that share a slot do not take each other's place in what was decoded.
func TestDecoderTellsNamesApart(t *testing.T) {
	var d Decoder
	names := []string{"", "a", strings.Repeat("x", nameBytesMax) + "y"}
	for range 2 * namesMax {
		names = append(names, names[len(names)-1]+"z")
	}
	for range 2 {
		for _, name := range names {
			if got := d.name([]byte(name)); got != name {
				t.Fatalf("%q became %q", name, got)
			}
		}
	}
	const alone = "orders.fifo"
	d.name([]byte(alone))
	if n := testing.AllocsPerRun(100, func() { d.name([]byte(alone)) }); n != 0 {
		t.Errorf("%v allocations for a name read just before", n)
	}
}
