package snapshot

import (
	"fmt"
	"io"
	"strings"

	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
)

// Inline copies a snapshot of WriteReferences, and replaces references by the bodies. The result
// equals the output of Write for the same state. It holds one section in memory.
func Inline(w io.Writer, r io.Reader, bodies message.Reader) error { return inline(w, r, bodies, nil) }

// inline is Inline. If source is not nil, it gets the bodies of each section before they are read.
func inline(w io.Writer, r io.Reader, bodies message.Reader, source Source) error {
	sections, err := newSectionReader(r)
	if err != nil {
		return err
	}
	out, err := newSectionWriter(w)
	if err != nil {
		return err
	}
	i := inliner{out: out, bodies: bodies}
	collected := collector{source: source}
	for {
		kind, payload, err := sections.next()
		if err == nil && source != nil {
			err = collected.announce(kind, payload)
		}
		if err == nil {
			err = i.section(kind, payload)
		}
		if err != nil {
			return fmt.Errorf("putting bodies into a snapshot: %w", err)
		}
		if kind == sectionEnd {
			return sections.close()
		}
	}
}

// InlineSize returns the number of bytes that Inline would write. It reads no bodies.
func InlineSize(r io.Reader) (int64, error) {
	var counted byteCount
	err := Inline(&counted, r, blanks{strings.Repeat(" ", limits.MessageBytesMax)})
	return int64(counted), err
}

type byteCount int64

// Write counts the bytes.
func (c *byteCount) Write(content []byte) (int, error) {
	*c += byteCount(len(content))
	return len(content), nil
}

// blanks returns a text of blanks for each body: only the lengths count.
type blanks struct{ text string }

// Read returns a body of the same length as b.
func (t blanks) Read(b queue.Body) (queue.Body, error) {
	if b.Len() > len(t.text) {
		return b, fmt.Errorf("a body of %d bytes is longer than any can be", b.Len())
	}
	return message.NewBody(t.text[:b.Len()]), nil
}

// inliner is one run of Inline.
type inliner struct {
	out     *sectionWriter
	bodies  message.Reader
	message queue.MessageRecord
	scratch []byte
}

func (i *inliner) section(kind sectionKind, payload []byte) error {
	switch kind {
	case sectionRecords:
		return eachRecord(payload, i.record)
	case sectionEnd:
		return i.end(payload)
	default:
		i.out.buffer = append(i.out.buffer, payload...)
		return i.out.end(kind)
	}
}

func (i *inliner) record(kind byte, _ int, body []byte) error {
	if kind != recordMessage {
		return i.out.record(kind, body)
	}
	i.message = queue.MessageRecord{}
	if err := readMessage(wire.NewSharedReader(string(body)), &i.message); err != nil {
		return err
	}
	if !i.message.Body.Stored() {
		return i.out.record(kind, body)
	}
	var err error
	if i.message.Body, err = i.bodies.Read(i.message.Body); err != nil {
		return err
	}
	i.scratch = wire.AppendMessageRecord(i.scratch[:0], &i.message)
	return i.out.record(kind, i.scratch)
}

// end writes the last section, because the copy has another number of sections.
func (i *inliner) end(payload []byte) error {
	var counts wire.SnapshotEnd
	if err := wire.ReadSnapshotEnd(wire.NewReader(payload), &counts); err != nil {
		return err
	}
	if i.out.filled() > 0 {
		if err := i.out.end(sectionRecords); err != nil {
			return err
		}
	}
	counts.Sections = uint64(i.out.number)
	i.out.buffer = wire.AppendSnapshotEnd(i.out.buffer, &counts)
	return i.out.end(sectionEnd)
}
