package servicebus

import (
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// entries reads the messages of the body.
func (m *managed) entries() (entries []queue.SendEntry, err error) {
	rules := content{needsSession: m.entity.needsSession}
	for _, item := range m.items("messages") {
		encoded, ok := item.Lookup("message").Binary()
		if !ok {
			return nil, argument("messages", "an entry has no message")
		}
		e, err := rules.readEntry(string(encoded), m.call.server.Now().UnixMilli())
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, argument("messages", "there is none")
	}
	return entries, nil
}

// schedule stores messages with a time to enqueue them, all or none, and returns their numbers.
func (m *managed) schedule() (wire.Value, error) {
	entries, err := m.entries()
	if err != nil {
		return nil, err
	}
	sent, _, err := submit[queue.MessagesSent](m.call, &queue.SendMessages{
		Queue: m.call.queue, SenderID: m.call.SenderID(), Batch: true, Atomic: true, Entries: entries,
	})
	if err != nil {
		return nil, err
	}
	numbers := make([]queue.SequenceNumber, len(sent.Entries))
	for i := range sent.Entries {
		if refused := sent.Entries[i].Err; refused != nil {
			return nil, refused
		}
		numbers[i] = sent.Entries[i].Sequence
	}
	return encodeNumbers(numbers), nil
}

// schedulePublishes is schedule for a topic.
func (m *managed) schedulePublishes() (wire.Value, error) {
	entries, err := m.entries()
	if err != nil {
		return nil, err
	}
	published, _, err := submit[queue.Published](m.call, m.call.publish(entries))
	if err != nil {
		return nil, err
	}
	numbers := make([]queue.SequenceNumber, len(published.Entries))
	for i := range published.Entries {
		numbers[i] = published.Entries[i].Sequence
	}
	return encodeNumbers(numbers), nil
}

func encodeNumbers(numbers []queue.SequenceNumber) wire.Value {
	b, mark := wire.BeginArray(nil, wire.Long)
	for _, n := range numbers {
		b = wire.AppendLongItem(b, int64(n)) //nolint:gosec // below 2^63
	}
	return mapOf("sequence-numbers", mark.EndArray(b, len(numbers)))
}

// cancel deletes scheduled messages.
func (m *managed) cancel() (wire.Value, error) {
	numbers, err := m.sequences()
	if err != nil {
		return nil, err
	}
	for batch := range slices.Chunk(numbers, limits.BatchEntriesMax) {
		done, _, err := submit[queue.EntriesDone](m.call, &queue.CancelScheduled{
			Queue: m.call.queue, Topic: m.call.Resource.Topic, Sequences: batch,
		})
		if err != nil {
			return nil, err
		}
		for _, refused := range done.Errs {
			if refused != nil {
				return nil, asSent(refused, batch)
			}
		}
	}
	return emptyMap(), nil
}
