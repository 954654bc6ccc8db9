package snapshot

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
)

func brokerMessage(r queue.BrokerRecord) *fsmpb.BrokerRecord {
	return &fsmpb.BrokerRecord{
		Now:             int64(r.Now),
		FormatVersion:   r.FormatVersion,
		Epoch:           r.Epoch,
		NextIncarnation: r.NextIncarnation,
		NextMoveTask:    r.NextMoveTask,
		SequenceFloor:   r.SequenceFloor,
		Settings:        protobuf.NameValues(r.Settings),
	}
}

func brokerRecord(m *fsmpb.BrokerRecord) queue.BrokerRecord {
	return queue.BrokerRecord{
		Now:             queue.Timestamp(m.Now),
		FormatVersion:   m.FormatVersion,
		Epoch:           m.Epoch,
		NextIncarnation: m.NextIncarnation,
		NextMoveTask:    m.NextMoveTask,
		SequenceFloor:   m.SequenceFloor,
		Settings:        protobuf.Attributes(m.Settings),
	}
}

func tombstoneMessage(r queue.TombstoneRecord) *fsmpb.TombstoneRecord {
	return &fsmpb.TombstoneRecord{Queue: r.Queue, DeletedAt: int64(r.DeletedAt)}
}

func tombstoneRecord(m *fsmpb.TombstoneRecord) (queue.TombstoneRecord, error) {
	return queue.TombstoneRecord{Queue: m.Queue, DeletedAt: queue.Timestamp(m.DeletedAt)}, nil
}

func moveTaskMessage(r queue.MoveTaskRecord) *fsmpb.MoveTaskRecord {
	return &fsmpb.MoveTaskRecord{
		Id:            r.ID,
		Number:        r.Number,
		Source:        r.Source,
		Destination:   r.Destination,
		MaxPerSecond:  r.MaxPerSecond,
		Status:        uint32(r.Status),
		StartedAt:     int64(r.StartedAt),
		Moved:         r.Moved,
		ToMove:        r.ToMove,
		FailureReason: r.FailureReason,
	}
}

func moveTaskRecord(m *fsmpb.MoveTaskRecord) (queue.MoveTaskRecord, error) {
	status, err := narrow[queue.MoveTaskStatus](m.Status, "move task status")
	return queue.MoveTaskRecord{
		ID:            m.Id,
		Number:        m.Number,
		Source:        m.Source,
		Destination:   m.Destination,
		MaxPerSecond:  m.MaxPerSecond,
		Status:        status,
		StartedAt:     queue.Timestamp(m.StartedAt),
		Moved:         m.Moved,
		ToMove:        m.ToMove,
		FailureReason: m.FailureReason,
	}, err
}

// fillMessage reuses m, which a walk of the snapshot writer owns.
func fillMessage(m *fsmpb.MessageRecord, r *queue.MessageRecord) {
	m.Sequence = uint64(r.Sequence)
	fillBody(m, r.Body)
	m.MessageId = append(m.MessageId[:0], protobuf.IDBytes(&r.MessageID)...)
	m.GroupId = r.GroupID
	m.DeduplicationId = r.DeduplicationID
	m.SenderId = r.SenderID
	m.TraceHeader = r.TraceHeader
	m.Attributes = protobuf.MessageAttributeValues(r.Attributes)
	m.DeadLetterSource = r.DeadLetterSource
	m.PartitionKey = r.PartitionKey
	m.SentAt = int64(r.SentAt)
	m.VisibleAt = int64(r.VisibleAt)
	m.KeepsAge = r.KeepsAge
	m.Scheduled = r.Scheduled
	m.Timed = r.Timed
	m.Deliveries = r.Deliveries
	m.ReceiveCount = r.ReceiveCount
	m.FirstReceivedAt = int64(r.FirstReceivedAt)
	m.ReceivedAt = int64(r.ReceivedAt)
	m.AttemptId = r.AttemptID
	m.AttemptNumber = r.AttemptNumber
	m.Published = publishedMessage(&r.Published)
	m.SessionLock, m.TakenBack, m.Deferred = r.SessionLock, r.TakenBack, r.Deferred
}

// fillBody writes a body, or where it is.
func fillBody(m *fsmpb.MessageRecord, body queue.Body) {
	if !body.Stored() {
		m.Body, m.StoredBody = body.String(), nil
		return
	}
	if m.StoredBody == nil {
		m.StoredBody = &fsmpb.StoredBody{}
	}
	at := body.Place()
	m.Body = ""
	m.StoredBody.Segment, m.StoredBody.Offset = at.Segment, at.Offset
	m.StoredBody.Length, m.StoredBody.Digest = uint32(body.Len()), body.Digest()
}

func messageBody(m *fsmpb.MessageRecord) (queue.Body, error) {
	s := m.StoredBody
	if s == nil {
		return content.NewBody(m.Body), nil
	}
	if s.Segment == 0 || s.Length == 0 || m.Body != "" || m.Published != nil {
		return queue.Body{}, fmt.Errorf("%w: a stored body that cannot be one", format.ErrMalformed)
	}
	return content.StoredBody(content.Place{Segment: s.Segment, Offset: s.Offset}, s.Length, s.Digest), nil
}

func messageRecord(m *fsmpb.MessageRecord) (queue.MessageRecord, error) {
	body, err := messageBody(m)
	if err != nil {
		return queue.MessageRecord{}, err
	}
	r := queue.MessageRecord{
		Sequence:         queue.SequenceNumber(m.Sequence),
		Body:             body,
		GroupID:          m.GroupId,
		DeduplicationID:  m.DeduplicationId,
		SenderID:         m.SenderId,
		TraceHeader:      m.TraceHeader,
		Attributes:       protobuf.MessageAttributes(m.Attributes),
		DeadLetterSource: m.DeadLetterSource,
		PartitionKey:     m.PartitionKey,
		SentAt:           queue.Timestamp(m.SentAt),
		KeepsAge:         m.KeepsAge,
		Scheduled:        m.Scheduled,
		Timed:            m.Timed,
		DeliveryRecord: queue.DeliveryRecord{
			VisibleAt:       queue.Timestamp(m.VisibleAt),
			Deliveries:      m.Deliveries,
			ReceiveCount:    m.ReceiveCount,
			FirstReceivedAt: queue.Timestamp(m.FirstReceivedAt),
			ReceivedAt:      queue.Timestamp(m.ReceivedAt),
			AttemptID:       m.AttemptId,
			AttemptNumber:   m.AttemptNumber,
			SessionLock:     m.SessionLock,
			TakenBack:       m.TakenBack,
			Deferred:        m.Deferred,
		},
	}
	if err := protobuf.Fill(r.MessageID[:], m.MessageId, "message id"); err != nil {
		return queue.MessageRecord{}, err
	}
	published, err := publishedRecord(m.Published)
	r.Published = published
	return r, err
}

func deduplicationRecord(m *fsmpb.DeduplicationRecord) (queue.DeduplicationRecord, error) {
	scope, err := narrow[deduplication.Scope](m.Scope, "deduplication scope")
	if err != nil {
		return queue.DeduplicationRecord{}, err
	}
	r := queue.DeduplicationRecord{
		Order:      m.Order,
		Scope:      scope,
		AcceptedAt: queue.Timestamp(m.AcceptedAt),
		Sequence:   queue.SequenceNumber(m.Sequence),
	}
	return r, protobuf.Fill(r.Key[:], m.Key, "deduplication key")
}

// fillAttempt reuses m, which a walk of the snapshot writer owns.
func fillAttempt(m *fsmpb.AttemptRecord, r *queue.AttemptRecord) {
	m.Id = r.ID
	m.Number = r.Number
	m.ReceivedAt = int64(r.ReceivedAt)
	m.Invalid = r.Invalid
	m.Deliveries = m.Deliveries[:0]
	for _, d := range r.Deliveries {
		m.Deliveries = append(m.Deliveries, &fsmpb.AttemptDelivery{Sequence: uint64(d.Sequence), Delivery: d.Delivery})
	}
}

func attemptRecord(m *fsmpb.AttemptRecord) (queue.AttemptRecord, error) {
	r := queue.AttemptRecord{
		ID:         m.Id,
		Number:     m.Number,
		ReceivedAt: queue.Timestamp(m.ReceivedAt),
		Invalid:    m.Invalid,
	}
	if len(m.Deliveries) > 0 {
		r.Deliveries = make([]queue.AttemptDelivery, len(m.Deliveries))
	}
	for i, d := range m.Deliveries {
		r.Deliveries[i] = queue.AttemptDelivery{Sequence: queue.SequenceNumber(d.Sequence), Delivery: d.Delivery}
	}
	return r, nil
}
