package servicebus

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

const (
	// peekMax bounds the messages of one peek, and peekBytesMax their bytes.
	peekMax      = 1000
	peekBytesMax = 1 << 20
	// deleteMax bounds the messages that one request deletes, as the vendor does.
	deleteMax = 4000
)

// sequences reads the sequence numbers of the body.
func (m *managed) sequences() ([]queue.SequenceNumber, error) {
	items := m.items("sequence-numbers")
	out := make([]queue.SequenceNumber, len(items))
	for i, item := range items {
		n, ok := item.Integer()
		if !ok || n < 0 {
			return nil, argument("sequence-numbers", "a number is not a long")
		}
		out[i] = queue.SequenceNumber(n)
	}
	if len(out) == 0 {
		return nil, argument("sequence-numbers", "there is none")
	}
	return out, nil
}

// asSent writes sequence numbers in the text of a refusal as clients of Service Bus see them.
func asSent(err error, numbers []queue.SequenceNumber) error {
	refused, ok := errors.AsType[*queue.Error](err)
	if !ok {
		return err
	}
	text := refused.Message
	for _, n := range numbers {
		text = strings.ReplaceAll(text, n.String(), strconv.FormatUint(uint64(n), 10))
	}
	return refusal.New(refused.Code, text)
}

// peek reads messages without a lock.
func (m *managed) peek() (wire.Value, error) {
	count := min(m.integer("message-count", 1), peekMax)
	if count < 1 {
		return nil, argument("message-count", "it is not positive")
	}
	from := queue.SequenceNumber(max(m.integer("from-sequence-number", 0), 0)) //nolint:gosec // not negative
	group := ""
	if id, given := m.field("session-id").Text(); given {
		group = groupOf(id)
	}
	var found []queue.PeekedMessage
	var bodies message.Reader
	err := m.call.look(m.call.ctx, func(v queue.View) (err error) {
		var refused *queue.Error
		bodies = v.Bodies()
		if found, refused = v.Peek(m.call.queue, from, group, int(count)); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_ = m.call.server.Node.NoteUse(m.call.ctx, m.call.queue) // it does not concern the reader
	return encodePeeked(found, bodies)
}

// encodePeeked returns peeked messages up to a number of bytes.
func encodePeeked(found []queue.PeekedMessage, bodies message.Reader) (wire.Value, error) {
	b, mark := wire.BeginList(nil)
	count := 0
	for i := range found {
		p := &found[i]
		if count > 0 && len(b)+p.Body.Len() > peekBytesMax {
			break
		}
		var err error
		if p.Body, err = bodies.Read(p.Body); err != nil {
			return nil, fmt.Errorf("%w: %w", cluster.ErrUnavailable, err)
		}
		r := rendered{ReceivedMessage: &p.ReceivedMessage, deliveries: p.ReceiveCount}
		switch p.State {
		case "deferred":
			r.state = stateDeferred
		case "scheduled":
			r.state, r.scheduledAt = stateScheduled, p.VisibleAt
		}
		encoded, err := r.encode()
		if err != nil {
			return nil, err
		}
		b = append(b, mapOf("message", wire.AppendBinary(nil, encoded))...)
		count++
	}
	if count == 0 {
		return nil, errNothing
	}
	return mapOf("messages", mark.End(b)), nil
}

// receiveDeferred receives deferred messages by their numbers.
func (m *managed) receiveDeferred() (wire.Value, error) {
	numbers, err := m.sequences()
	if err != nil {
		return nil, err
	}
	in, err := m.settlementSession()
	if err != nil {
		return nil, err
	}
	deletes := m.integer("receiver-settle-mode", 1) == 0
	if deletes {
		if err := m.call.permits(toDelete); err != nil {
			return nil, err
		}
	}
	seconds, err := m.lockSeconds()
	if err != nil {
		return nil, err
	}
	b, mark := wire.BeginList(nil)
	for batch := range slices.Chunk(numbers, limits.BatchEntriesMax) {
		cmd := &queue.ReceiveDeferred{Queue: m.call.queue, Sequences: batch, Session: in, Delete: deletes}
		if in == (queue.SessionRef{}) {
			cmd.VisibilityTimeout = queue.Some(seconds)
		}
		received, reply, err := submit[queue.MessagesReceived](m.call, cmd)
		if err != nil {
			return nil, asSent(err, batch)
		}
		for i := range received.Messages {
			one, err := m.encodeDeferred(&received.Messages[i], deletes, reply.LogTime.Add(logtime.Seconds(seconds)))
			if err != nil {
				return nil, err
			}
			b = append(b, one...)
		}
	}
	return mapOf("messages", mark.End(b)), nil
}

// encodeDeferred returns the entry of a deferred message. Clients look for its lock token at two places.
func (m *managed) encodeDeferred(received *queue.ReceivedMessage, deletes bool, until queue.Timestamp) (wire.Value, error) {
	token := received.Handle.LockToken()
	r := rendered{ReceivedMessage: received, deliveries: received.ReceiveCount - 1, state: stateDeferred}
	if !deletes {
		r.lockedUntil, r.lockToken = until, token[:]
	}
	encoded, err := r.encode()
	if err != nil {
		return nil, err
	}
	b, mark := wire.BeginMap(nil)
	b = wire.AppendBinary(wire.AppendString(b, "message"), encoded)
	if !deletes {
		b = wire.AppendUUID(wire.AppendString(b, "lock-token"), token)
	}
	return mark.End(b), nil
}

// tokens reads the lock tokens of the body.
func (m *managed) tokens() ([]string, error) {
	items := m.items("lock-tokens")
	out := make([]string, len(items))
	for i, item := range items {
		id, ok := item.UUID()
		if !ok {
			return nil, argument("lock-tokens", "a token is not a uuid")
		}
		out[i] = identifier.LockToken(id).String()
	}
	if len(out) == 0 {
		return nil, argument("lock-tokens", "there is none")
	}
	return out, nil
}

// statusKinds has the settlements by their names in update-disposition.
var statusKinds = map[string]kind{
	"completed": complete, "abandoned": abandon, "defered": postpone, "deferred": postpone, "suspended": deadLetter, "released": release,
}

// updateDisposition completes, abandons, defers or dead-letters messages by their lock tokens.
func (m *managed) updateDisposition() (wire.Value, error) {
	status := textOf(m.field("disposition-status"))
	of, known := statusKinds[status]
	if !known {
		return nil, argument("disposition-status", "it is "+status)
	}
	tokens, err := m.tokens()
	if err != nil {
		return nil, err
	}
	in, err := m.settlementSession()
	if err != nil {
		return nil, err
	}
	one := settlement{
		kind: of, changes: changesOf(m.field("properties-to-modify")),
		reason: textOf(m.field("deadletter-reason")), description: textOf(m.field("deadletter-description")),
	}
	if m.transaction != nil {
		return m.enlist(in, one, tokens)
	}
	for batch := range slices.Chunk(tokens, kindRules[of].most) {
		all := make([]settlement, len(batch))
		for i := range batch {
			all[i] = one
			all[i].token = batch[i]
		}
		errs, err := m.call.dispose(in, all)
		if err != nil {
			return nil, err
		}
		for _, refused := range errs {
			if refused != nil {
				return nil, refused
			}
		}
	}
	return emptyMap(), nil
}

// enlist makes settlements a part of the transaction.
func (m *managed) enlist(in queue.SessionRef, one settlement, tokens []string) (wire.Value, error) {
	needs := kindRules[one.kind].needs
	if err := m.call.permits(needs); err != nil {
		return nil, err
	}
	m.call.ctx = m.connection.ctx // the commit comes after the end of the request
	for _, token := range tokens {
		one.token = token
		if err := m.transaction.add(part{call: m.call, path: m.path, needs: needs, in: in, does: one}); err != nil {
			return nil, err
		}
	}
	return emptyMap(), nil
}

// renew renews the locks of messages.
func (m *managed) renew() (wire.Value, error) {
	tokens, err := m.tokens()
	if err != nil {
		return nil, err
	}
	seconds, err := m.lockSeconds()
	if err != nil {
		return nil, err
	}
	b, mark := wire.BeginArray(nil, wire.Timestamp)
	for batch := range slices.Chunk(tokens, limits.BatchEntriesMax) {
		cmd := &queue.ChangeMessageVisibility{Queue: m.call.queue, Batch: true, Options: &queue.SettlementOptions{}}
		for _, token := range batch {
			cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{Handle: token, VisibilityTimeout: queue.Some(seconds)})
		}
		done, reply, err := submit[queue.EntriesDone](m.call, cmd)
		if err != nil {
			return nil, err
		}
		for _, refused := range done.Errs {
			if refused != nil {
				return nil, refused
			}
			b = wire.AppendLongItem(b, int64(reply.LogTime.Add(logtime.Seconds(seconds))))
		}
	}
	return mapOf("expirations", mark.EndArray(b, len(tokens))), nil
}

// lockSeconds returns the duration of locks.
func (m *managed) lockSeconds() (seconds int64, err error) {
	err = m.call.look(m.call.ctx, func(v queue.View) error {
		attributes, refused := v.Typed(m.call.queue)
		if refused != nil {
			return refused
		}
		seconds = max(attributes.VisibilitySeconds, 1)
		return nil
	})
	return seconds, err
}

// deleteOld deletes messages that were enqueued before a time, and returns their number.
func (m *managed) deleteOld() (wire.Value, error) {
	count := m.integer("message-count", 0)
	before, given := m.field("enqueued-time-utc").Timestamp()
	if count < 1 || count > deleteMax {
		return nil, argument("message-count", "it must be between 1 and 4000")
	}
	var numbers []queue.SequenceNumber
	err := m.call.look(m.call.ctx, func(v queue.View) error {
		found, refused := v.Peek(m.call.queue, 0, "", deleteMax)
		if refused != nil {
			return refused
		}
		for i := range found {
			if p := &found[i]; p.State == "visible" && (!given || int64(p.SentAt) <= before) && int64(len(numbers)) < count {
				numbers = append(numbers, p.Sequence)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	deleted := int32(0)
	for batch := range slices.Chunk(numbers, limits.StoredEntriesMax) {
		done, _, err := submit[queue.EntriesDone](m.call, &queue.DeleteStored{Queue: m.call.queue, Sequences: batch})
		if err != nil {
			return nil, err
		}
		for _, refused := range done.Errs {
			if refused == nil { // the others were taken meanwhile
				deleted++
			}
		}
	}
	if deleted == 0 {
		return nil, errNothing
	}
	return mapOf("message-count", wire.AppendInt(nil, deleted)), nil
}
