package codec

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Response is the answer to one command: a result or a refusal.
type Response struct {
	Result queue.Result // nil if Err is set
	Err    *queue.Error
}

// AppendResponse appends the encoded answer: what a leader sends back to the
// node that forwarded the command.
func AppendResponse(dst []byte, r Response) ([]byte, error) {
	if r.Err == nil {
		if appended, plain := appendPlainResult(dst, r.Result); plain {
			return appended, nil
		}
	}
	return appendResponse(dst, r)
}

// appendResponse is AppendResponse by the library.
func appendResponse(dst []byte, r Response) ([]byte, error) {
	m := &fsmpb.Response{Error: errorMessage(r.Err)}
	if r.Err == nil {
		if err := setResult(m, r.Result); err != nil {
			return nil, err
		}
	}
	return protobuf.Append(dst, m)
}

// DecodeResponse is the inverse of AppendResponse. The answer holds no part
// of data.
func DecodeResponse(data []byte) (Response, error) {
	if result, plain := parsePlainResponse(data); plain {
		return Response{Result: result}, nil
	}
	return decodeResponse(data)
}

// decodeResponse is DecodeResponse by the library.
func decodeResponse(data []byte) (Response, error) {
	var m fsmpb.Response
	if err := protobuf.Unmarshal(data, &m); err != nil {
		return Response{}, err
	}
	if refused := queueError(m.Error); refused != nil {
		return Response{Err: refused}, nil
	}
	result, err := queueResult(&m)
	if err != nil {
		return Response{}, err
	}
	return Response{Result: result}, nil
}

func setResult(m *fsmpb.Response, result queue.Result) error {
	switch r := result.(type) {
	case queue.Done:
		m.Result = &fsmpb.Response_Done{Done: &fsmpb.Done{}}
	case queue.QueueCreated:
		m.Result = &fsmpb.Response_QueueCreated{QueueCreated: &fsmpb.QueueCreated{Queue: r.Queue}}
	case queue.MessagesSent:
		m.Result = &fsmpb.Response_MessagesSent{MessagesSent: messagesSent(r)}
	case queue.MessagesReceived:
		m.Result = &fsmpb.Response_MessagesReceived{MessagesReceived: messagesReceived(r)}
	case queue.EntriesDone:
		done := &fsmpb.EntriesDone{Errors: make([]*fsmpb.Error, len(r.Errs))}
		for i, e := range r.Errs {
			// A list cannot hold "none", hence an error without code.
			if done.Errors[i] = errorMessage(e); e == nil {
				done.Errors[i] = &fsmpb.Error{}
			}
		}
		m.Result = &fsmpb.Response_EntriesDone{EntriesDone: done}
	case queue.MoveTaskStarted:
		m.Result = &fsmpb.Response_MoveTaskStarted{MoveTaskStarted: &fsmpb.MoveTaskStarted{TaskId: r.TaskID}}
	case queue.MoveTaskCancelled:
		m.Result = &fsmpb.Response_MoveTaskCancelled{MoveTaskCancelled: &fsmpb.MoveTaskCancelled{Moved: r.Moved}}
	case queue.MessagesMoved:
		m.Result = &fsmpb.Response_MessagesMoved{MessagesMoved: &fsmpb.MessagesMoved{Moved: r.Moved, Running: r.Running}}
	case queue.TopicCreated:
		m.Result = &fsmpb.Response_TopicCreated{TopicCreated: &fsmpb.TopicCreated{TopicArn: r.TopicARN}}
	case queue.Subscribed:
		m.Result = &fsmpb.Response_Subscribed{Subscribed: &fsmpb.Subscribed{SubscriptionArn: r.SubscriptionARN, Pending: r.Pending}}
	case queue.Published:
		m.Result = &fsmpb.Response_Published{Published: published(r)}
	case queue.MessagesReplayed:
		m.Result = &fsmpb.Response_MessagesReplayed{MessagesReplayed: &fsmpb.MessagesReplayed{Looked: r.Looked, Running: r.Running}}
	case queue.SessionLocked:
		m.Result = &fsmpb.Response_SessionLocked{SessionLocked: sessionLocked(r)}
	case queue.GroupReleased:
		m.Result = &fsmpb.Response_GroupReleased{GroupReleased: &fsmpb.GroupReleased{Messages: r.Messages, Session: r.Session}}
	default:
		return fmt.Errorf("%w: an answer of type %T", format.ErrUnknownFormat, result)
	}
	return nil
}

func queueResult(m *fsmpb.Response) (queue.Result, error) {
	switch r := m.Result.(type) {
	case *fsmpb.Response_Done:
		return queue.Done{}, nil
	case *fsmpb.Response_QueueCreated:
		return queue.QueueCreated{Queue: r.QueueCreated.Queue}, nil
	case *fsmpb.Response_MessagesSent:
		return queueMessagesSent(r.MessagesSent)
	case *fsmpb.Response_MessagesReceived:
		return queueMessagesReceived(r.MessagesReceived)
	case *fsmpb.Response_EntriesDone:
		done := queue.EntriesDone{}
		if n := len(r.EntriesDone.Errors); n > 0 {
			done.Errs = make([]*queue.Error, n)
		}
		for i, e := range r.EntriesDone.Errors {
			done.Errs[i] = queueError(e)
		}
		return done, nil
	case *fsmpb.Response_MoveTaskStarted:
		return queue.MoveTaskStarted{TaskID: r.MoveTaskStarted.TaskId}, nil
	case *fsmpb.Response_MoveTaskCancelled:
		return queue.MoveTaskCancelled{Moved: r.MoveTaskCancelled.Moved}, nil
	case *fsmpb.Response_MessagesMoved:
		return queue.MessagesMoved{Moved: r.MessagesMoved.Moved, Running: r.MessagesMoved.Running}, nil
	case *fsmpb.Response_TopicCreated:
		return queue.TopicCreated{TopicARN: r.TopicCreated.TopicArn}, nil
	case *fsmpb.Response_Subscribed:
		return queue.Subscribed{SubscriptionARN: r.Subscribed.SubscriptionArn, Pending: r.Subscribed.Pending}, nil
	case *fsmpb.Response_Published:
		return queuePublished(r.Published)
	case *fsmpb.Response_MessagesReplayed:
		return queue.MessagesReplayed{Looked: r.MessagesReplayed.Looked, Running: r.MessagesReplayed.Running}, nil
	case *fsmpb.Response_SessionLocked:
		return queueSessionLocked(r.SessionLocked)
	case *fsmpb.Response_GroupReleased:
		return queue.GroupReleased{Messages: r.GroupReleased.Messages, Session: r.GroupReleased.Session}, nil
	default:
		return nil, fmt.Errorf("%w: an answer without a known result", format.ErrUnknownFormat)
	}
}

func messagesSent(r queue.MessagesSent) *fsmpb.MessagesSent {
	m := &fsmpb.MessagesSent{Entries: make([]*fsmpb.SentEntry, len(r.Entries))}
	for i := range r.Entries {
		e := &r.Entries[i]
		m.Entries[i] = &fsmpb.SentEntry{
			Error:     errorMessage(e.Err),
			MessageId: protobuf.IDBytes(&e.MessageID),
			Sequence:  uint64(e.Sequence),
			Duplicate: e.Duplicate,

			FirstAcceptedAt:  int64(e.FirstAcceptedAt),
			FirstIsScheduled: e.FirstIsScheduled,
		}
	}
	return m
}

func queueMessagesSent(m *fsmpb.MessagesSent) (queue.Result, error) {
	var r queue.MessagesSent
	if len(m.Entries) > 0 {
		r.Entries = make([]queue.SentEntry, len(m.Entries))
	}
	for i, e := range m.Entries {
		r.Entries[i] = queue.SentEntry{
			Err:       queueError(e.Error),
			Sequence:  queue.SequenceNumber(e.Sequence),
			Duplicate: e.Duplicate,

			FirstAcceptedAt:  queue.Timestamp(e.FirstAcceptedAt),
			FirstIsScheduled: e.FirstIsScheduled,
		}
		if err := protobuf.Fill(r.Entries[i].MessageID[:], e.MessageId, "message id"); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func published(r queue.Published) *fsmpb.Published {
	m := &fsmpb.Published{Entries: make([]*fsmpb.PublishedEntry, len(r.Entries))}
	for i := range r.Entries {
		e := &r.Entries[i]
		m.Entries[i] = &fsmpb.PublishedEntry{
			MessageId:  protobuf.IDBytes(&e.MessageID),
			Sequence:   uint64(e.Sequence),
			Duplicate:  e.Duplicate,
			AcceptedAt: int64(e.AcceptedAt),
		}
	}
	return m
}

func queuePublished(m *fsmpb.Published) (queue.Result, error) {
	var r queue.Published
	if len(m.Entries) > 0 {
		r.Entries = make([]queue.PublishedEntry, len(m.Entries))
	}
	for i, e := range m.Entries {
		r.Entries[i] = queue.PublishedEntry{
			Sequence:   queue.SequenceNumber(e.Sequence),
			Duplicate:  e.Duplicate,
			AcceptedAt: queue.Timestamp(e.AcceptedAt),
		}
		if err := protobuf.Fill(r.Entries[i].MessageID[:], e.MessageId, "message id"); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func messagesReceived(r queue.MessagesReceived) *fsmpb.MessagesReceived {
	m := &fsmpb.MessagesReceived{
		Messages: make([]*fsmpb.ReceivedMessage, len(r.Messages)),
		Replayed: r.Replayed,
	}
	for i := range r.Messages {
		e := &r.Messages[i]
		m.Messages[i] = &fsmpb.ReceivedMessage{
			MessageId:        protobuf.IDBytes(&e.MessageID),
			Handle:           e.Handle[:],
			Body:             e.Body.String(),
			Attributes:       protobuf.MessageAttributeValues(e.Attributes),
			SenderId:         e.SenderID,
			GroupId:          e.GroupID,
			DeduplicationId:  e.DeduplicationID,
			TraceHeader:      e.TraceHeader,
			DeadLetterSource: e.DeadLetterSource,
			Sequence:         uint64(e.Sequence),
			SentAt:           int64(e.SentAt),
			FirstReceivedAt:  int64(e.FirstReceivedAt),
			ReceiveCount:     e.ReceiveCount,
		}
	}
	return m
}

func queueMessagesReceived(m *fsmpb.MessagesReceived) (queue.Result, error) {
	r := queue.MessagesReceived{Replayed: m.Replayed}
	if len(m.Messages) > 0 {
		r.Messages = make([]queue.ReceivedMessage, len(m.Messages))
	}
	for i, e := range m.Messages {
		out := &r.Messages[i]
		*out = queue.ReceivedMessage{
			Body:             content.NewBody(e.Body),
			Attributes:       protobuf.MessageAttributes(e.Attributes),
			SenderID:         e.SenderId,
			GroupID:          e.GroupId,
			DeduplicationID:  e.DeduplicationId,
			TraceHeader:      e.TraceHeader,
			DeadLetterSource: e.DeadLetterSource,
			Sequence:         queue.SequenceNumber(e.Sequence),
			SentAt:           queue.Timestamp(e.SentAt),
			FirstReceivedAt:  queue.Timestamp(e.FirstReceivedAt),
			ReceiveCount:     e.ReceiveCount,
		}
		if err := protobuf.Fill(out.MessageID[:], e.MessageId, "message id"); err != nil {
			return nil, err
		}
		if err := protobuf.Fill(out.Handle[:], e.Handle, "receipt handle"); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// errorMessage is nil for nil.
func errorMessage(e *queue.Error) *fsmpb.Error {
	if e == nil {
		return nil
	}
	return &fsmpb.Error{Code: uint32(e.Code), Message: e.Message}
}

// queueError is the inverse of errorMessage; code zero is no error.
func queueError(m *fsmpb.Error) *queue.Error {
	if m == nil || m.Code == 0 {
		return nil
	}
	return &queue.Error{Code: refusal.Code(m.Code), Message: m.Message}
}
