package fsm

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// unreadable is a store whose bodies cannot be read.
type unreadable struct{ inMemory }

var errUnreadable = errors.New("nobody can read this")

func (unreadable) Begin() StateBodies { return unreadable{} }
func (unreadable) Keeps(int) bool     { return true }
func (unreadable) Append(text string, digest uint64) message.Body {
	return message.StoredBody(message.Place{Segment: 1, Offset: 16}, uint32(len(text)), digest)
}
func (unreadable) Require(message.Body) (message.Body, error) { return message.Body{}, errUnreadable }

// An unreadable body is not a broken invariant, because the state is sound.
func TestUnreadableBodyEndsTheProcess(t *testing.T) {
	r := founded(t, Options{Bodies: unreadable{}})
	r.apply(start, &queue.CreateQueue{Queue: "q.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	sent := r.apply(start, &queue.SendMessages{Queue: "q.fifo", Entries: []queue.SendEntry{{
		Body: "text", GroupID: "g", GroupIDGiven: true, DeduplicationID: "d", DeduplicationIDGiven: true,
		Options: &queue.SendOptions{EnqueueAt: start + 1000},
	}}})
	sequence := sent.Result.(queue.MessagesSent).Entries[0].Sequence
	cancel := mustFrame(t, &queue.CancelScheduled{Queue: "q.fifo", Sequences: []queue.SequenceNumber{sequence},
		ForgetDeduplicationID: true})
	err := fatal(t, r, func() {
		r.fsm.Apply(&raft.Log{Index: 90, Term: 1, Data: codec.AppendEntry(nil, start, [][]byte{cancel})})
	})
	if !errors.Is(err, ErrUnreadableBody) || !errors.Is(err, errUnreadable) || errors.Is(err, ErrBrokenInvariant) ||
		!strings.Contains(err.Error(), "log entry 90, command 1 (*queue.CancelScheduled)") {
		t.Errorf("reported %v", err)
	}
}
