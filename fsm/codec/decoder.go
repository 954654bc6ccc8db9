package codec

import (
	"fmt"
	"unsafe"

	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
)

// Decoder decodes the commands of one entry after another, and reuses its memory. Without that,
// decoded commands were a third of the garbage of a replica. The zero value is ready; not safe for
// concurrent use.
type Decoder struct {
	sends    wire.Slab[queue.SendMessages]
	receives wire.Slab[queue.ReceiveMessages]
	deletes  wire.Slab[queue.DeleteMessages]
	memory   wire.Memory
	entry    entryText
}

// entryText is the entry that is being decoded, as one text: the texts of its commands are parts of
// it. The zero value stands for no entry.
type entryText struct {
	data []byte
	end  int // of the current frame
}

// Reset reuses the memory of all commands decoded so far: do not use them, or slices in them, any
// more. Strings and message attributes stay valid, but bodies, deduplication ids and receipt
// handles keep the memory of their whole entry: copy those that you keep.
func (d *Decoder) Reset() {
	d.sends.Reset()
	d.receives.Reset()
	d.deletes.Reset()
	d.memory.Reset()
}

// Decode is DecodeCommand for a command that is valid until Reset, and as long as frame. With a nil
// Decoder, the command stays valid.
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

// DecodeEntry is the function DecodeEntry for commands that are valid until Reset, and as long as
// data. Texts are parts of data, so do not change data any more. visit is called with each command,
// in order.
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

// textOf returns body, the end of the current frame, as text.
func (d *Decoder) textOf(body []byte) string {
	if d.entry.data == nil {
		return string(body)
	}
	entry := unsafe.String(unsafe.SliceData(d.entry.data), len(d.entry.data)) // never changed, see DecodeEntry
	return entry[d.entry.end-len(body) : d.entry.end]
}

func (d *Decoder) send(body []byte) (queue.Command, error) {
	cmd := &d.sends.Take(1)[0]
	return cmd, wire.ReadSendMessages(d.memory.SharedReader(d.textOf(body)), cmd)
}

// receive copies all texts of body.
func (d *Decoder) receive(body []byte) (queue.Command, error) {
	cmd := &d.receives.Take(1)[0]
	return cmd, wire.ReadReceiveMessages(d.memory.Reader(body), cmd)
}

func (d *Decoder) delete(body []byte) (queue.Command, error) {
	cmd := &d.deletes.Take(1)[0]
	return cmd, wire.ReadDeleteMessages(d.memory.SharedReader(d.textOf(body)), cmd)
}
