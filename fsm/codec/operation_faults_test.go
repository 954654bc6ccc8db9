//go:build faults

package codec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue"
)

func TestOperationTravelsInTheFrame(t *testing.T) {
	for _, cmd := range []queue.Command{
		&queue.AdvanceClock{},
		&queue.SendMessages{Queue: "q.fifo", Entries: []queue.SendEntry{{Body: "b", GroupID: "g"}}},
		&queue.ReceiveMessages{Queue: "q.fifo", MaxMessages: queue.Some(1)},
		&queue.DeleteMessages{Queue: "q.fifo", Handles: []string{"h"}},
	} {
		plain, err := AppendCommand(nil, cmd)
		if err != nil {
			t.Fatal(err)
		}
		if got := OperationOf(plain); got != "" {
			t.Errorf("%T without an id has %q", cmd, got)
		}
		want, err := DecodeCommand(AppendOperation(plain, ""))
		if err != nil {
			t.Fatal(err)
		}
		marked := AppendOperation(plain, "17.2")
		if got := OperationOf(marked); got != "17.2" {
			t.Errorf("%T: id %q, want 17.2", cmd, got)
		}
		decoded, err := DecodeCommand(marked)
		if err != nil {
			t.Fatalf("%T with an id cannot be decoded: %v", cmd, err)
		}
		if diff := cmp.Diff(want, decoded); diff != "" {
			t.Errorf("%T: the id changed the command (-want +got):\n%s", cmd, diff)
		}
	}
}
