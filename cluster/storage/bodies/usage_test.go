package bodies

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/message"
)

func TestOnlyWhatNobodyCanHoldAgainIsGivenBack(t *testing.T) {
	at := func(segment, offset, size uint32) message.Body {
		return message.StoredBody(message.Place{Segment: segment, Offset: offset}, size, 0)
	}
	u := newUsage()
	first, long, moving, last := at(1, 16, 100), at(1, 132, 3*blockBytes), at(1, 5*blockBytes, 50), at(2, 16, 3000)
	for _, body := range []message.Body{first, long, moving, last} {
		u.hold(body)
	}
	u.free(long)
	u.free(moving)
	u.hold(moving)
	u.free(last)
	compare := func(end message.Place, want ...run) {
		t.Helper()
		if diff := cmp.Diff(want, u.collect(end), cmp.AllowUnexported(run{})); diff != "" {
			t.Errorf("with the end at %+v (-want +got):\n%s", end, diff)
		}
	}
	// Block 0 of segment 1 holds first, block 5 holds moved. Segment 2 and the block of the end may
	// get bodies.
	compare(message.Place{Segment: 1, Offset: 2*blockBytes + 1}, run{1, 1, 1})
	compare(message.Place{Segment: 2, Offset: 3032}, run{1, 2, 2})
	u.hold(at(2, 3032, 100)) // in an empty block
	compare(message.Place{Segment: 3, Offset: 16})
	u.free(at(2, 3032, 100))
	compare(message.Place{Segment: 3, Offset: 16}, run{2, 0, 1}, run{segment: 2})
	if u.covers(long) || !u.covers(first) || !u.covers(moving) {
		t.Error("the wrong bodies are covered")
	}
}
