package codec

import (
	"fmt"
	"unsafe"

	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
)

// Decoder decodes the commands of one entry after another into memory that it uses
// again: what a replica throws away after applying an entry was a third of its
// garbage. The zero value is ready; not safe for concurrent use.
type Decoder struct {
	sends    wire.Slab[queue.SendMessages]
	receives wire.Slab[queue.ReceiveMessages]
	deletes  wire.Slab[queue.DeleteMessages]
	memory   wire.Memory
	entry    entryText
}

// entryText is the entry that is being decoded, as text: the texts of all its commands
// are parts of it. The zero value is that of no entry.
type entryText struct {
	data []byte
	end  int // of the present frame
}

// Reset ends the life of all commands decoded so far: nothing may use them, or slices in
// them, any more. Strings and message attributes last, but bodies, deduplication ids and
// receipt handles keep the memory of their whole entry: copy what is to stay.
func (d *Decoder) Reset() {
	d.sends.Reset()
	d.receives.Reset()
	d.deletes.Reset()
	d.memory.Reset()
}

// Decode is DecodeCommand for a command that lives until Reset, and no longer than
// frame. A nil Decoder decodes what lasts.
func (d *Decoder) Decode(frame []byte) (queue.Command, error) {
	c, body, err := parseFrame(frame)
	if err != nil {
		return nil, err
	}
	cmd, err := c.decode(d, body)
	if err == nil && c.check != nil {
		err = c.check(cmd)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", c.name, err)
	}
	return cmd, nil
}

// DecodeEntry is the function of that name for an entry whose commands live until Reset,
// and no longer than data, which nobody may write to any more: texts are parts of it. visit
// is called with each of them, in order.
func (d *Decoder) DecodeEntry(data []byte, visit func(queue.Command) error) (EntryHead, error) {
	d.entry = entryText{data: data}
	defer func() { d.entry = entryText{} }()
	return decodeEntry(data, func(frame []byte, end int) error {
		d.entry.end = end
		cmd, err := d.Decode(frame)
		if err != nil {
			return err
		}
		return visit(cmd)
	})
}

// textOf returns body, the end of the present frame, as text.
func (d *Decoder) textOf(body []byte) string {
	if d.entry.data == nil {
		return string(body)
	}
	entry := unsafe.String(unsafe.SliceData(d.entry.data), len(d.entry.data)) // nobody writes to it, see DecodeEntry
	return entry[d.entry.end-len(body) : d.entry.end]
}

func (d *Decoder) send(body []byte) (queue.Command, error) {
	cmd := &d.sends.Take(1)[0]
	return cmd, wire.ReadSendMessages(d.memory.SharedReader(d.textOf(body)), cmd)
}

// receive reads no text that stays a part of body.
func (d *Decoder) receive(body []byte) (queue.Command, error) {
	cmd := &d.receives.Take(1)[0]
	return cmd, wire.ReadReceiveMessages(d.memory.Reader(body), cmd)
}

func (d *Decoder) delete(body []byte) (queue.Command, error) {
	cmd := &d.deletes.Take(1)[0]
	return cmd, wire.ReadDeleteMessages(d.memory.SharedReader(d.textOf(body)), cmd)
}
