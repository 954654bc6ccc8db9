package queue

import (
	"fmt"
	"strings"
	"testing"
)

// The size follows what is stored and is back where it was when all of it is
// gone. That it is the sum over all records, whatever happened, CheckInvariants
// says after every command of every other test.
func TestStateBytes(t *testing.T) {
	w := newWorld(t)
	size := func() int64 { return w.b.View().StateBytes() }
	empty := size()
	w.must(&CreateQueue{Queue: "q.fifo", Attributes: []Attribute{{Name: "FifoQueue", Value: "true"}}})
	created := size()
	if created <= empty {
		t.Errorf("a queue takes %d bytes", created-empty)
	}
	const messages, body = 10, 1000
	for i := range messages {
		w.must(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
			Body: strings.Repeat("x", body), GroupID: "g", GroupIDGiven: true,
			DeduplicationID: fmt.Sprint(i), DeduplicationIDGiven: true,
		}}})
	}
	sent := size()
	if least := int64(messages * (body + deduplicationOverhead)); sent-created < least || sent-created > 2*least {
		t.Errorf("%d messages of %d bytes take %d", messages, body, sent-created)
	}
	received := w.must(&ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(1)}).(MessagesReceived)
	inFlight := size()
	w.must(&DeleteMessages{Queue: "q.fifo", Handles: []string{received.Messages[0].Handle.String()}})
	if deleted := size(); inFlight-deleted < body {
		t.Errorf("a delete frees %d bytes", inFlight-deleted)
	}
	w.must(&PurgeQueue{Queue: "q.fifo"})
	if purged := size(); purged != created {
		t.Errorf("after a purge %d bytes, an empty queue had %d", purged, created)
	}
	w.must(&DeleteQueue{Queue: "q.fifo"})
	if gone := size(); gone != empty {
		t.Errorf("after all %d bytes, at first %d", gone, empty)
	}
}
