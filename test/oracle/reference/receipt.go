package reference

import (
	"slices"
	"strconv"
)

// issued is the queue and message of a delivery. With it, a handle of another or a deleted queue
// differs from one whose message is gone.
type issued struct {
	queue   *Queue
	message *Message
}

func badHandle(h Handle) *Error {
	return &Error{"ReceiptHandleIsInvalid", `The input receipt handle "` + h.Text + `" is not a valid receipt handle.`}
}

func (q *Queue) holds(m *Message) bool {
	return slices.Contains(q.messages, m)
}

// Delete implements DeleteMessage and DeleteMessageBatch (sqs.md 2.10, 4.8).
func (b *Broker) Delete(name string, batch bool, handles []Handle) ([]*Error, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if err := q.keeps(); err != nil {
		return nil, err
	}
	var answers []*Error
	for _, h := range handles {
		answers = append(answers, b.deleteOne(q, h, batch))
	}
	return answers, nil
}

func (b *Broker) deleteOne(q *Queue, h Handle, batch bool) *Error {
	was, known := b.issued[h.Delivery]
	if !known || was.queue != q {
		return badHandle(h)
	}
	m := was.message
	if !q.holds(m) {
		return nil // no error, even if it was purged, expired or moved
	}
	newest := m.Delivery == h.Delivery
	expired := !b.inFlight(q, m)
	switch {
	case !q.FIFO:
		// Any handle deletes, even if it is expired or there is a newer one.
	case q.Settings.YMQReceive && !newest:
		return nil // success, but nothing is deleted (ymq.md 8.1)
	case q.Settings.YMQReceive:
		// It deletes also after the visibility timeout.
	case !newest || expired:
		if batch {
			return &Error{"ReceiptHandleIsInvalid", "The receipt handle has expired"}
		}
		return &Error{
			"InvalidParameterValue",
			"Value " + h.Text + " for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
		}
	}
	b.touch(q, m)
	q.remove(m)
	forget([]*Message{m})
	return nil
}

// VisibilityEntry requests a new visibility timeout.
type VisibilityEntry struct {
	Changes []Change // of its properties
	Handle  Handle
	Timeout int64
	// Uncounted takes back the receive counts, if Timeout is zero.
	Uncounted bool
}

// maxVisibilityMilliseconds is the longest time from a receive to the end of its visibility
// timeout.
const maxVisibilityMilliseconds = 43_200_000

// ChangeVisibility implements ChangeMessageVisibility and its batch (sqs.md 2.11).
func (b *Broker) ChangeVisibility(name string, batch bool, entries []VisibilityEntry) ([]*Error, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	var answers []*Error
	for _, e := range entries {
		answers = append(answers, b.changeOne(q, e, batch))
	}
	return answers, nil
}

func (b *Broker) changeOne(q *Queue, e VisibilityEntry, batch bool) *Error {
	if e.Timeout < 0 || e.Timeout > 43_200 {
		return &Error{Code: "InvalidParameterValue"}
	}
	was, known := b.issued[e.Handle.Delivery]
	if !known || was.queue != q {
		return badHandle(e.Handle)
	}
	m := was.message
	gone := !q.holds(m)
	stale := q.FIFO && (m.Delivery != e.Handle.Delivery || !b.inFlight(q, m))
	if gone || stale {
		if batch {
			return &Error{"ReceiptHandleIsInvalid", "Message does not exist or is not available for visibility timeout change"}
		}
		return &Error{
			"InvalidParameterValue",
			"Value " + e.Handle.Text + " for parameter ReceiptHandle is invalid. " +
				"Reason: Message does not exist or is not available for visibility timeout change.",
		}
	}
	abandoned := m.Lock != 0 && e.Timeout == 0 // at any time after the receive
	if !abandoned && b.now-m.ReceivedAt+e.Timeout*1000 > maxVisibilityMilliseconds {
		return &Error{
			"InvalidParameterValue",
			"Value " + strconv.FormatInt(e.Timeout, 10) + " for parameter VisibilityTimeout is invalid. " +
				"Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
		}
	}
	if m.Lock != 0 && e.Timeout > 0 {
		// The lock of the message ends with that of its session. It can only be abandoned.
		return &Error{Code: "UnsupportedOperation"}
	}
	parts, err := m.Sent.Parts.with(e.Changes)
	if err != nil {
		return err
	}
	m.Sent.Parts = parts
	m.Lock = 0
	m.HiddenTill = b.now + e.Timeout*1000
	if e.Uncounted && e.Timeout == 0 {
		m.Receives--
		m.HandedOut--
	}
	b.touch(q, m)
	return nil
}
