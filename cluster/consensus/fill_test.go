package consensus

import (
	"errors"
	"io"
	"net"
	"testing"
)

// Who sends a snapshot while another one is put together is the leader now, or has given the
// other one up. So the other one ends, and does so before this one begins.
func TestALaterSnapshotEndsTheOneBefore(t *testing.T) {
	t.Parallel()
	var turns intakes
	leader, here := net.Pipe()
	defer leader.Close()
	first, second := &incoming{conn: here}, &incoming{}
	turns.begin(first)
	begun := make(chan struct{})
	go func() {
		turns.begin(second)
		close(begun)
	}()
	if _, err := leader.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the leader of the first one reads %v", err)
	}
	select {
	case <-begun:
		t.Error("the second one began before the first one ended")
	default:
	}
	turns.end()
	<-begun
	turns.end()
	turns.begin(first) // nobody has the turn
	turns.end()
}
