package snapshot

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

func sessionMessage(r queue.SessionRecord) *fsmpb.SessionRecord {
	return &fsmpb.SessionRecord{
		Name:        r.Name,
		Lock:        r.Lock,
		LockedUntil: int64(r.LockedUntil),
		Next:        r.Next,
		State:       r.State,
		StateGiven:  r.StateGiven,
		StateSetAt:  int64(r.StateSetAt),
		AttemptId:   r.AttemptID,
	}
}

// sessionRecord is the inverse of sessionMessage.
func sessionRecord(m *fsmpb.SessionRecord) (queue.SessionRecord, error) {
	return queue.SessionRecord{
		Name:        m.Name,
		Lock:        m.Lock,
		LockedUntil: queue.Timestamp(m.LockedUntil),
		Next:        m.Next,
		State:       m.State,
		StateGiven:  m.StateGiven,
		StateSetAt:  queue.Timestamp(m.StateSetAt),
		AttemptID:   m.AttemptId,
	}, nil
}
