package snapshot

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

func outboxMessage(r *queue.OutboxRecord) *fsmpb.OutboxRecord {
	return &fsmpb.OutboxRecord{
		Subscription:  r.Subscription,
		Number:        r.Number,
		PublicationId: protobuf.IDBytes(&r.PublicationID),
		Publication:   publicationMessage(r.Content),
		Attempts:      r.Attempts,
		DueAt:         int64(r.DueAt),
	}
}

func outboxRecord(m *fsmpb.OutboxRecord) (queue.OutboxRecord, error) {
	r := queue.OutboxRecord{
		Subscription: m.Subscription,
		Number:       m.Number,
		Attempts:     m.Attempts,
		DueAt:        queue.Timestamp(m.DueAt),
	}
	if err := protobuf.Fill(r.PublicationID[:], m.PublicationId, "publication id"); err != nil {
		return r, err
	}
	r.Content = publication(r.PublicationID, m.Publication)
	return r, nil
}
