//go:build faults

package cluster

import (
	"encoding/binary"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/plant"
	"github.com/seriatimq/seriatim/queue"
)

// uncommittedPatience is how long bug 2 waits for a commit.
const uncommittedPatience = 50 * time.Millisecond

// answerBeforeCommit is bug 2: a send is answered although it is not committed,
// when that takes longer than usual.
func (c *committer) answerBeforeCommit(batch []*submission) {
	if !plant.Is(2) {
		return
	}
	now := uint64(c.stamp())
	for i, s := range batch {
		cmd, err := fsm.DecodeCommand(s.frame)
		send, ok := cmd.(*queue.SendMessages)
		if err != nil || !ok {
			continue
		}
		settle, settled := s.settle, new(atomic.Bool)
		s.settle = func(o outcome) {
			if settled.CompareAndSwap(false, true) {
				settle(o)
			}
		}
		made := queue.MessagesSent{Entries: make([]queue.SentEntry, len(send.Entries))}
		for j := range made.Entries {
			binary.BigEndian.PutUint64(made.Entries[j].MessageID[:], now)
			binary.BigEndian.PutUint64(made.Entries[j].MessageID[8:], uint64(i)<<8|uint64(j))
			made.Entries[j].Sequence = queue.SequenceNumber(now<<16 | uint64(i)<<4 | uint64(j))
		}
		early := s.settle
		time.AfterFunc(uncommittedPatience, func() {
			early(outcome{verdict: answered, response: fsm.Response{Result: made}})
		})
	}
}

// staleReceive is bug 9: a node answers a receive from what it knows, without
// the log and without asking whether that is the newest.
func (n *Node) staleReceive(r *request) (outcome, bool) {
	receive, ok := r.cmd.(*queue.ReceiveMessages)
	if !plant.Is(9) || !ok || r.wait > 0 || !strings.HasSuffix(receive.Queue, fifoSuffix) {
		return outcome{}, false
	}
	empty := false
	at := n.replica.read(func(v queue.View) {
		empty = v.QueueExists(receive.Queue) && !v.Deliverable(receive.Queue)
	})
	return outcome{verdict: answered, response: fsm.Response{Result: queue.MessagesReceived{}}, at: at}, empty
}

// forgetAttempt is bug 25: the answer of a long poll cannot be asked for again.
func (r *receiving) forgetAttempt() {
	if !plant.Is(25) || !r.cmd.AttemptIDGiven {
		return
	}
	cmd := *r.cmd
	cmd.AttemptID, cmd.AttemptIDGiven = "", false
	if frame, err := fsm.AppendCommand(nil, &cmd); err == nil {
		r.cmd, r.frame = &cmd, sameOperation(r.frame, frame)
	}
}
