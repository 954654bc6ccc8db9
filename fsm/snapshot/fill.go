package snapshot

import (
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
)

// Wanted is a stored body that a snapshot refers to, and whose it is.
type Wanted struct {
	Queue    string
	Sequence queue.SequenceNumber
	Body     queue.Body // its place is one of the node that wrote the snapshot
}

// Source gives the bodies of a snapshot that another node wrote, section by section.
type Source interface {
	// Begin receives the keyed hash of bodies in the state, before the first section.
	Begin(digest func(text string) uint64)
	// Section receives all bodies that the next section refers to. It must not keep them.
	Section(wanted []Wanted) error
	// Reader returns them, each once, in that order.
	content.Reader
}

// Fill copies a snapshot that another node wrote, with what source gives in the place of
// bodies: the texts, or where this node has them.
func Fill(w io.Writer, r io.Reader, source Source) error { return inline(w, r, source, source) }

// collector finds the bodies that a section refers to.
type collector struct {
	source  Source
	queue   string // whose messages come
	wanted  []Wanted
	message queue.MessageRecord
}

// tell tells the source of what a section says of bodies.
func (c *collector) tell(kind sectionKind, payload []byte) error {
	switch kind {
	case sectionBroker:
		return c.begin(payload)
	case sectionRecords:
		return c.section(payload)
	default:
		return nil
	}
}

// begin tells the source of the state.
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

// section tells the source of a section.
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
