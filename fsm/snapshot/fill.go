package snapshot

import (
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// Wanted is a stored body that a snapshot refers to, with the message that it belongs to.
type Wanted struct {
	Queue    string
	Sequence queue.SequenceNumber
	Body     queue.Body // with its place on the node that wrote the snapshot
}

// Source supplies the bodies for a snapshot from another node, section by section.
type Source interface {
	// Begin sets the keyed hash function of the state. It is called before the first section.
	Begin(digest func(text string) uint64)
	// Section announces all bodies that the next section refers to. It must not keep wanted.
	Section(wanted []Wanted) error
	// Read is called once for each body of the section, in the same order.
	message.Reader
}

// Fill copies a snapshot from another node. It replaces each reference to a body with the body that
// source returns: a text, or a reference to a file of this node.
func Fill(w io.Writer, r io.Reader, source Source) error { return inline(w, r, source, source) }

// collector finds the bodies that a section refers to.
type collector struct {
	source  Source
	queue   string // the queue whose messages follow
	wanted  []Wanted
	message queue.MessageRecord
}

// announce passes the bodies of a section to the source.
func (c *collector) announce(kind sectionKind, payload []byte) error {
	switch kind {
	case sectionBroker:
		return c.begin(payload)
	case sectionRecords:
		return c.section(payload)
	default:
		return nil
	}
}

// begin passes the hash function of the state to the source.
func (c *collector) begin(payload []byte) error {
	var r queue.BrokerRecord
	if err := wire.ReadBrokerRecord(wire.NewReader(payload), &r); err != nil {
		return err
	}
	restorer, err := queue.NewRestorer(r)
	if err != nil {
		return fmt.Errorf("%w: %w", format.ErrMalformed, err)
	}
	c.source.Begin(restorer.BodyDigest)
	return nil
}

// section passes the bodies of a section to the source.
func (c *collector) section(payload []byte) error {
	c.wanted = c.wanted[:0]
	if err := eachRecord(payload, c.record); err != nil {
		return err
	}
	if len(c.wanted) == 0 {
		return nil
	}
	return c.source.Section(c.wanted)
}

func (c *collector) record(kind byte, _ int, body []byte) error {
	switch kind {
	case recordQueue:
		var q queue.QueueRecord
		err := wire.ReadQueueRecord(wire.NewReader(body), &q)
		c.queue = q.Name
		return err
	case recordMessage:
		c.message = queue.MessageRecord{}
		err := readMessage(wire.NewSharedReader(string(body)), &c.message)
		if err == nil && c.message.Body.Stored() {
			c.wanted = append(c.wanted, Wanted{c.queue, c.message.Sequence, c.message.Body})
		}
		return err
	}
	return nil
}
